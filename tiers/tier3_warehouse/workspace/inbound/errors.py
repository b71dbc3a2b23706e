"""What inbound refuses."""


class InboundError(ValueError):
    """A delivery that cannot be taken in as it is."""


class NotAnnounced(InboundError):
    """An article that the notice does not list."""


class NoSlot(InboundError):
    """There is no free location for the goods."""
#:if R4


class <<over_error>>(InboundError):
    """Far more came than was announced."""
#:end
