"""What was counted: counters and load profiles."""
