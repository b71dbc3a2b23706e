"""Titles: what a book, a film or a game is called, and by whom."""

from __future__ import annotations

from typing import Dict, List, TypedDict

from house.policy import LOAN_DAYS

ARTICLES = ("a", "an", "the")


class CatalogError(ValueError):
    """Something that the catalog refuses."""


class UnknownTitle(CatalogError):
    """A code that no title has."""


class Title(TypedDict):
    """One title."""

    code: str
    name: str
    author: str
    kind: str
    year: int


def sort_name(name: str) -> str:
    """What a name is sorted by: lower case, without a leading article."""
    first, _, rest = name.lower().partition(" ")
    return rest if first in ARTICLES and rest else name.lower()


def problems(title: Title) -> List[str]:
    """What is wrong with a title, as codes; empty for a sound one."""
    found: List[str] = []
    if not title["name"].strip():
        found.append("no-name")
    if not title["author"].strip():
        found.append("no-author")
    if title["kind"] not in LOAN_DAYS:
        found.append("unknown-kind")
    if title["year"] < 1450:
        found.append("bad-year")
#:if R17
    if len(title["name"]) <<prob_op>> <<prob_len>>:
        found.insert(<<prob_place.code>>, "<<prob_code>>")
#:end
    return found


def add(titles: Dict[str, Title], title: Title) -> Dict[str, Title]:
    """The catalog with one more title."""
    wrong = problems(title)
    if wrong:
        raise CatalogError(f"{title['code']}: {', '.join(wrong)}")
    if title["code"] in titles:
        raise CatalogError(f"{title['code']}: already there")
    return {**titles, title["code"]: title}


def find(titles: Dict[str, Title], code: str) -> Title:
    """The title with a code."""
    if code not in titles:
        raise UnknownTitle(f"no title {code}")
    return titles[code]


def by_name(titles: List[Title]) -> List[str]:
#:if years_break_ties
    """The codes of titles in the order of their names, equal ones by year."""
    return [title["code"] for title in sorted(titles, key=lambda one: (sort_name(one["name"]), one["year"]))]
#:else
    """The codes of titles in the order of their names."""
    return [title["code"] for title in sorted(titles, key=lambda one: sort_name(one["name"]))]
#:end
