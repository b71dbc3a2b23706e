"""Gate I: a signed manifest of every file of a workspace, and the check of what became of each.

`record_*` looks, `sign` seals, `verify` opens, `check` compares, `render_check` shows. The truth is the bytes on
disk: git's index, ignore rules, times and objects are never asked, so what hides from git hides nothing from here.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Literal

from . import dsse
from .gate_bytecode import bytecode_findings
from .gate_git import git_findings, git_part, is_bookkeeping
from .gate_manifest import PAYLOAD_TYPE, Fault, encode, parse
from .gate_model import Entry, Finding, FindingKind, Kind, Record, shown
from .gate_walk import Caps, Selection, read_beneath, walk
from .snapshot import Omission
from .tree import Manifest, canonical_key

READ_LIMIT = 16 << 20
"""Bytes of a file that is looked into for findings (configuration, bytecode and its source)."""

Reader = Callable[[str], bytes | None]
Area = Literal["workspace", "bytecode", "git"]


class Status(StrEnum):
    """What became of one path since the record; `UNPROVEN` where one side could not be read."""

    INTACT = "intact"
    DRIFTED = "drifted"
    ADDED = "added"
    REMOVED = "removed"
    TYPE_CHANGED = "type-changed"
    MODE_CHANGED = "mode-changed"
    UNPROVEN = "unproven"


# The words of an export for what it cannot carry.
_SPECIAL: Mapping[str, Kind] = {"fifo": "fifo", "socket": "socket", "device": "char-device"}
# Python itself leaves these behind in honest work; they are shown, and do not shut the gate.
_HARMLESS = frozenset({FindingKind.BYTECODE_STALE, FindingKind.BYTECODE_UNPROVEN})


@dataclass(frozen=True, slots=True)
class FileCheck:
    """One path: its status, both entries (None where it was not), and the difference in words."""

    path: str
    status: Status
    before: Entry | None
    after: Entry | None
    detail: str = ""

    @property
    def area(self) -> Area:
        """Whether the path belongs to git, is compiled Python, or is anything else."""
        if git_part(self.path) is not None:
            return "git"
        parts = self.path.split("/")
        return "bytecode" if "__pycache__" in parts or self.path.endswith(".pyc") else "workspace"


@dataclass(frozen=True)
class CheckResult:
    """Every path of either record in canonical order, and what else there is to know of the later one."""

    files: tuple[FileCheck, ...]
    findings: tuple[Finding, ...]
    new_findings: tuple[Finding, ...]
    root_before: str
    root_now: str

    @cached_property
    def drift(self) -> tuple[FileCheck, ...]:
        """What is not as recorded, without compiled Python (which the findings judge)."""
        return tuple(file for file in self.files if file.status is not Status.INTACT and file.area != "bytecode")

    @property
    def clean(self) -> bool:
        """Whether everything is as recorded and nothing new stands against it."""
        return not self.drift and not any(finding.kind not in _HARMLESS for finding in self.new_findings)

    @cached_property
    def counts(self) -> Mapping[Status, int]:
        """How many paths have each status."""
        return Counter(file.status for file in self.files)


@dataclass(frozen=True, slots=True)
class GateVerification:
    """A signed manifest judged: the record and its subject if it holds, else the reason and its evidence."""

    refusal: dsse.Refusal | Fault | Literal["wrong_subject"] | None
    detail: str
    key_id: str
    envelope_sha256: str
    subject: str = ""
    record: Record | None = None

    def __bool__(self) -> bool:
        return self.refusal is None


def record_folder(root: Path, *, caps: Caps | None = None, bytecode: bool = True) -> Record:
    """The record of a folder, which may be hostile; `bytecode=False` leaves compiled Python unjudged."""
    seen = walk(root, Selection(record=lambda path: not is_bookkeeping(path)), caps)
    entries = [entry for entry in seen.entries if not _is_git_folder(entry)]
    return _record(entries, seen.findings, lambda path: read_beneath(root, path, READ_LIMIT), seen.mtimes, bytecode)


def record_manifest(
    manifest: Manifest,
    read: Reader | None = None,
    *,
    omitted: Iterable[Omission] = (),
    complete: bool = True,
    bytecode: bool = True,
) -> Record:
    """The record of an exported tree. `read` gives a file's bytes; `omitted` and `complete` are the export's own."""
    entries = {
        item.path: Entry.of(item) for item in manifest.values() if item.kind != "f" or not is_bookkeeping(item.path)
    }
    findings = []
    for omission in omitted:
        kind = _SPECIAL.get(omission.reason)
        if kind is None:
            findings.append(Finding(FindingKind.LEFT_OUT, omission.path, omission.reason))
        else:
            entries[omission.path] = Entry(omission.path, kind, 0)
            findings.append(Finding(FindingKind.SPECIAL_FILE, omission.path, f"a {kind}, which was not exported"))
    if not complete and not any(finding.incomplete for finding in findings):
        findings.append(Finding(FindingKind.LEFT_OUT, "", "the export is incomplete"))
    listed = sorted(entries.values(), key=lambda entry: canonical_key(entry.path))
    kept = [entry for entry in listed if not _is_git_folder(entry)]
    return _record(kept, findings, read or _nothing, {}, bytecode and read is not None)


def sign(record: Record, key: dsse.SigningKey, *, subject: str) -> bytes:
    """The signed manifest; `subject` (a task, a trial, a folder) says what of, so that no other can stand in for it."""
    return dsse.sign(encode(record, subject), PAYLOAD_TYPE, key)


def verify(envelope: bytes, key: dsse.PublicKey, *, subject: str | None = None) -> GateVerification:
    """Open a signed manifest; never raises. Nothing of it is parsed before its signature holds."""
    signed = dsse.verify(envelope, key, payload_type=PAYLOAD_TYPE)
    if signed.payload is None:
        return GateVerification(signed.refusal, signed.detail, signed.key_id, signed.envelope_sha256)
    read = parse(signed.payload)
    if read.record is None:
        return GateVerification(read.fault, read.detail, signed.key_id, signed.envelope_sha256, read.subject)
    if subject is not None and read.subject != subject:
        detail = f"this is the manifest of {read.subject!r}, not of {subject!r}"
        return GateVerification("wrong_subject", detail, signed.key_id, signed.envelope_sha256, read.subject)
    return GateVerification(None, signed.detail, signed.key_id, signed.envelope_sha256, read.subject, read.record)


def check(before: Record, now: Record) -> CheckResult:
    """What became of every path between two records."""
    holes_before, holes_now = _holes(before), _holes(now)
    files: list[FileCheck] = []
    for path, old in before.entries.items():
        new = now.entries.get(path)
        if old == new and (old.kind != "file" or old.sha256 is not None):
            files.append(FileCheck(path, Status.INTACT, old, new))
        elif new is None:
            hidden = _covered(path, holes_now)
            status = Status.UNPROVEN if hidden else Status.REMOVED
            files.append(FileCheck(path, status, old, None, "lies where the tree could not be read" if hidden else ""))
        else:
            files.append(FileCheck(path, *_compare(old, new)))
    for path, new in now.entries.items():
        if path not in before.entries:
            hidden = _covered(path, holes_before)
            status = Status.UNPROVEN if hidden else Status.ADDED
            files.append(FileCheck(path, status, None, new, "the record is incomplete here" if hidden else ""))
    if len(files) > len(before.entries):
        files.sort(key=lambda file: canonical_key(file.path))
    known = set(before.findings)
    new_findings = tuple(finding for finding in now.findings if finding not in known)
    return CheckResult(tuple(files), now.findings, new_findings, before.root, now.root)


def render_check(result: CheckResult, *, limit: int = 50) -> str:
    """The result as lines for a terminal: what drifted, the findings, one line of counts; at most `limit` of each."""
    lines = [_line(file) for file in result.drift[:limit]]
    if len(result.drift) > limit:
        lines.append(f"... and {len(result.drift) - limit} more")
    new = set(result.new_findings)
    for finding in result.findings[:limit]:
        mark = "FINDING" if finding in new else "known"
        lines.append(f"{mark:<8} {finding.kind}  {shown(finding.path or '.')}: {shown(finding.detail)}")
    if len(result.findings) > limit:
        lines.append(f"... and {len(result.findings) - limit} more findings")
    counted = ", ".join(f"{result.counts[status]} {status}" for status in Status if result.counts[status])
    lines.append(f"Gate I: {counted or 'nothing recorded, nothing found'}")
    lines.append(
        f"root {result.root_now}" + ("" if result.root_now == result.root_before else f", was {result.root_before}")
    )
    return "\n".join(lines) + "\n"


def _record(
    entries: list[Entry], findings: Iterable[Finding], read: Reader, mtimes: Mapping[str, int], bytecode: bool
) -> Record:
    by_path = {entry.path: entry for entry in entries}

    def proved(path: str) -> bytes | None:
        # The file may have changed since it was hashed: a finding must speak of the bytes in the record.
        data = read(path)
        entry = by_path.get(path)
        same = data is not None and (entry is None or entry.sha256 == hashlib.sha256(data).hexdigest())
        return data if same else None

    found = [*findings, *git_findings(by_path, proved)]
    if bytecode:
        found += bytecode_findings(by_path, proved, mtimes)
    return Record(entries, found, ordered=True)


def _nothing(_path: str) -> None:
    return None


def _is_git_folder(entry: Entry) -> bool:
    return entry.kind == "directory" and bool(git_part(entry.path))


def _compare(old: Entry, new: Entry) -> tuple[Status, Entry, Entry, str]:
    mode = f"mode {old.mode:04o} -> {new.mode:04o}" if old.mode != new.mode else ""
    if old.kind != new.kind:
        return Status.TYPE_CHANGED, old, new, f"{old.kind} -> {new.kind}"
    if old.kind == "file" and (old.sha256 is None or new.sha256 is None):
        return Status.UNPROVEN, old, new, "could not be read " + ("now" if new.sha256 is None else "when recorded")
    if old.sha256 != new.sha256 or old.target != new.target:
        what = f"link {old.target} -> {new.target}" if old.kind == "link" else f"sha256 {old.sha256} -> {new.sha256}"
        return Status.DRIFTED, old, new, f"{what}, {mode}" if mode else what
    return Status.MODE_CHANGED, old, new, mode


def _holes(record: Record) -> tuple[str, ...]:
    return tuple(finding.path for finding in record.findings if finding.incomplete)


def _covered(path: str, holes: tuple[str, ...]) -> bool:
    return any(hole == "" or path == hole or path.startswith(hole + "/") for hole in holes)


_MARKS = {
    Status.DRIFTED: "DRIFT",
    Status.ADDED: "ADDED",
    Status.REMOVED: "REMOVED",
    Status.TYPE_CHANGED: "TYPE",
    Status.MODE_CHANGED: "MODE",
    Status.UNPROVEN: "UNPROVEN",
}


def _line(file: FileCheck) -> str:
    return f"{_MARKS[file.status]:<8} {shown(file.path)}" + (f"  {shown(file.detail)}" if file.detail else "")
