"""What counts as an edit, and when a rule fires."""

from __future__ import annotations

from typing import Any

import pytest

from takeover.sandbox.guest.edits import Ledger, Rule, RuleError, parse_rule


def rule(name: str = "first-edit", **fields: Any) -> Rule:
    return parse_rule({"rule": name, **fields})


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("a.py", True), ("ledger/rules.py", True), ("a/b/c/d.py", True), ("pkg/.py", True), ("a b.py", True),
        ("pkg/\udcff.py", True), ("pkg/a\nb.py", True), ("latest.py", True), ("contest.py", True), ("attest/x.py", True),
        ("test.py", True), ("tests.py", True), ("venv/app.py", True),
        ("a.PY", False), ("a.pyi", False), ("a.pyc", False), ("a.py~", False), ("a.py.tmp", False), ("py", False),
        ("a.pyx", False), ("Makefile", False),
        ("tests/a.py", False), ("test/a.py", False), ("pkg/tests/deep/a.py", False), ("test_a.py", False),
        ("pkg/a_test.py", False), ("conftest.py", False), ("pkg/conftest.py", False),
        (".git/a.py", False), ("sub/.git/hooks/a.py", False), (".venv/a.py", False), ("x/site-packages/y/a.py", False),
        ("node_modules/a.py", False), (".tox/a.py", False), (".nox/s/a.py", False),
    ],
)  # fmt: skip
def test_which_paths_count(path: str, counts: bool) -> None:
    """Source files by their exact suffix; no tests, no git, no installed packages."""
    assert rule().counts(path) is counts


def test_suffixes_and_ignore_are_the_tasks_own() -> None:
    """A task may count other suffixes and ignore paths by glob, on top of what never counts."""
    r = rule(suffixes=[".py", ".pyi"], ignore=["gen/*", "*/scratch_*.py"])

    assert r.counts("a.pyi")
    assert not r.counts("gen/deep/a.py")
    assert not r.counts("a/scratch_1.py")
    assert not r.counts("tests/a.py")
    assert r.counts("general/a.py")


@pytest.mark.parametrize(
    ("argv", "is_test"),
    [
        ("pytest", True), ("pytest -q tests", True), ("/usr/local/bin/pytest", True), ("py.test", True),
        ("python -m pytest", True), ("/usr/bin/python3.11 -m unittest discover", True), ("python3 -B -m pytest -x", True),
        ("python3 -X dev -m pytest", True), ("python3 /usr/local/bin/pytest -q", True), ("pypy3 -m pytest", True),
        ("tox", True), ("nox -s tests", True), ("make test", True), ("make -j2 -C x check", True),
        ("python manage.py test", True), ("python3 test_rules.py", True), ("python3 tests/rules_test.py -v", True),
        ("coverage run -m pytest", True), ("python -m coverage run -m pytest", True),
        ("sh -c pytest", False), ("bash -lc pytest -q && git commit", False), ("grep pytest x", False),
        ("vim test_x.py", False), ("python3 -c import pytest", False), ("python3 -c x -m pytest", False),
        ("python3 rules.py", False), ("make", False), ("make testing", False), ("git commit -m pytest", False),
        ("pip install pytest", False), ("pytest-watch", False), ("cat conftest.py", False), ("", False),
    ],
)  # fmt: skip
def test_which_commands_are_tests(argv: str, is_test: bool) -> None:
    """The runner itself, however it is started; not the shell around it, not a word in an argument."""
    assert rule("first-validation").is_test(argv.split()) is is_test


def test_patterns_may_be_the_tasks_own() -> None:
    """A task that tests by another command says so."""
    r = rule("first-validation", tests=[r"^\./verify\b"])

    assert r.is_test(["./verify", "--fast"])
    assert not r.is_test(["pytest"])


@pytest.mark.parametrize(
    ("data", "fires_at"),
    [({"rule": "first-edit"}, 1), ({"rule": "edits", "n": 3}, 3), ({"rule": "none"}, None),
     ({"rule": "seconds", "n": 1}, None), ({"rule": "first-validation"}, None)],
)  # fmt: skip
def test_when_an_edit_ends_the_session(data: dict[str, Any], fires_at: int | None) -> None:
    """first-edit at one, edits:N at N, the others never."""
    assert [n for n in range(1, 6) if parse_rule(data).fires_on_edit(n)] == ([fires_at] if fires_at else [])


@pytest.mark.parametrize(
    ("name", "edits", "code", "fires"),
    [
        ("first-validation", 1, 0, True), ("first-validation", 1, 1, True), ("first-validation", 2, None, True),
        ("first-validation", 0, 0, False), ("after-failed-repair", 1, 0, False), ("after-failed-repair", 1, 1, True),
        ("after-failed-repair", 3, None, True), ("after-failed-repair", 0, 1, False), ("first-edit", 1, 1, False),
        ("none", 1, 1, False),
    ],
)  # fmt: skip
def test_when_a_test_ends_the_session(name: str, edits: int, code: int | None, fires: bool) -> None:
    """Only after an edit; after-failed-repair only if it failed, and a signal is a failure."""
    assert rule(name).fires_on_test(edits, code) is fires


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({}, "no cutoff rule"), ({"rule": "turns", "n": 3}, "no cutoff rule"), ({"rule": []}, "no cutoff rule"),
        ({"rule": "edits"}, "positive"), ({"rule": "edits", "n": 0}, "positive"), ({"rule": "edits", "n": 1.5}, "whole"),
        ({"rule": "edits", "n": True}, "positive"), ({"rule": "seconds", "n": "3"}, "positive"),
        ({"rule": "first-edit", "armed": "lunch"}, "armed"), ({"rule": "none", "tests": ["("]}, "tests"),
        ({"rule": "first-edit", "armed_test": ["make"]}, "without armed"),
        ({"rule": "first-edit", "armed": "first-commit", "armed_test": "make"}, "armed_test"),
        ({"rule": "none", "suffixes": "py"}, "suffixes"), ({"rule": "none", "ignore": [1]}, "ignore"),
    ],
)  # fmt: skip
def test_rules_that_cannot_be_held(data: dict[str, Any], why: str) -> None:
    """They are refused with a reason, never bent into another rule."""
    with pytest.raises(RuleError, match=why):
        parse_rule(data)


def test_which_rules_need_the_barrier() -> None:
    """Rules about what the agent does, and not those about the clock."""
    names = ("first-edit", "first-validation", "after-failed-repair", "none")

    assert [rule(name).barrier for name in names] == [True, True, True, False]
    assert rule("edits", n=2).barrier
    assert not rule("seconds", n=2).barrier
    assert rule("seconds", n=2, armed="first-commit").barrier


def test_content_decides() -> None:
    """Only other content than at the start and than at the last edit is an edit; deletion is none."""
    ledger = Ledger()
    ledger.begin(b"a.py", b"1")

    assert ledger.observe(b"a.py", b"1", "written") is None
    assert ledger.observe(b"a.py", None, "written") is None
    first = ledger.observe(b"a.py", b"2", "written")
    assert first is not None
    assert (first.path, first.how, first.n) == (b"a.py", "written", 1)
    assert ledger.observe(b"a.py", b"2", "renamed") is None
    assert ledger.observe(b"a.py", b"1", "written") is None  # back to the start
    second = ledger.observe(b"new.py", b"", "written")
    assert second is not None
    assert (second.n, ledger.first) == (2, b"a.py")


def test_what_is_edited_in_the_end() -> None:
    """The list compares with the start, whatever happened between; deleted files are not in it."""
    ledger = Ledger()
    for path in (b"same.py", b"other.py", b"gone.py"):
        ledger.begin(path, b"1")
    ledger.observe(b"other.py", b"2", "written")

    assert ledger.edited({b"same.py": b"1", b"other.py": b"3", b"new.py": b"1"}) == [b"new.py", b"other.py"]
    assert ledger.changed_since_last_edit(b"other.py", b"3")
    assert not ledger.changed_since_last_edit(b"other.py", b"2")
    assert not ledger.changed_since_last_edit(b"gone.py", None)
