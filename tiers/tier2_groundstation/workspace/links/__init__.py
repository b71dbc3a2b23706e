"""How well a satellite is heard, and how much data comes down."""
