"""The shape of a catalogued article, and what is refused."""

from __future__ import annotations

from typing import List, TypedDict


class CatalogError(ValueError):
    """An article that is not, or must not be, in the catalog."""


class UnknownSku(CatalogError):
    """No article has this code."""


class Article(TypedDict):
    """One thing that can be stored. Grams and millimetres are those of a single unit."""

    sku: str
    name: str
    category: str
    weight_g: int
    length_mm: int
    width_mm: int
    height_mm: int
    case_size: int


MEASURES = ("weight_g", "length_mm", "width_mm", "height_mm", "case_size")


def problems(article: Article) -> List[str]:
    """The measures that are not positive, in the order of the fields; empty for a sound article."""
    return [name for name in MEASURES if article[name] < 1]  # type: ignore[literal-required]


def volume_mm3(article: Article) -> int:
    """The space of one unit, as a box."""
    return article["length_mm"] * article["width_mm"] * article["height_mm"]
