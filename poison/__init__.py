"""What is planted between two sessions, how it is planted, and what became of it."""
