"""The dishes: what they can do, how they turn, what the weather does to them."""
