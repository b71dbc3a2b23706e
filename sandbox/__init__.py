"""Containers, the guest inside them, and the wire between: knows nothing of tasks."""
