"""takeover: grade what survives when one agent's session ends and another takes over."""

__version__ = "0.1.0"
