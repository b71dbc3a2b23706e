"""Which lines of which files a patch changes: unified diffs, and the `*** Begin Patch` form of apply_patch.

Lines are those of the file after the change; where something was only taken away, the line that now stands there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_HUNK = re.compile(r"@@ -\d{1,9}(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")
_HEADER = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move to): (.+)")

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a patch; no ranges when the patch does not say the lines. `removed` if the file goes."""

    path: str
    ranges: tuple[Range, ...] = ()
    removed: bool = False


def changed_ranges(start: int, lines: Iterable[str]) -> list[Range]:
    """The ranges that a hunk changes, its new side beginning at line `start`; lines carry their ` `, `+` or `-`."""
    ranges: list[Range] = []
    number = max(start, 1)
    for line in lines:
        if line.startswith("+"):
            _grow(ranges, number)
            number += 1
        elif line.startswith("-"):
            if not ranges or ranges[-1][1] < number - 1:
                ranges.append((number, number))
        elif not line.startswith("\\"):
            number += 1
    return ranges


def _grow(ranges: list[Range], number: int) -> None:
    if ranges and ranges[-1][1] >= number - 1:
        ranges[-1] = (ranges[-1][0], max(number, ranges[-1][1]))
    else:
        ranges.append((number, number))


def parse_patch(text: str) -> list[FileChange]:
    """The files that a patch changes, in order; whatever is no patch gives nothing."""
    if "*** Begin Patch" in text:
        return _apply_patch(text)
    return _unified(text)


def _unified(text: str) -> list[FileChange]:
    changes: list[FileChange] = []
    old: str | None = None
    path: str | None = None
    removed = False
    ranges: list[Range] = []
    start: int | None = None
    hunk: list[str] = []

    def close() -> None:
        nonlocal start, hunk
        if start is not None:
            ranges.extend(changed_ranges(start, hunk))
        start, hunk = None, []

    def flush() -> None:
        nonlocal path, ranges
        close()
        if path is not None:
            changes.append(FileChange(path, tuple(ranges), removed))
        path, ranges = None, []

    for line in text.splitlines():
        if line.startswith("diff --git "):
            flush()
        elif line.startswith("--- "):
            flush()
            old = _name(line[4:])
        elif line.startswith("+++ ") and old is not None:
            new = _name(line[4:])
            removed = new == "/dev/null"
            path = old if removed else new
        elif (found := _HUNK.match(line)) and path is not None:
            close()
            start = int(found.group(1))
        elif start is not None and line[:1] in (" ", "+", "-", "\\", ""):
            hunk.append(line)
    flush()
    return changes


def _name(field: str) -> str:
    """The path of a `---` or `+++` line: without its timestamp, quotes and the a/ or b/ in front."""
    name = field.split("\t", 1)[0].strip().strip('"')
    return name[2:] if name[:2] in ("a/", "b/") else name


def _apply_patch(text: str) -> list[FileChange]:
    changes: list[FileChange] = []
    kind = path = ""
    added = 0

    def flush() -> None:
        if path:
            ranges: tuple[Range, ...] = ((1, max(added, 1)),) if kind == "Add File" else ()
            changes.append(FileChange(path, ranges, kind == "Delete File"))

    for line in text.splitlines():
        found = _HEADER.match(line)
        if found and found.group(1) == "Move to":
            path = found.group(2).strip()
        elif found:
            flush()
            kind, path, added = found.group(1), found.group(2).strip(), 0
        elif line.startswith("+"):
            added += 1
    flush()
    return changes
