"""Facts of each source, from child processes or from a cache that is keyed by the SHA-256 of the source."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from .children import ChildLimits, Died, ask

MAX_SOURCE = 4 << 20
"""Bytes; a larger source is listed, not parsed."""

_TASK = Path(__file__).with_name("appmap_worker.py")
_CACHE_ENTRIES = 50_000
_CACHE_BYTES = 256 << 20


Kind = Literal["class", "def", "async def"]


class Member(NamedTuple):
    """A public method: `signature` is its parameters and result."""

    kind: Kind
    name: str
    signature: str


class Symbol(NamedTuple):
    """A public class or function at the top level; a class's signature is its bases."""

    kind: Kind
    name: str
    signature: str
    members: tuple[Member, ...]


class Facts(BaseModel):
    """What `appmap_worker.answer` says of one source; nothing but `error` where it did not parse.

    `imports`: of each statement `(dots, module, name)`, the name "" for `import module`. The rows stay plain
    tuples, since a large tree has a hundred thousand of them and few are looked at.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    purpose: str = ""
    symbols: tuple[tuple[Kind, str, str, tuple[tuple[Kind, str, str], ...]], ...] = ()
    topics: tuple[str, ...] = ()
    imports: tuple[tuple[int, str, str], ...] = ()
    main: bool = False
    error: str | None = None


def gather(
    sources: Mapping[str, bytes],
    *,
    cache: Path | None = None,
    workers: int | None = None,
    limits: ChildLimits | None = None,
) -> dict[str, Facts]:
    """The facts of each source by its SHA-256 (the keys of `sources`)."""
    known = _load(cache) if cache else {}
    facts: dict[str, Facts] = {}
    lines: dict[str, bytes] = {}
    for digest in sources:
        line = known.get(digest)
        if line is not None:
            with contextlib.suppress(ValidationError):  # a damaged entry is a miss
                facts[digest] = Facts.model_validate_json(line)
                lines[digest] = line
    missing = [digest for digest in sources if digest not in facts]
    answers = ask(_TASK, [sources[digest] for digest in missing], workers=workers, limits=limits)
    for digest, answer in zip(missing, answers, strict=True):
        if isinstance(answer, Died):
            facts[digest] = Facts(error=f"the parser {answer.reason}")
            continue
        try:
            facts[digest] = Facts.model_validate_json(answer)
            lines[digest] = answer
        except ValidationError:  # only a child that the source has taken over answers like this
            facts[digest] = Facts(error="the parser gave no sensible answer")
    if cache and missing:
        _save(cache, {**{digest: line for digest, line in known.items() if digest not in facts}, **lines})
    return facts


def _tag() -> bytes:
    # Another worker or another grammar gives other facts.
    worker = hashlib.sha256(_TASK.read_bytes()).hexdigest()
    return f"takeover app map cache {worker} python {sys.version_info.major}.{sys.version_info.minor}".encode()


def _load(path: Path) -> dict[str, bytes]:
    try:
        if path.stat().st_size > _CACHE_BYTES:
            return {}
        tag, *lines = path.read_bytes().split(b"\n")
    except OSError:
        return {}
    if tag != _tag():
        return {}
    return {line[:64].decode("ascii", "replace"): line[65:] for line in lines if line}


def _save(path: Path, entries: Mapping[str, bytes]) -> None:
    """Write the newest entries, whole or not at all; a cache that cannot be written only costs time."""
    newest = list(entries.items())[-_CACHE_ENTRIES:]
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                file.write(_tag() + b"\n")
                file.writelines(b"%b %b\n" % (digest.encode(), line) for digest, line in newest)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError:
        return
