"""Where satellites are and when they can be heard. The bottom of the house."""
