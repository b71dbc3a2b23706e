"""What happened, and for how long it is remembered. Knows nothing of the other packages."""
