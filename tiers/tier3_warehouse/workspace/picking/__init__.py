"""Fetching goods from the shelves: picks, waves, batches, walking, shorts."""
