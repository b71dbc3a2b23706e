"""What changed between two snapshots, as text for a reader: diffs of our own, made from bytes, bounded in size and work.

The bytes are an agent's. They are compared and shown, never interpreted, and git is not asked.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..grader.text import path_text
from ..sandbox.store import SnapshotStore
from ..sandbox.tree import Manifest, TreeItem

MAX_FILE = 256 * 1024
MAX_LINES = 5_000
MAX_FILES = 60
MAX_SHOWN = 120_000
# difflib takes a few seconds at most for this many steps of `_steps`, and for real code far less.
MAX_STEPS = 200_000_000

How = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path that differs: a unified diff, or in words why there is none."""

    path: str
    how: How
    note: str = ""
    diff: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs. `more` counts changed files that are not listed; `git` sums up what happened inside .git."""

    files: tuple[FileChange, ...] = ()
    more: int = 0
    git: str = ""

    def __bool__(self) -> bool:
        return bool(self.files or self.more or self.git)


NOTHING = Changes()


@dataclass(slots=True)
class Shelf:
    """A snapshot store whose manifests are read once."""

    store: SnapshotStore
    _manifests: dict[str, Manifest] = field(default_factory=dict)

    def manifest(self, sha256: str) -> Manifest:
        """The manifest of a snapshot; StorageError if it is missing or damaged."""
        if sha256 not in self._manifests:
            self._manifests[sha256] = self.store.manifest(sha256)
        return self._manifests[sha256]

    def texts(self, sha256: str, paths: frozenset[str]) -> dict[str, bytes]:
        """The contents of those of the paths that are regular files."""
        return self.store.read_files(sha256, lambda item: item.path in paths) if paths else {}


@dataclass(slots=True)
class _Left:
    """What may still be shown and worked on."""

    shown: int
    steps: int


def changes(shelf: Shelf, before: str, after: str, *, steps: int = MAX_STEPS) -> Changes:
    """What differs between two snapshots, named by their SHA-256; StorageError if one cannot be read."""
    if before == after:
        return NOTHING
    old, new = shelf.manifest(before), shelf.manifest(after)
    found = old.diff(new)
    telling = [path for path in found.paths if not _plain_folder(old, new, path)]
    inside = {path for path in telling if path.split("/", 1)[0] == ".git"}
    listed = [path for path in telling if path not in inside]
    wanted = listed[:MAX_FILES]
    readable = frozenset(path for path in wanted if _readable(old.get(path)) and _readable(new.get(path)))
    texts = shelf.texts(before, readable & old.keys()), shelf.texts(after, readable & new.keys())
    left = _Left(MAX_SHOWN, steps)
    files = tuple(_change(path, old.get(path), new.get(path), texts, left) for path in wanted)
    counts = {
        "added": sum(path in inside for path in found.added),
        "changed": sum(path in inside for path in found.changed),
        "removed": sum(path in inside for path in found.removed),
    }
    git = ", ".join(f"{count} {how}" for how, count in counts.items() if count)
    return Changes(files, len(listed) - len(wanted), git)


def shown(data: bytes) -> str:
    """Bytes as text with its lines and tabs; everything else that is not printable as an escape."""
    text = data.decode("utf-8", "surrogateescape")
    return "\n".join("\t".join(map(path_text, line.split("\t"))) for line in text.split("\n"))


def binary(data: bytes) -> bool:
    """Whether bytes are no text."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return b"\0" in data


def _plain_folder(old: Manifest, new: Manifest, path: str) -> bool:
    """A folder says nothing that its files do not, unless it stands where something else stood."""
    items = [item for item in (old.get(path), new.get(path)) if item is not None]
    return all(item.kind == "d" for item in items)


def _readable(item: TreeItem | None) -> bool:
    return item is None or (item.kind == "f" and item.size <= MAX_FILE)


def _change(
    path: str,
    old: TreeItem | None,
    new: TreeItem | None,
    texts: tuple[Mapping[str, bytes], Mapping[str, bytes]],
    left: _Left,
) -> FileChange:
    how: How = "added" if old is None else "removed" if new is None else "changed"
    name = path_text(path)
    notes = []
    if old is not None and new is not None and old.kind == new.kind == "f" and old.mode != new.mode:
        notes.append(f"mode {old.mode:o} to {new.mode:o}")
    if not (_readable(old) and _readable(new)):
        return FileChange(name, how, "; ".join([*notes, f"{_what(old)} to {_what(new)}"]))
    before, after = texts[0].get(path, b""), texts[1].get(path, b"")
    if binary(before) or binary(after):
        return FileChange(name, how, "; ".join([*notes, f"binary, {_what(old)} to {_what(new)}"]))
    first, second = _lines(before), _lines(after)
    if len(first) + len(second) > MAX_LINES:
        return FileChange(name, how, "; ".join([*notes, f"{len(first):,} lines to {len(second):,}"]))
    text = _unified(first, second, left)
    if not text and not notes:
        notes.append("empty")
    if len(text) > left.shown:
        text = text[: left.shown]
        notes.append("not shown whole")
    left.shown -= len(text)
    return FileChange(name, how, "; ".join(notes), text)


def _what(item: TreeItem | None) -> str:
    if item is None:
        return "nothing"
    if item.kind == "l":
        return f"a link to {path_text(item.target or '')}"
    return "a folder" if item.kind == "d" else f"{item.size:,} bytes"


def _lines(data: bytes) -> list[str]:
    """Lines with their ends; the end of a last line that has none is said, as diff does."""
    lines = [line + "\n" for line in shown(data).split("\n")]
    if lines[-1] == "\n":
        return lines[:-1]
    return [*lines[:-1], lines[-1] + "\\ No newline at end of file\n"]


def _unified(first: list[str], second: list[str], left: _Left) -> str:
    steps = _steps(first, second)
    if steps > left.steps:
        # Every line of the one, then every line of the other: true as well, and never slow.
        head = f"@@ -1,{len(first)} +1,{len(second)} @@\n"
        return head + "".join([*("-" + line for line in first), *("+" + line for line in second)])
    left.steps -= steps
    diff = difflib.unified_diff(first, second, n=3)
    return "".join(line for number, line in enumerate(diff) if number > 1)


def _steps(first: list[str], second: list[str]) -> int:
    """At most how long difflib works: pairs of equal lines, once for each block that it may find.

    Lines that are frequent in a long text are left out, as difflib does.
    """
    counts, other = Counter(first), Counter(second)
    frequent = len(second) // 100 + 1 if len(second) >= 200 else len(second)
    pairs = sum(count * other[line] for line, count in counts.items() if other[line] <= frequent)
    return pairs * min(len(first), len(second))
