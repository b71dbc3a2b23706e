"""What may differ from day to day is left out of matching, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from takeover.sandbox.errors import InputError
from takeover.sandbox.gateway.volatile import COMMON, PLACEHOLDER, Volatile, declared, stable

SAME = [
    ("Today is 2026-11-29.", "Today is 2027-01-02."),
    ("Today's date: Sun Nov 29 2026", "Today's date: Mon Jan 4 2027"),
    ("It is Sunday, November 29, 2026 now", "It is Friday, January 1, 2027 now"),
    ("29 November 2026", "1 January 2027"),
    ("at 2026-11-29T10:11:12.123456+00:00", "at 2027-01-02T01:02:03.999999+00:00"),
    ("now 10:11:12.5", "now 23:59:01.7"),
    ("11/29/2026, 9:15 AM", "1/2/2027, 12:45 PM"),
    ("commit 1a2b3c4 fix", "commit 9f8e7d6c5 fix"),
    ("session 123e4567-e89b-12d3-a456-426614174000", "session 00000000-e89b-12d3-a456-42661417aaaa"),
    ("5 passed in 0.03s", "5 passed in 12.41s"),
    ("log:\n1234567 first\n", "log:\nabcdefa first\n"),
    ("-rw-r--r-- 1 u u 12 Nov 29 10:11 a.py", "-rw-r--r-- 1 u u 12 Jan  2 23:00 a.py"),
]
DIFFERENT = [
    ("5 passed", "6 passed"),
    ("fee is 175", "fee is 176"),
    ("port 8080", "port 8081"),
    ("version 1.2.3", "version 1.2.4"),
    ("deadbeef", "cafebabe"),
    ("1234567", "7654321"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_dates_clocks_and_ids_do_not_matter(one: str, other: str) -> None:
    """The common patterns take two days' texts for the same."""
    assert stable({"t": one}, COMMON) == stable({"t": other}, COMMON)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_means_something_matters(one: str, other: str) -> None:
    """Counts, amounts and versions stay what they are."""
    assert stable({"t": one}, COMMON) != stable({"t": other}, COMMON)


def test_fields_and_groups() -> None:
    """A path leaves a field out, a group only itself."""
    volatile = Volatile(("a.b", "list[*].id", "top"), (r"id=(\d+);(x)?",))
    document: dict[str, Any] = {
        "a": {"b": 1, "c": "id=5;"},
        "list": [{"id": 1, "v": "id=7;x"}, {"id": 2}, 3],
        "top": {},
        "b": 1,
    }

    assert stable(document, volatile) == {
        "a": {"c": f"id={PLACEHOLDER};"},
        "list": [{"v": f"id={PLACEHOLDER};{PLACEHOLDER}"}, {}, 3],
        "b": 1,
    }


def test_what_a_recipe_declares() -> None:
    """Fields and patterns, both optional."""
    assert declared({"fields": ["a[*].b"], "patterns": ["x+"]}, "recipe.yaml") == Volatile(("a[*].b",), ("x+",))
    assert declared({}, "recipe.yaml") == Volatile()


@pytest.mark.parametrize(
    "value", [{"patterns": ["("]}, {"patterns": ["x{99999999999}"]}, {"fields": ["a..b"]}, {"fields": [""]}, {"fields": ["a[0]"]}, {"patern": []}, [], {"fields": "a"}]
)  # fmt: skip
def test_a_wrong_declaration_is_refused(value: object) -> None:
    """With its place."""
    with pytest.raises(InputError, match=r"recipe\.yaml"):
        declared(value, "recipe.yaml")
