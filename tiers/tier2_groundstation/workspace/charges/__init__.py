"""What contacts cost."""
