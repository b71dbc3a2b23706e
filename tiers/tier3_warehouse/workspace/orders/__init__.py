"""What customers want: orders, their rank, what they get and when it leaves."""
