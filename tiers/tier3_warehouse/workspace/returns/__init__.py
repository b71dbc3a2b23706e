"""Back again: whether goods may return, and what becomes of them."""
