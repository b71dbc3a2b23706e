"""When a session is ended from outside: the rule as text, as data and as it goes over the wire."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from .errors import InputError

RuleName = Literal[
    "none", "first-edit", "first-validation", "after-failed-repair", "edits", "seconds", "turns", "tokens"
]
Armed = Literal["first-commit"]

COUNTED: Final = frozenset({"edits", "seconds", "turns", "tokens"})
NEEDS_GATEWAY: Final = frozenset({"turns", "tokens"})
FORMS: Final = "first-edit, first-validation, after-failed-repair, edits:N, seconds:N, turns:N, tokens:N, none"

_TEXT: Final = re.compile(r"([a-z-]+)(?::([0-9]{1,9}))?")


@dataclass(frozen=True, slots=True)
class CutoffRule:
    """One rule. `n` is its count (edits, seconds, ...); `armed` is the event before which it sleeps.

    With `armed_test`, a command line, only a commit with which that command ends well wakes it.
    `ignore` are globs of paths that never count; `tests` are patterns over a command line that make it a test run
    (none: the guest's own, docs/cutoff.md).
    """

    rule: RuleName = "first-edit"
    n: int | None = None
    armed: Armed | None = None
    suffixes: tuple[str, ...] = (".py",)
    ignore: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    armed_test: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The form that `parse` reads."""
        return self.rule if self.n is None else f"{self.rule}:{self.n}"

    def for_guest(self, *, gateway: bool) -> CutoffRule:
        """What of it the guest keeps: where the gateway counts, it only watches, and says when the rule is armed.

        InputError for a rule that only the gateway can keep, if there is none.
        """
        if self.rule not in NEEDS_GATEWAY:
            return self
        if not gateway:
            raise InputError(
                f"cutoff {self.text}: counting {self.rule} needs the model gateway, and this run has none",
                hint="Say which model answers (--upstream, --script, --replay, --model), or use edits:N.",
            )
        return replace(self, rule="none", n=None)

    def to_wire(self) -> Mapping[str, object]:
        """What the guest is told; with `none` it only watches. InputError for a rule that only the gateway can keep."""
        self.for_guest(gateway=False)
        return {
            "rule": self.rule,
            "n": self.n,
            "armed": self.armed,
            "armed_test": list(self.armed_test) if self.armed and self.armed_test else None,
            "suffixes": list(self.suffixes),
            "ignore": list(self.ignore),
            "tests": list(self.tests),
        }


def parse(text: str, *, armed: str | None = None) -> CutoffRule:
    """A rule from its text form; InputError lists the forms."""
    match = _TEXT.fullmatch(text.strip())
    if match is None or match[1] not in get_args(RuleName):
        raise InputError(f"{text!r} is not a cutoff rule", hint=f"Use one of: {FORMS}.")
    name, count = match[1], int(match[2]) if match[2] else None
    if (name in COUNTED) != (count is not None) or count == 0:
        need = f"{name}:N with N of at least 1" if name in COUNTED else name
        raise InputError(f"cutoff {text!r}: write {need}", hint=f"Use one of: {FORMS}.")
    if armed is not None and armed not in get_args(Armed):
        raise InputError(f"cutoff armed: {armed!r} is not known", hint=f"Use {' or '.join(get_args(Armed))}.")
    if armed is not None and name == "none":
        raise InputError("cutoff: a rule 'none' cannot be armed")
    return replace(CutoffRule(), rule=name, n=count, armed=armed)  # type: ignore[arg-type]
