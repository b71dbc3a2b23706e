"""Cutoff rules: their text forms, what is refused, and what the guest is told."""

from __future__ import annotations

import pytest

from takeover.sandbox.cutoff import CutoffRule, parse
from takeover.sandbox.errors import InputError


@pytest.mark.parametrize(
    ("text", "rule", "n"),
    [
        ("first-edit", "first-edit", None),
        (" none ", "none", None),
        ("first-validation", "first-validation", None),
        ("after-failed-repair", "after-failed-repair", None),
        ("edits:3", "edits", 3),
        ("seconds:90", "seconds", 90),
        ("turns:1", "turns", 1),
        ("tokens:5000", "tokens", 5000),
    ],
)
def test_every_form_is_read_and_written_back(text: str, rule: str, n: int | None) -> None:
    """Each documented form parses, and `text` gives it back."""
    parsed = parse(text)

    assert (parsed.rule, parsed.n) == (rule, n)
    assert parsed.text == text.strip()


@pytest.mark.parametrize(
    "text", ["", "edit", "edits", "edits:0", "edits:-1", "edits:x", "first-edit:2", "none:1", "FIRST-EDIT"]
)
def test_anything_else_is_refused_with_the_forms(text: str) -> None:
    """A wrong form is an InputError whose hint lists the right ones."""
    with pytest.raises(InputError) as caught:
        parse(text)

    assert "first-edit" in str(caught.value.hint)


def test_rules_that_need_the_gateway_say_so() -> None:
    """turns:N and tokens:N parse, and refuse to be run."""
    for text in ("turns:3", "tokens:100"):
        with pytest.raises(InputError, match="gateway"):
            parse(text).to_wire()


def test_the_wire_form_is_plain_data() -> None:
    """The guest gets the rule with all its lists."""
    assert parse("none").to_wire()["rule"] == "none"
    assert CutoffRule(rule="edits", n=2, ignore=("build/*",)).to_wire() == {
        "rule": "edits",
        "n": 2,
        "armed": None,
        "armed_test": None,
        "suffixes": [".py"],
        "ignore": ["build/*"],
        "tests": [],
    }


def test_a_rule_may_sleep_until_the_first_commit() -> None:
    """`armed` is taken over; an unknown event, or one for no rule, is refused."""
    assert parse("first-edit", armed="first-commit").armed == "first-commit"
    for text, armed in (("first-edit", "lunch"), ("none", "first-commit")):
        with pytest.raises(InputError):
            parse(text, armed=armed)


def test_the_tests_that_wake_a_rule() -> None:
    """They go over the wire with a rule that sleeps, and with no other."""
    sleeping = CutoffRule(armed="first-commit", armed_test=("make", "check"))

    assert sleeping.to_wire()["armed_test"] == ["make", "check"]
    assert CutoffRule(armed_test=("make", "check")).to_wire()["armed_test"] is None
