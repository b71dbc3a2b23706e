"""Figures about the house. They count, and never name anybody."""
