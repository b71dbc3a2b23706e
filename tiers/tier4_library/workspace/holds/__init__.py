"""Who waits for what, and for how long a copy waits for them."""
