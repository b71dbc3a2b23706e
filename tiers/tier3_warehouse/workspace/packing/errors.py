"""What packing refuses."""


class PackingError(ValueError):
    """Goods that cannot be packed as asked."""
#:if R15


class <<pack_error>>(PackingError):
    """No carton takes the goods."""
#:end
