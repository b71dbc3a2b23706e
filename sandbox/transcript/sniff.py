"""Finds out what a file or folder holds by looking into it; nobody has to say, and a file's name says nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import InputError
from . import (
    atif,
    claude_session,
    claude_stream,
    codex_exec,
    codex_rollout,
    gemini,
    inspect_log,
    mini,
    openhands_calls,
    openhands_events,
    openhands_sdk,
    sweagent,
)
from .model import Transcript
from .reading import DEFAULT_CAPS, MIB, Caps, Input, decode, list_files, open_regular, parse_json, read_bytes
from .report import ImportReport
from .text import printable
from .writer import is_journal_record

Load = Callable[[Input], tuple[Transcript, ImportReport]]
# So many lines at the head of a JSONL file are looked at before it is given up as unknown.
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Format:
    """A format, and how it is known: by a whole document, or by a line of JSONL."""

    name: str
    load: Load
    document: Callable[[object], bool] | None = None
    record: Callable[[object], bool] | None = None


# Ordered: what says its own name comes before what is known by its members.
FORMATS = (
    Format("atif", atif.load, atif.is_document, is_journal_record),
    Format("inspect", inspect_log.load, inspect_log.is_document),
    Format("gemini", gemini.load, gemini.is_document, gemini.is_record),
    Format("openhands-calls", openhands_calls.load, openhands_calls.is_document),
    Format("mini-swe-agent", mini.load, mini.is_document),
    Format("swe-agent", sweagent.load, sweagent.is_document),
    Format("openhands-sdk", openhands_sdk.load, openhands_sdk.is_document, openhands_sdk.is_record),
    Format("openhands-events", openhands_events.load, openhands_events.is_document, openhands_events.is_record),
    Format("codex-rollout", codex_rollout.load, record=codex_rollout.is_record),
    Format("codex-exec", codex_exec.load, record=codex_exec.is_record),
    Format("claude-session", claude_session.load, record=claude_session.is_record),
    Format("claude-stream", claude_stream.load, record=claude_stream.is_record),
)
_KNOWN = "mini-SWE-agent, SWE-agent, OpenHands, Claude Code, Codex CLI, Gemini CLI, Inspect or ATIF"


def import_file(path: Path, *, caps: Caps = DEFAULT_CAPS, item: str | None = None) -> tuple[Transcript, ImportReport]:
    """Read a transcript of any known format. `item` picks one where the file holds several.

    Raises InputError, and nothing else, for whatever cannot be read as one.
    """
    label = printable(str(path))
    try:
        given, load = _known(path, label, caps, item)
        return load(given)
    except (MemoryError, RecursionError):
        raise InputError(f"{label}: is too large or too deep to be read; give a part of it") from None


def _known(path: Path, label: str, caps: Caps, item: str | None) -> tuple[Input, Load]:
    given = Input(path, label, caps, item=item)
    try:
        is_folder = path.is_dir() and not path.is_symlink()
    except (OSError, ValueError) as e:
        raise InputError(f"{label}: is no file name") from e
    if is_folder:
        return _folder(replace(given, shape="folder"))
    with open_regular(path, label) as file:
        start = file.read(4)
        size = os.fstat(file.fileno()).st_size
    if start == b"PK\x03\x04":
        return replace(given, shape="archive"), inspect_log.load
    if start[:2] == b"\x1f\x8b" or start == b"\x28\xb5\x2f\xfd":
        raise InputError(f"{label}: is compressed; decompress it first")
    if not start.strip():
        raise InputError(f"{label}: is empty; give a transcript")
    found = _lines(given)
    if found is None and size <= caps.document:
        found = _document(given)
    if found is None:
        raise InputError(f"{label}: is no transcript of a known format ({_KNOWN})")
    return found


def _folder(given: Input) -> tuple[Input, Load]:
    names = [path.name for path in list_files(given.path, given.label, given.caps)]
    inside = given.path / "events"
    if inside.is_dir() and not inside.is_symlink():
        names += [path.name for path in list_files(inside, given.label, given.caps)]
    if (given.path / "event_cache").is_dir():
        names.append("event_cache")
    if openhands_sdk.is_folder(names):
        return given, openhands_sdk.load
    if openhands_events.is_folder(names):
        return given, openhands_events.load
    calls = list_files(openhands_calls.folder_of(given.path), given.label, given.caps)
    if calls:
        label = f"{given.label}/{printable(calls[0].name)}"
        data = read_bytes(calls[0], label, given.caps.document)
        if openhands_calls.is_document(parse_json(decode(data, label), label, given.caps)):
            return given, openhands_calls.load
    raise InputError(f"{given.label}: is no folder of a known format (OpenHands); give a file")


def _lines(given: Input) -> tuple[Input, Load] | None:
    """The format of a JSONL file: that of the first line that any format knows."""
    for value in _first_values(given):
        for one in FORMATS:
            if one.record is not None and one.record(value):
                return replace(given, shape="lines"), one.load
    return None


def _first_values(given: Input) -> Iterator[object]:
    """The values of the first lines, as long as each line is JSON by itself."""
    with open_regular(given.path, given.label) as file:
        for number in range(1, _LOOKED_AT + 1):
            data = file.readline(min(given.caps.line, 16 * MIB) + 1)
            if not data or (not data.endswith(b"\n") and number > 1):
                return
            if not data.strip():
                continue
            try:
                value = parse_json(decode(data, f"{given.label}:{number}"), f"{given.label}:{number}", given.caps)
            except InputError:
                return
            if not isinstance(value, dict):
                return
            yield value


def _document(given: Input) -> tuple[Input, Load] | None:
    node = given.document()
    for one in FORMATS:
        if one.document is not None and one.document(node.value):
            return replace(given, loaded=node), one.load
    return None
