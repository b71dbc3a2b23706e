"""What may be sent up, and by whom. Decides without a look at the plan."""
