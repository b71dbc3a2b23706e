"""What counts as an edit, and when a rule has fired. Pure: no file is touched here.

An edit is a finished change that leaves a source file with content it did not have: other than at the
start of the session, and other than at the last edit of the same file.
"""

from __future__ import annotations

import fnmatch
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

DEFAULT_SUFFIXES = (".py",)
# Trees that a program writes for itself, or that hold other people's code, are not anybody's edit.
SKIPPED_PARTS = frozenset((".git", "site-packages", "node_modules", ".venv", ".tox", ".nox"))
TEST_PARTS = frozenset(("test", "tests"))

_PYTHON = r"^(?:\S*/)?(?:python|pypy)[\d.]*(?: -(?:[WX] \S+|(?!c\b|m\b)\S+))*"
_RUNNERS = r"(?:pytest|py\.test|unittest|nose2|tox|nox|trial|stestr|coverage run -m (?:pytest|unittest))(?:\s|$)"
DEFAULT_TESTS = (
    # A program of its own, a module, a script that an interpreter runs: and never a word further on in the line.
    r"^(?:\S*/)?" + _RUNNERS,
    _PYTHON + r" (?:-m |(?:\S*/)?)" + _RUNNERS,
    _PYTHON + r" (?:\S*/)?(?:test_[^/ ]*|[^/ ]*_test|runtests)\.py(?:\s|$)",
    _PYTHON + r" (?:\S*/)?(?:manage|setup)\.py test(?:\s|$)",
    r"^(?:\S*/)?make(?: \S+)* (?:test|tests|check)(?:\s|$)",
)

BARRIER_RULES = frozenset(("first-edit", "edits", "first-validation", "after-failed-repair"))
TEST_RULES = frozenset(("first-validation", "after-failed-repair"))
FREE_RULES = frozenset(("seconds", "none"))


class RuleError(ValueError):
    """A cutoff that this guest cannot hold; the text says why."""


class Rule:
    """When a session ends, and which files can end it.

    With `armed` it sleeps until the first commit, or the first with which the command `armed_test` ends well.
    """

    armed = False
    armed_test: tuple[str, ...] = ()

    def __init__(self, name: str, n: float, suffixes: tuple[str, ...], ignore: tuple[str, ...], tests: Any) -> None:
        self.name, self.n, self.suffixes, self.ignore = name, n, suffixes, ignore
        self._tests = tests

    @property
    def barrier(self) -> bool:
        """Whether the agent's calls must pause for it."""
        return self.armed or self.name in BARRIER_RULES

    @property
    def has_moment(self) -> bool:
        """Whether what the agent does is the moment of the cut, so that something can come after it."""
        return self.name in BARRIER_RULES

    @property
    def watches_tests(self) -> bool:
        """Whether test commands matter to it."""
        return self.name in TEST_RULES

    def counts(self, path: str) -> bool:
        """Whether a change of this path (relative to the workspace) can be an edit."""
        if not path.endswith(self.suffixes):
            return False
        *folders, name = path.split("/")
        if any(part in SKIPPED_PARTS or part in TEST_PARTS for part in folders):
            return False
        if name == "conftest.py" or name.startswith("test_") or name.endswith("_test.py"):
            return False
        return not any(fnmatch.fnmatchcase(path, glob) for glob in self.ignore)

    def enters(self, folder: str) -> bool:
        """Whether anything below a folder of this name can count."""
        return folder not in SKIPPED_PARTS and folder not in TEST_PARTS

    def is_test(self, argv: list[str]) -> bool:
        """Whether a command line is a test command."""
        line = " ".join(argv)
        return any(pattern.search(line) for pattern in self._tests)

    def fires_on_edit(self, edits: int) -> bool:
        """Whether the session ends at its edit number `edits`."""
        return edits == {"first-edit": 1, "edits": self.n}.get(self.name)

    def fires_on_test(self, edits_before: int, code: int | None) -> bool:
        """Whether it ends when a test command has finished that started after so many edits.

        `code` is None for a command that a signal ended, which is a failure.
        """
        return edits_before > 0 and (
            self.name == "first-validation" or (self.name == "after-failed-repair" and code != 0)
        )


def parse_rule(data: Mapping[str, Any]) -> Rule:
    """The rule that a `run` frame carries; RuleError if it cannot be held here."""
    name = data.get("rule")
    n = data.get("n") or 0
    if not isinstance(name, str) or name not in BARRIER_RULES | FREE_RULES:
        raise RuleError("no cutoff rule %r in the guest" % (name,))
    if name in ("edits", "seconds") and (isinstance(n, bool) or not isinstance(n, (int, float)) or not n > 0):
        raise RuleError("rule %s needs a positive n, not %r" % (name, n))
    if name == "edits" and n % 1:
        raise RuleError("rule edits needs a whole n, not %r" % (n,))
    try:
        tests = tuple(re.compile(text) for text in _texts(data, "tests") or DEFAULT_TESTS)
    except re.error as error:
        raise RuleError("tests: %s" % error) from None
    rule = Rule(name, n, _texts(data, "suffixes") or DEFAULT_SUFFIXES, _texts(data, "ignore"), tests)
    if data.get("armed") not in (None, "first-commit"):
        raise RuleError("armed by %r, which is not known here" % (data["armed"],))
    rule.armed, rule.armed_test = data.get("armed") is not None, _texts(data, "armed_test")
    if rule.armed_test and not rule.armed:
        raise RuleError("armed_test without armed")
    return rule


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = data.get(key) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise RuleError("%s is not a list of text" % key)
    return tuple(value)


class Edit:
    """One edit: the path, how it came about, its number in the session."""

    __slots__ = ("how", "n", "path")

    def __init__(self, path: bytes, how: str, n: int) -> None:
        self.path, self.how, self.n = path, how, n


class Ledger:
    """What every counted file held at the start and at its last edit, and how many edits there were.

    Contents are fingerprints; None is a file that is not there.
    """

    def __init__(self) -> None:
        self._start: dict[bytes, bytes] = {}
        self._now: dict[bytes, bytes] = {}
        self.edits = 0
        self.first: bytes | None = None

    def begin(self, path: bytes, content: bytes) -> None:
        """A file as the session finds it."""
        self._start[path] = self._now[path] = content

    def observe(self, path: bytes, content: bytes | None, how: str) -> Edit | None:
        """A finished change of a counted file: the edit it is, or None."""
        if content is None or content == self._now.get(path):
            return None
        self._now[path] = content
        if content == self._start.get(path):
            return None
        self.edits += 1
        if self.first is None:
            self.first = path
        return Edit(path, how, self.edits)

    def changed_since_last_edit(self, path: bytes, content: bytes | None) -> bool:
        """Whether a file holds something nobody has seen yet; a file that is gone does not."""
        return content is not None and content != self._now.get(path)

    def edited(self, contents: Mapping[bytes, bytes]) -> list[bytes]:
        """The paths, of those given, that differ from the start."""
        return sorted(path for path, content in contents.items() if content != self._start.get(path))
