"""What every department shares: days, texts and numbers. Knows nothing of the other packages."""
