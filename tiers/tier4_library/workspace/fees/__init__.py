"""What members owe, and for what. All money is whole cents."""
