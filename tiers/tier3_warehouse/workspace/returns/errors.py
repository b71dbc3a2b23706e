"""What returns refuse."""


class ReturnsError(ValueError):
    """Goods that are not taken back."""


class WindowClosed(ReturnsError):
    """The customer thought about it for too long."""


class UnknownGrade(ReturnsError):
    """Inspection knows no such grade."""
