"""Compiled Python in a workspace: does Python run it in place of the source, and is it the source's code?

A `.pyc` whose header names the time and size of its source is run without the source being read, whatever code
it holds; so is one with an unchecked hash. The header alone therefore proves nothing, and the code is compared too.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from .children import ChildLimits, Died, ask
from .gate_model import Entry, Finding, FindingKind

Reader = Callable[[str], bytes | None]

_TASK = Path(__file__).with_name("gate_bytecode_worker.py")
_CACHED = re.compile(r"(?P<stem>.+?)\.(?P<tag>[^.]+)(?:\.opt-(?P<opt>[^.]+))?\.pyc")
_TAG = re.compile(r"cpython-3\d+")
_MASK = 0xFFFFFFFF


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    same: bool
    detail: str


@dataclass(frozen=True, slots=True)
class _Live:
    """A `.pyc` that Python would run unread, whose code this Python can compare."""

    path: str
    optimize: int
    code: bytes
    source: bytes


def bytecode_findings(entries: Mapping[str, Entry], read: Reader, mtimes: Mapping[str, int]) -> Iterator[Finding]:
    """Findings on every `.pyc`; `mtimes` (seconds) decides where the header names a time, if it is known."""
    live: list[_Live] = []
    for path, entry in entries.items():
        if path.endswith(".pyc") and entry.kind == "file":
            judged = _judge(path, entries, read, mtimes)
            if isinstance(judged, Finding):
                yield judged
            elif judged is not None:
                live.append(judged)
    questions = [b"%d %d\n%b%b" % (pyc.optimize, len(pyc.code), pyc.code, pyc.source) for pyc in live]
    for pyc, answer in zip(live, ask(_TASK, questions, limits=ChildLimits(output=1 << 24)), strict=True):
        if isinstance(answer, Died):
            yield Finding(
                FindingKind.BYTECODE_UNPROVEN, pyc.path, f"its code could not be compared: it {answer.reason}"
            )
            continue
        try:
            verdict = _Answer.model_validate_json(answer)
        except ValidationError:
            verdict = _Answer(same=False, detail="it broke the process that compared it")
        if not verdict.same:
            yield Finding(FindingKind.BYTECODE_FORGED, pyc.path, f"Python runs this unread, and {verdict.detail}")


def source_of(path: str) -> str | None:
    """The source that a `.pyc` path belongs to, by Python's own rules; None for a name Python never looks for."""
    folder, _, name = path.rpartition("/")
    above, _, last = folder.rpartition("/")
    if last == "__pycache__":
        match = _CACHED.fullmatch(name)
        return f"{above}/{match['stem']}.py".lstrip("/") if match else None
    return path[:-1]


def _judge(path: str, entries: Mapping[str, Entry], read: Reader, mtimes: Mapping[str, int]) -> Finding | _Live | None:
    def find(kind: FindingKind, detail: str) -> Finding:
        return Finding(kind, path, detail)

    source_path = source_of(path)
    if source_path is None:
        return None
    source_entry = entries.get(source_path)
    if "__pycache__/" not in path:
        if source_entry is None:
            return find(FindingKind.BYTECODE_ORPHAN, "Python imports this module, and there is no source of it")
        return None
    if source_entry is None or source_entry.kind == "directory":
        return find(FindingKind.BYTECODE_STALE, "its source is gone; Python ignores it")
    code, source = read(path), read(source_path)
    if code is None or source is None:
        return find(FindingKind.BYTECODE_UNPROVEN, "it or its source could not be read")
    if len(code) < 16:
        return find(FindingKind.BYTECODE_STALE, "shorter than a header; Python ignores it")
    magic, flags = code[:4], int.from_bytes(code[4:8], "little")
    same_python = magic == importlib.util.MAGIC_NUMBER
    if flags == 0:
        time, size = int.from_bytes(code[8:12], "little"), int.from_bytes(code[12:16], "little")
        if size != len(source) & _MASK or time != mtimes.get(source_path, time) & _MASK:
            return find(FindingKind.BYTECODE_STALE, "made from a source of another time or size; Python ignores it")
    elif same_python and code[8:16] != importlib.util.source_hash(source):
        if flags == 1:
            return find(FindingKind.BYTECODE_FORGED, "Python runs this unread, and it names the hash of another source")
        return find(FindingKind.BYTECODE_STALE, "made from a source of another hash; Python ignores it")
    match = _CACHED.fullmatch(path.rpartition("/")[2])
    assert match is not None
    optimize = match["opt"] or "0"
    if not same_python or not _TAG.fullmatch(match["tag"]) or optimize not in "012":
        return find(FindingKind.BYTECODE_UNPROVEN, "written by another Python or by a tool; its code was not compared")
    return _Live(path, int(optimize), code[16:], source)
