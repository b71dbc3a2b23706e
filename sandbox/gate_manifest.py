"""A record as signed bytes, and back: the one canonical JSON form, and every reason to refuse another.

`parse` takes bytes whose signature has been proved (see gate.py), and still believes nothing: a key that
signs nonsense must not make the grader read or report nonsense.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, StringConstraints, ValidationError

from .gate_model import Entry, Finding, FindingKind, Kind, Record
from .tree import canonical_key

PAYLOAD_TYPE = "application/vnd.takeover.gate+json"
_MODE = re.compile(r"0[0-7]{3}")


class Fault(StrEnum):
    """Why a manifest was not accepted, beyond its signature."""

    MALFORMED = "malformed"
    EXTRA_FIELD = "extra_field"
    UNSAFE_PATH = "unsafe_path"
    DUPLICATE_PATH = "duplicate_path"
    IMPOSSIBLE_TREE = "impossible_tree"
    NOT_CANONICAL = "not_canonical"
    WRONG_ROOT = "wrong_root"


@dataclass(frozen=True, slots=True)
class ParsedManifest:
    """A record with the subject it was made for, or the reason why there is none."""

    record: Record | None
    subject: str
    fault: Fault | None = None
    detail: str = ""


def _text(value: Any) -> str:
    # pydantic's own str refuses lone surrogates, which stand for undecodable bytes in file names.
    if not isinstance(value, str):
        raise ValueError("not a string")  # noqa: TRY004 - pydantic takes no TypeError
    return value


def _mode(value: Any) -> int:
    if not isinstance(value, str) or not _MODE.fullmatch(value):
        raise ValueError("not four octal digits of permissions")
    return int(value, 8)


_Text = Annotated[str, PlainValidator(_text)]
_Mode = Annotated[int, PlainValidator(_mode)]
_Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}\z")]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    path: _Text
    kind: Kind
    mode: _Mode
    size: int = Field(default=0, ge=0, lt=1 << 63)
    sha256: _Digest | None = None
    target: _Text | None = None


class _Finding(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: FindingKind
    path: _Text
    detail: _Text


class _Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    schema_version: Literal[1]
    subject: str
    root: _Digest
    complete: bool
    entries: list[_Entry]
    findings: list[_Finding]


def encode(record: Record, subject: str) -> bytes:
    """The canonical JSON of a record; `subject` says what it is the manifest of, so that no other can stand in."""
    value = {
        "schema_version": 1,
        "subject": subject,
        "root": record.root,
        "complete": record.complete,
        "entries": [_entry(entry) for entry in record.entries.values()],
        "findings": [{"kind": f.kind.value, "path": f.path, "detail": f.detail} for f in record.findings],
    }
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def parse(payload: bytes) -> ParsedManifest:
    """Read a manifest; never raises."""
    try:
        read = _Manifest.model_validate(json.loads(payload))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        fault = Fault.EXTRA_FIELD if first["type"] == "extra_forbidden" else Fault.MALFORMED
        where = ".".join(map(str, first["loc"])) or "manifest"
        return ParsedManifest(None, "", fault, f"{where}: {first['msg']}")
    except (ValueError, RecursionError) as error:
        return ParsedManifest(None, "", Fault.MALFORMED, f"not JSON: {error}")
    tree_fault = _judge_tree(read.entries)
    if tree_fault is not None:
        return ParsedManifest(None, read.subject, *tree_fault)
    record = Record(
        (Entry(e.path, e.kind, e.mode, e.size, e.sha256, e.target) for e in read.entries),
        (Finding(f.kind, f.path, f.detail) for f in read.findings),
        ordered=True,
    )
    if record.root != read.root:
        detail = f"the entries have root {record.root}, the manifest says {read.root}"
        return ParsedManifest(None, read.subject, Fault.WRONG_ROOT, detail)
    if encode(record, read.subject) != payload:
        detail = "the manifest is not in the one form that is written"
        return ParsedManifest(None, read.subject, Fault.NOT_CANONICAL, detail)
    return ParsedManifest(record, read.subject)


def _entry(entry: Entry) -> dict[str, object]:
    value: dict[str, object] = {"path": entry.path, "kind": entry.kind, "mode": f"{entry.mode:04o}"}
    if entry.kind == "file":
        value["size"] = entry.size
    if entry.sha256 is not None:
        value["sha256"] = entry.sha256
    if entry.target is not None:
        value["target"] = entry.target
    return value


def _judge_tree(entries: list[_Entry]) -> tuple[Fault, str] | None:
    seen: dict[str, str] = {"": "directory"}
    previous: tuple[bytes, ...] = ()
    for entry in entries:
        path, kind = entry.path, entry.kind
        try:
            key = canonical_key(path)
        except UnicodeEncodeError:
            return Fault.UNSAFE_PATH, f"{path!r} stands for no bytes"
        if b"" in key or b"." in key or b".." in key or "\0" in path:
            return Fault.UNSAFE_PATH, f"{path!r} does not name something below the root"
        if path in seen:
            return Fault.DUPLICATE_PATH, f"{path!r} is listed twice"
        if key < previous:
            return Fault.NOT_CANONICAL, f"{path!r} is out of order"
        previous, seen[path] = key, kind
        above = seen.get(path.rpartition("/")[0], "directory")
        if above != "directory":
            return Fault.IMPOSSIBLE_TREE, f"{path!r} lies below a {above}"
        if (entry.target is not None) != (kind == "link") or (kind != "file" and (entry.sha256 or entry.size)):
            return Fault.IMPOSSIBLE_TREE, f"{path!r} is a {kind} with the fields of another kind"
    return None
