"""What inventory refuses."""


class InventoryError(ValueError):
    """A movement or a count that cannot be."""


class BadLocation(InventoryError):
    """A label that names no place in the house."""


class NotEnough(InventoryError):
    """More was asked for than lies there."""
