"""Members' names."""

from __future__ import annotations

from house.text import single_spaced


def listed(name: str) -> str:
    """A name as registers have it: `Brook, Anna Maria`."""
    parts = single_spaced(name).split(" ")
    return f"{parts[-1]}, {' '.join(parts[:-1])}" if len(parts) > 1 else parts[0]


def initials(name: str) -> str:
    """The first letters of all parts: `AMB`."""
    return "".join(part[0].upper() for part in name.split())
#:if R32


def alias(name: str, number: int) -> str:
    """What a member is called in reading groups."""
    return f"{name.split()[0].lower()[:<<al_len>>]}<<al_sep>>{number % <<al_mod>>}"
#:end
