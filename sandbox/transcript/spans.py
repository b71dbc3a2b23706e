"""What an agent looked at and what it changed: a file, and the lines where they are known."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Kind = Literal["view", "edit"]
MAX_LINE = 10_000_000
MAX_COMPARED = 20_000_000
# A working folder that cannot be known: paths relative to it cannot be either.
UNKNOWN = "\0"
_NUMBERED = re.compile(r"\s{0,12}(\d{1,8})(?:\t|→|:|\| ?)(.*)")


@dataclass(frozen=True, slots=True)
class Span:
    """Lines `start` to `end` of a file, both included, counted from 1; None where they are not known.

    `start` without `end` reaches to the end of the file. An edit's lines are those of the file after it.
    """

    path: str
    start: int | None
    end: int | None
    kind: Kind
    step_id: int


class Found(NamedTuple):
    """A span before its path is made relative to the workspace."""

    path: str
    start: int | None
    end: int | None
    kind: Kind


def view(path: str, start: int | None = None, end: int | None = None) -> Found:
    """Something looked at."""
    return _checked(path, start, end, "view")


def edit(path: str, start: int | None = None, end: int | None = None) -> Found:
    """Something changed."""
    return _checked(path, start, end, "edit")


def _checked(path: str, start: int | None, end: int | None, kind: Kind) -> Found:
    if start is None or not 1 <= start <= MAX_LINE or (end is not None and not start <= end <= MAX_LINE):
        return Found(path, None, None, kind)
    return Found(path, start, end, kind)


def line_count(text: str) -> int:
    """How many lines a text has; the empty one has one, as an editor shows it."""
    return max(1, text.count("\n") + (not text.endswith("\n")))


def normal_path(path: str, cwd: str | None, root: str | None) -> str | None:
    """The path relative to the workspace's root when it lies inside, else as it is; None for what names no file."""
    if not path or len(path) > 4096 or path.endswith(("/", "/.", "/..")) or any(ord(char) < 32 for char in path):
        return None
    if path in (".", "..", "-", "~") or path.startswith(("/dev/", "/proc/", "http://", "https://")):
        return None
    whole = path if path.startswith(("/", "~")) else posixpath.join(cwd or root or "", path)
    if UNKNOWN in whole or len(whole) > 8192:
        return None
    whole = posixpath.normpath(whole)
    if root and root != "/" and whole.startswith(root.rstrip("/") + "/"):
        return whole[len(root.rstrip("/")) + 1 :]
    if root and whole == root.rstrip("/"):
        return None
    return whole


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """The longest run of lines that carry consecutive numbers, as `cat -n` and the editors' windows print them."""
    best: list[tuple[int, str]] = []
    run: list[tuple[int, str]] = []
    for line in text.splitlines():
        found = _NUMBERED.match(line)
        if found is None:
            run = []
            continue
        number = int(found.group(1))
        if not run or run[-1][0] != number - 1:
            run = []
        run.append((number, found.group(2)))
        if len(run) > len(best):
            best = run
    return best


def locate(numbered: list[tuple[int, str]], wanted: str) -> tuple[int, int] | None:
    """Where a text stands among numbered lines; lines of the output may have lost their line ends' `\\r`."""
    lines = [line.rstrip() for line in wanted.strip("\n").splitlines()]
    shown = [line.rstrip() for _, line in numbered]
    if not lines or not any(lines) or len(lines) * len(shown) > MAX_COMPARED:
        return None
    for at in range(len(shown) - len(lines) + 1):
        if shown[at] == lines[0] and shown[at : at + len(lines)] == lines:
            return numbered[at][0], numbered[at + len(lines) - 1][0]
    return None


def pairs(value: Any) -> list[tuple[int, int]]:
    """Line ranges as an importer noted them beside a result."""
    if not isinstance(value, list):
        return []
    return [
        (one[0], one[1])
        for one in value
        if isinstance(one, list) and len(one) == 2 and all(isinstance(n, int) and not isinstance(n, bool) for n in one)
    ]


def unique(found: Iterable[Found]) -> list[Found]:
    """Each once, in order."""
    return list(dict.fromkeys(found))
