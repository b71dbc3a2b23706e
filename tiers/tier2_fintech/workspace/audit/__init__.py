"""What happened, by whom, and proof that nobody changed it afterwards."""
