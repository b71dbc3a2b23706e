"""What is unusual, and who is told."""
