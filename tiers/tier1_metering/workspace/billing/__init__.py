"""What is owed. It is told sums, never who used how much when."""
