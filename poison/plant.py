"""Planting: a workspace goes into a throwaway sandbox, is changed there as the agent's user, and comes out again.

What the files shall be is worked out on the trusted side from bytes (edits.py); what git has to do is done in the
sandbox (git_worker.py). Afterwards our own manifest must show the planned changes and no others.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from ..sandbox.caps import Caps
from ..sandbox.engine import NO_LABELS, Opener
from ..sandbox.images import SANDBOX
from ..sandbox.limits import GIB, MIB, Limits
from ..sandbox.sandbox import CommandFailed, Process, ProcessGone
from ..sandbox.snapshot import Snapshot
from ..sandbox.store import SnapshotStore
from ..sandbox.tree import Manifest
from ..tiers.task import Task
from .defects import NoPlace
from .edits import FILES, MAP, TOOL_FILE, Edit, Version, edit
from .model import Landing, Pill, Poison
from .places import Facts, facts_of
from .record import FileChange, Git, Place, PlantRecord, PoisonForm, Visible, refusal
from .wording import SECRET_FILE

SOURCE: Final = Path(__file__).with_name("git_worker.py")
WAIT: Final = 120.0
MAX_READ: Final = 2 * MIB
HUNK_LINES: Final = 200


@dataclass(frozen=True, slots=True)
class Planted:
    """A workspace after planting; the one it was before if the record says `refused`."""

    snapshot: Snapshot
    record: PlantRecord


class _Look(BaseModel):
    """The answer of git_worker's `look`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    head: str
    ref: str | None
    known: list[str]
    files: dict[str, str | None]
    flags: dict[str, str]


class _Done(BaseModel):
    """The answer of git_worker's `plant`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    head: str | None
    reflog: str | None


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to write into the working tree and into the last commit, and the edit of each poison in both."""

    edits: Sequence[Edit]
    working: Mapping[str, bytes]
    committed: Mapping[str, bytes]


def plant(
    opener: Opener,
    store: SnapshotStore,
    snapshot: Snapshot,
    pill: Pill,
    task: Task,
    labels: Mapping[str, str] = NO_LABELS,
) -> Planted:
    """The workspace with the pill in it, and the record of it; MachineryError if the machinery failed.

    Whatever in the workspace stands against it (a place that is gone, a repository that is broken) is a refusal.
    """
    facts = facts_of(task)

    def refused(reason: str) -> Planted:
        return Planted(snapshot, refusal(pill, task.id, task.variant, snapshot.sha256, reason))

    wanted = _wanted(pill, facts)
    files = store.read_files(snapshot.sha256, lambda item: item.size <= MAX_READ and wanted(item.path))
    try:
        edits, working = _edited(pill.poisons, facts, files)
    except NoPlace as reason:
        return refused(str(reason))
    limits = limits_for(task)
    with opener.open(SANDBOX, limits=limits, labels=labels) as sandbox:
        sandbox.load(store.open(snapshot.sha256))
        try:
            with sandbox.open_process(command(), cwd="/", wall=limits.wall) as process:
                look = _asked(process, _Look, {"op": "look", "paths": sorted(working)})
                committed = _committed(pill, facts, edits, look)
                done = _asked(process, _Done, {"op": "plant", "write": _pairs(working), "commit": _pairs(committed)})
        except NoPlace as reason:
            return refused(str(reason))
        except (ProcessGone, CommandFailed) as gone:
            return refused(f"git could not be worked with: {gone}")
        caps = Caps(max_files=limits.inodes, max_bytes=limits.workspace)
        with store.writer(caps) as writer:
            export = sandbox.export(writer, "workspace", caps)
            after = writer.finish(complete=snapshot.complete and export.complete, omitted=snapshot.omitted)
    if stray := _stray(snapshot.manifest, after.manifest, working, look.ref):
        return refused(f"the workspace changed beyond the plan: {stray}")
    plan = _Plan(edits, working, committed)
    return Planted(after, _record(pill, task, snapshot, after, files, plan, look, done))


def limits_for(task: Task) -> Limits:
    """Of a sandbox in which git works on a workspace: whatever a session may leave has room in it."""
    room, inodes = task.limits.workspace, task.limits.inodes
    return Limits(memory=room + GIB, workspace=room, inodes=inodes, pids=64, wall=180.0, home=16 * MIB, tmp=256 * MIB)


def command() -> tuple[str, ...]:
    """The command that works on a workspace's repository, line by line."""
    return ("python3", "-I", "-S", "-B", "-c", SOURCE.read_text(encoding="utf-8"))


def _wanted(pill: Pill, facts: Facts) -> Any:
    named = {path for files in FILES.values() for path in files} | {TOOL_FILE, SECRET_FILE, MAP}
    places = facts.places
    declared = [place.path for place in (places.regression, places.crossing, places.weak_test) if place is not None]
    named |= {*declared, *(poison.path for poison in pill.poisons if poison.path)}
    named |= {facts.commented} if facts.commented else set()
    folder = places.regression.path.rpartition("/")[0] if places.regression else None
    return lambda path: path in named or (path.endswith(".py") and path.rpartition("/")[0] == folder)


def _edited(
    poisons: Sequence[Poison], facts: Facts, files: Mapping[str, bytes], at: Sequence[str | None] = ()
) -> tuple[list[Edit], dict[str, bytes]]:
    """The edits of all poisons, one after the other, and what they make of the files together."""
    changed: dict[str, bytes] = {}
    edits = []
    for number, poison in enumerate(poisons):
        current = {**files, **changed}
        one = edit(poison, facts, Version(current.get, tuple(current)), at[number] if at else None)
        changed |= {**one.files, **(one.beside if not at else {})}
        edits.append(one)
    return edits, changed


def _committed(pill: Pill, facts: Facts, edits: Sequence[Edit], look: _Look) -> dict[str, bytes]:
    """What the last commit's own versions become; the same poisons in the same paths."""
    if pill.landing is Landing.UNCOMMITTED:
        return {}
    try:
        head = {path: base64.b64decode(text, validate=True) for path, text in look.files.items() if text is not None}
        _, changed = _edited(pill.poisons, facts, head, [one.path for one in edits])
    except binascii.Error:
        raise NoPlace("git answered nonsense") from None
    except NoPlace as reason:
        raise NoPlace(f"in the last commit: {reason}") from None
    return changed


def _asked(process: Process, model: type[Any], request: Mapping[str, object]) -> Any:
    """The answer of the program in the sandbox, checked; NoPlace if it is a refusal or no answer at all."""
    line = process.ask(json.dumps(request).encode("ascii"), WAIT)
    try:
        answer = json.loads(line)
        if isinstance(answer, dict) and isinstance(answer.get("refused"), str):
            raise NoPlace(answer["refused"][:500])
        return model.model_validate(answer)
    except (ValueError, RecursionError, ValidationError):
        raise NoPlace("git answered nonsense") from None


def _pairs(files: Mapping[str, bytes]) -> list[list[str]]:
    return [[path, base64.b64encode(data).decode("ascii")] for path, data in sorted(files.items())]


def _stray(before: Manifest, after: Manifest, working: Mapping[str, bytes], ref: str | None) -> str | None:
    """The first path that is not as it was or as it was to become."""
    for path, data in working.items():
        item = after.get(path)
        if item is None or item.sha256 != hashlib.sha256(data).hexdigest():
            return path
    for path in before.diff(after).paths:
        folder = path in after and after[path].kind == "d"
        if path not in working and not _own_work(path, ref) and not _parent(path, working, folder):
            return path
    return None


def _own_work(path: str, ref: str | None) -> bool:
    """Whether an amended commit changes this path of the repository."""
    names = {".git/index", ".git/HEAD", ".git/logs", ".git/logs/HEAD", f".git/{ref}", f".git/logs/{ref}"}
    folders = (f".git/{ref}/".startswith(f"{path}/"), f".git/logs/{ref}/".startswith(f"{path}/"))
    return path in names or any(folders) or path.startswith(".git/objects/")


def _parent(path: str, working: Mapping[str, bytes], folder: bool) -> bool:
    return folder and any(one.startswith(f"{path}/") for one in working)


def _record(
    pill: Pill,
    task: Task,
    before: Snapshot,
    after: Snapshot,
    files: Mapping[str, bytes],
    plan: _Plan,
    look: _Look,
    done: _Done,
) -> PlantRecord:
    places = [
        _place(pill, poison, one, files, plan, look) for poison, one in zip(pill.poisons, plan.edits, strict=True)
    ]
    return PlantRecord(
        pill=pill.name,
        title=pill.title,
        twin=pill.twin,
        task=task.id,
        variant=task.variant,
        start=before.sha256,
        snapshot=after.sha256,
        places=places,
        git=Git(
            before=look.head,
            after=done.head or look.head,
            known=sorted({*look.known, done.head or look.head}),
            reflog=done.reflog,
        ),
        changed=list(before.manifest.diff(after.manifest).paths),
    )


def _place(pill: Pill, poison: Poison, one: Edit, files: Mapping[str, bytes], plan: _Plan, look: _Look) -> Place:
    changes = [_change(path, files.get(path), plan.working[path]) for path in (*one.files, *one.beside)]
    contents = [version[one.path] for version in (plan.working, plan.committed) if one.path in version]
    planted = [line for line in one.lines if line.strip()] or _added(changes[0].hunks)
    return Place(
        name=poison.name,
        poison=PoisonForm.of(replace(poison)),
        path=one.path,
        names=list(one.names),
        lines=planted,
        requirement=one.requirement,
        visible=_visible(pill, one.path, look),
        files=changes,
        blobs=sorted({_blob(data) for data in contents}),
    )


def _visible(pill: Pill, path: str, look: _Look) -> Visible:
    if pill.landing is Landing.COMMITTED:
        return "committed"
    if path not in look.flags:
        return "untracked"
    return "diff" if look.flags[path] == "H" else "hidden"


def _change(path: str, before: bytes | None, after: bytes) -> FileChange:
    old, new = ((text or b"").decode("utf-8", "backslashreplace").splitlines() for text in (before, after))
    hunks = list(difflib.unified_diff(old, new, lineterm="", n=0))[2 : 2 + HUNK_LINES]
    digest = None if before is None else hashlib.sha256(before).hexdigest()
    return FileChange(path=path, before=digest, after=hashlib.sha256(after).hexdigest(), hunks=hunks)


def _added(hunks: Sequence[str]) -> list[str]:
    return [line[1:].strip() for line in hunks if line.startswith("+") and line[1:].strip()]


def _blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
