"""What opens for a cell of the leaderboard: each session of a trial, and the disk as it was when the session ended.

The run's folder may come from anybody: nothing outside it is read, sizes are capped, and what cannot be read is said.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..grader.report import session_text
from ..grader.summary import limit_text
from ..grader.text import path_text
from ..sandbox.errors import InputError, StorageError
from ..sandbox.store import SnapshotStore
from ..sandbox.tree import Manifest, TreeItem
from .difftext import NOTHING, Changes, Shelf, changes, shown
from .record import RunPaths, StepPaths, TrialPaths
from .sessions import SessionMeta, read_meta

MAX_JSON = 16 << 20
MAX_EVENTS = 4 << 20
MAX_OUTPUT = 64 << 20
MAX_NOTE = 32 * 1024
MAX_NOTES = 8
MAX_EDITS = 200
SAID = 2_000

# Shown at the end of every session, changed or not; other notes are text files that differ from the start of the trial.
STATE_FILES = frozenset({"state.md"})
NOTE_SUFFIXES = (".md", ".markdown", ".txt", ".rst", ".org")

_STEP = re.compile(r"([1-9][0-9]{0,3})-session")


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A file in which an agent keeps notes, as it was at that moment. `remark` says why it is not all there."""

    path: str
    text: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """A source edit as the guest saw it: the n-th, `at` seconds into the session."""

    n: int
    at: float | None
    path: str
    how: str


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session and the disk at its end. `planted` is what changed between the last session's end and its start.

    `limit` says how much of their limit the arm's notes took, where the arm has one.
    `problem` says what could not be read; the parts that it names are empty.
    """

    number: int
    ended: str = ""
    cut: bool = False
    snapshot: str = ""
    edits: tuple[Edit, ...] = ()
    more_edits: int = 0
    edited: tuple[str, ...] = ()
    notes: tuple[NoteFile, ...] = ()
    limit: str = ""
    changes: Changes = NOTHING
    planted: Changes = NOTHING
    said: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TrialView:
    """What opens for a trial: where it is, its sessions, or why there is nothing to see."""

    name: str
    path: str
    sessions: tuple[SessionView, ...] = ()
    problem: str = ""


@dataclass(slots=True)
class Opener:
    """Opens trials of one run."""

    run: RunPaths
    _shelf: Shelf = field(init=False)

    def __post_init__(self) -> None:
        self._shelf = Shelf(SnapshotStore(self.run.snapshots))

    def trial(self, name: str) -> TrialView:
        """The sessions of a trial, from its folder."""
        paths = self.run.trial(name)
        numbers = session_numbers(paths)
        if not numbers:
            return TrialView(name, str(paths.root), problem="no session is recorded")
        sessions: list[SessionView] = []
        before: SessionMeta | None = None
        first: str | None = None
        for number in numbers:
            step = paths.step(number, "session")
            try:
                meta = read_meta_within(step, self.run.root)
            except InputError as error:
                sessions.append(SessionView(number, problem=path_text(str(error))))
                continue
            first = first or meta.start
            sessions.append(self._session(number, step, meta, before, first))
            before = meta
        return TrialView(name, str(paths.root), tuple(sessions))

    def _session(
        self, number: int, step: StepPaths, meta: SessionMeta, before: SessionMeta | None, first: str
    ) -> SessionView:
        edits, more = _edits(step, self.run.root)
        problem, changed, planted = "", NOTHING, NOTHING
        notes: tuple[NoteFile, ...] = ()
        try:
            end = _digest(meta.session.snapshot)
            notes = self._notes(_digest(first), end)
            changed = changes(self._shelf, _digest(meta.start), end)
            if before is not None:
                planted = changes(self._shelf, _digest(before.session.snapshot), _digest(meta.start))
        except (InputError, StorageError) as error:
            problem = path_text(str(error))
        return SessionView(
            number=number,
            ended=session_text(meta.session),
            cut=meta.session.exit == "cutoff",
            snapshot=path_text(meta.session.snapshot),
            edits=edits,
            more_edits=more,
            edited=tuple(meta.session.edited[:MAX_EDITS]),
            notes=notes,
            limit=limit_text(meta.session.notes_use),
            changes=changed,
            planted=planted,
            said=_said(step, self.run.root),
            problem=problem,
        )

    def _notes(self, first: str, end: str) -> tuple[NoteFile, ...]:
        start, now = self._shelf.manifest(first), self._shelf.manifest(end)
        found = [path for path, item in now.items() if _is_note(path, item, start)]
        wanted = found[:MAX_NOTES]
        texts = self._shelf.texts(end, frozenset(path for path in wanted if now[path].size <= MAX_NOTE))
        notes = [_note(path, now[path], texts) for path in wanted]
        if len(found) > len(wanted):
            notes.append(NoteFile("", "", f"{len(found) - len(wanted)} more"))
        return tuple(notes)


def session_numbers(paths: TrialPaths) -> list[int]:
    """The numbers of the steps of a trial that are recorded sessions."""
    try:
        names = [path.name for path in paths.root.iterdir()]
    except OSError:
        return []
    return sorted(int(match[1]) for name in names if (match := _STEP.fullmatch(name)))


def read_meta_within(step: StepPaths, root: Path) -> SessionMeta:
    """A session's record; InputError if it is none, too large, or not inside the run."""
    check_inside(step.meta, root, MAX_JSON)
    return read_meta(step)


def check_inside(path: Path, root: Path, limit: int) -> None:
    """InputError unless `path` is a regular file of at most `limit` bytes that lies in `root`, links followed."""
    try:
        real = path.resolve(strict=True)
        status = real.stat()
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "its links turn in a circle"
        raise InputError(f"{path}: {why}") from None
    if not real.is_relative_to(root.resolve()):
        raise InputError(f"{path}: leads out of the run's folder")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path}: not a regular file")
    if status.st_size > limit:
        raise InputError(f"{path}: {status.st_size:,} bytes are more than {limit:,}")


def _digest(name: str) -> str:
    return name.removeprefix("sha256:")


def _is_note(path: str, item: TreeItem, start: Manifest) -> bool:
    if item.kind != "f" or path.split("/", 1)[0] == ".git":
        return False
    if path in STATE_FILES:
        return True
    before = start.get(path)
    return path.lower().endswith(NOTE_SUFFIXES) and (before is None or before.sha256 != item.sha256)


def _note(path: str, item: TreeItem, texts: Mapping[str, bytes]) -> NoteFile:
    if path not in texts:
        return NoteFile(path_text(path), "", f"{item.size:,} bytes, not shown")
    return NoteFile(path_text(path), shown(texts[path]), "" if texts[path].strip() else "empty")


def _edits(step: StepPaths, root: Path) -> tuple[tuple[Edit, ...], int]:
    """The edits that the guest reported, and how many more there are; a line that is no event is passed over."""
    try:
        check_inside(step.events, root, MAX_EVENTS)
        lines = step.events.read_bytes().split(b"\n")
    except (InputError, OSError):
        return (), 0
    found = [edit for line in lines if (edit := _edit(line)) is not None]
    return tuple(found[:MAX_EDITS]), max(0, len(found) - MAX_EDITS)


def _edit(line: bytes) -> Edit | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or event.get("t") != "edit" or not isinstance(event.get("path"), str):
        return None
    number, at = event.get("n"), event.get("at")
    return Edit(
        n=number if isinstance(number, int) else 0,
        at=round(at, 3) if isinstance(at, int | float) and abs(at) < 1e9 else None,
        path=path_text(event["path"])[:1000],
        how=path_text(str(event.get("how", "")))[:40],
    )


def _said(step: StepPaths, root: Path) -> str:
    """The end of what the agent printed."""
    try:
        check_inside(step.output, root, MAX_OUTPUT)
        with step.output.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - SAID))
            data = file.read(SAID)
    except (InputError, OSError):
        return ""
    return ("\N{HORIZONTAL ELLIPSIS}" if size > SAID else "") + shown(data).strip("\n")
