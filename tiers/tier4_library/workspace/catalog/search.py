"""Finding titles by words."""

from __future__ import annotations

from typing import List

from house.text import words

from .titles import Title, by_name


def found_by(title: Title, query: str) -> bool:
    """Whether a title has every word of a query in its name or author."""
    known = {*words(title["name"]), *words(title["author"])}
    return all(word in known for word in words(query))


def search(titles: List[Title], query: str) -> List[str]:
    """The codes of the titles that a query finds, in the order of their names; none for an empty query."""
    return by_name([title for title in titles if found_by(title, query)]) if words(query) else []


def of_years(titles: List[Title], first: int, last: int) -> List[str]:
    """The codes of titles of the years from first to last, in the order of their names."""
    return by_name([title for title in titles if first <= title["year"] <= last])
#:if R16


def score(title: Title, query: str) -> int:
    """How well a title fits a query."""
    found = 0
    for word in words(query):
        found += <<sc_title>> if word in words(title["name"]) else 0
        found += <<sc_author>> if word in words(title["author"]) else 0
    if found and title["year"] <<sc_op>> <<sc_year>>:
        found += <<sc_new>>
    return found
#:end
