"""What the warehouse knows of the goods themselves. The bottom of the house: it imports nothing of it."""
