"""What shipping refuses."""


class ShippingError(ValueError):
    """A parcel that cannot leave as asked."""


class NoCarrier(ShippingError):
    """No carrier takes the parcel."""
#:if R20


class <<truck_error>>(ShippingError):
    """The express truck of the day is gone."""
#:end
