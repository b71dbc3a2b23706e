"""Small things about texts."""

from __future__ import annotations

from typing import List


def single_spaced(text: str) -> str:
    """The text on one line, with single blanks."""
    return " ".join(text.split())


def words(text: str) -> List[str]:
    """The words of a text in lower case; nothing but letters and digits belongs to a word."""
    return "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()


def plural(count: int, word: str) -> str:
    """A number of things: `1 book`, `2 books`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def money(cents: int) -> str:
    """Cents as people write them: `3.05`, `-0.50`."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"
