"""What electricity costs."""
