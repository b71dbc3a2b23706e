"""Quarter-hours, rounding and shared numbers. Knows nothing of the other packages."""
