"""Titles and their copies. Knows nothing of members and loans."""
