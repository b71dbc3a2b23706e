"""Shelf marks: where a title stands."""

from __future__ import annotations

from typing import Dict, List, Tuple

from .titles import CatalogError, Title

SECTIONS: Dict[str, str] = {"book": "B", "film": "F", "game": "G"}


def author_key(author: str) -> str:
    """The first three letters of an author in capitals; nothing but letters counts."""
    return "".join(letter for letter in author.upper() if letter.isalpha())[:3]


def shelf_mark(title: Title) -> str:
    """Section, author and year: `B-BRO-1995`."""
    return f"{SECTIONS[title['kind']]}-{author_key(title['author'])}-{title['year']}"


def parse_mark(mark: str) -> Tuple[str, str, int]:
    """The parts of a shelf mark."""
    parts = mark.split("-")
    if len(parts) != 3 or parts[0] not in SECTIONS.values() or not parts[2].isdigit():
        raise CatalogError(f"not a shelf mark: {mark!r}")
    return parts[0], parts[1], int(parts[2])


def in_order(marks: List[str]) -> List[str]:
    """Shelf marks as they stand: by section, author, year."""
    return sorted(marks, key=parse_mark)
#:if R5


def spine(title: Title) -> str:
    """What is printed on the spine."""
    key = "".join(letter for letter in title["author"].upper() if letter.isalpha())[:<<spine_len>>]
    label = f"{key}<<spine_sep>>{title['year'] % 100:02d}"
    return f"<<spine_film>> {label}" if title["kind"] == "film" else label
#:end
#:if R31


def shelves_needed(pages: List[int]) -> int:
    """How many shelves a row of books takes, from the pages of each."""
    thick = sum(count * <<um_page>> + <<um_cover>> for count in pages)
    return -(-thick // (<<shelf_mm>> * 1000))
#:end
