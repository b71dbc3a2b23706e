"""Reading files that strangers wrote: bounded in size, depth and number of parts; never a pipe, never through a link.

Nothing here evaluates, unpickles or imports anything; what does not fit raises InputError with file, line and field.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from ..errors import InputError
from .node import Node
from .text import has_surrogates, one_line, printable, without_surrogates

MIB = 1024 * 1024
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class Caps:
    """How much of an input is read before it is refused; sizes in bytes."""

    document: int = 256 * MIB
    stream: int = 1024 * MIB
    line: int = 64 * MIB
    parts: int = 20_000_000
    depth: int = 128
    steps: int = 100_000
    files: int = 50_000
    members: int = 20_000
    directory: int = 16 * MIB
    ratio: int = 500


DEFAULT_CAPS = Caps()


class _NotANumber:
    """Stands where NaN or Infinity was read, until it is found and refused with its path."""


def open_regular(path: Path, label: str) -> BinaryIO:
    """Open a regular file for reading, never following a link in its last component, never waiting for a pipe."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as e:
        if e.errno == errno.ELOOP:
            raise InputError(f"{label}: is a symbolic link; name the file it points to") from e
        raise InputError(f"{label}: cannot be opened: {e.strerror}") from e
    except ValueError as e:
        raise InputError(f"{label}: is no file name") from e
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise InputError(f"{label}: is not a regular file; give a file or a folder of files")
    return os.fdopen(fd, "rb")


def read_bytes(path: Path, label: str, limit: int) -> bytes:
    """All bytes of a regular file; raises InputError above the limit."""
    with open_regular(path, label) as file:
        try:
            data = file.read(limit + 1)
        except OSError as e:
            raise InputError(f"{label}: cannot be read: {e.strerror}") from e
    if len(data) > limit:
        raise InputError(f"{label}: is larger than {limit:,} bytes; raise the cap or give a part of it")
    return data


def parse_document(data: bytes, label: str, caps: Caps) -> Node:
    """The one JSON value that the bytes hold."""
    return Node(parse_json(decode(data, label), label, caps), label)


def decode(data: bytes, place: str) -> str:
    """UTF-8 as text, a byte order mark left out; raises InputError naming the line of the first wrong byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise InputError(f"{place}: byte {e.start} (line {line}) is not UTF-8; convert the file to UTF-8") from e


def parse_json(text: str, place: str, caps: Caps) -> Any:
    """Parse JSON as it comes from a stranger.

    Refuses what JSON does not have (NaN, Infinity), numbers beyond a double, an object with the same key twice,
    and more depth or more parts than the caps allow. Lone surrogates become U+FFFD.
    """
    parts = text.count(",") + text.count("[") + text.count("{")
    if parts > caps.parts:
        raise InputError(f"{place}: has more than {caps.parts:,} parts; raise the cap or give a part of it")
    odd: list[str] = []

    def constant(name: str) -> _NotANumber:
        odd.append(name)
        return _NotANumber()

    def real(digits: str) -> float | _NotANumber:
        value = float(digits)
        return value if value not in (float("inf"), float("-inf")) else constant(digits)

    try:
        value = json.loads(text, parse_constant=constant, parse_float=real, object_pairs_hook=_unique)
    except json.JSONDecodeError as e:
        raise InputError(f"{place}: not JSON: {e.msg} (line {e.lineno}, column {e.colno})") from e
    except _RepeatedKey as e:
        raise InputError(f"{place}: an object has the key {one_line(e.key, 60)!r} twice; keep one") from None
    except RecursionError:
        raise InputError(f"{place}: is nested deeper than {caps.depth} levels; flatten it") from None
    except ValueError as e:
        raise InputError(f"{place}: not JSON: a number has too many digits") from e
    escaped = _SURROGATE_ESCAPE.search(text) is not None
    if odd or escaped or text.count("[") + text.count("{") > caps.depth:
        value = _checked(value, place, caps.depth, escaped)
    return value


class _RepeatedKey(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        raise _RepeatedKey(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return made


class _Spot:
    """A container on the way from the root: enough to say its path when something in it is wrong."""

    __slots__ = ("key", "level", "up", "value")

    def __init__(self, value: Any, key: str, up: _Spot | None) -> None:
        self.value = value
        self.key = key
        self.up = up
        self.level: int = 0 if up is None else up.level + 1

    def path(self) -> str:
        keys: list[str] = []
        spot: _Spot | None = self
        while spot is not None:
            keys.append(spot.key)
            spot = spot.up
        return "".join(reversed(keys))


def _checked(root: Any, place: str, depth: int, escaped: bool) -> Any:
    """Walk the value without recursion: depth, numbers that are none, surrogates (replaced in place)."""
    holder: list[Any] = [root]
    stack = [_Spot(holder, "$", None)]
    while stack:
        spot = stack.pop()
        if spot.level > depth + 1:
            raise InputError(f"{place}: {one_line(spot.path(), 200)}: is nested deeper than {depth} levels; flatten it")
        box = spot.value
        if escaped and isinstance(box, dict) and any(has_surrogates(name) for name in box):
            cleaned = {without_surrogates(name): item for name, item in box.items()}
            box.clear()
            box.update(cleaned)
        for key, value in list(box.items()) if isinstance(box, dict) else enumerate(box):
            if isinstance(value, str):
                if escaped and has_surrogates(value):
                    box[key] = without_surrogates(value)
            elif isinstance(value, dict | list):
                stack.append(_Spot(value, _step(key, spot), spot))
            elif isinstance(value, _NotANumber):
                path = one_line(spot.path() + _step(key, spot), 200)
                raise InputError(f"{place}: {path}: is NaN or infinite, which JSON does not have; leave it out")
    return holder[0]


def _step(key: str | int, spot: _Spot) -> str:
    if spot.up is None:
        return ""
    return f".{key}" if isinstance(key, str) else f"[{key}]"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a JSONL file; `torn` says that the file ends in the middle of it."""

    node: Node
    torn: bool = False


def read_lines(path: Path, label: str, caps: Caps) -> Iterator[Line]:
    """The records of a JSONL file, one in memory at a time.

    A last line without its end that does not parse is what a killed writer leaves: it comes out as `torn`.
    Raises InputError for any other line that is not JSON.
    """
    total = 0
    with open_regular(path, label) as file:
        for number in range(1, 2**62):
            place = f"{label}:{number}"
            try:
                data = file.readline(caps.line + 1)
            except OSError as e:
                raise InputError(f"{place}: cannot be read: {e.strerror}") from e
            if not data:
                return
            total += len(data)
            if len(data) > caps.line:
                raise InputError(f"{place}: is longer than {caps.line:,} bytes; raise the cap or cut the line")
            if total > caps.stream:
                raise InputError(f"{place}: the file is larger than {caps.stream:,} bytes; raise the cap or split it")
            if not data.strip():
                continue
            try:
                value = parse_json(decode(data, place), place, caps)
            except InputError:
                if data.endswith(b"\n") or number == 1:
                    raise
                yield Line(Node(None, place), torn=True)
                return
            yield Line(Node(value, place))


def list_files(folder: Path, label: str, caps: Caps, suffix: str = ".json") -> list[Path]:
    """The files directly in a folder whose names end with the suffix, sorted by name; links are left alone."""
    found: list[Path] = []
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries, start=1):
                if count > caps.files:
                    raise InputError(
                        f"{label}: holds more than {caps.files:,} files; raise the cap or give a part of it"
                    )
                if entry.name.endswith(suffix) and entry.is_file(follow_symlinks=False):
                    found.append(folder / entry.name)
    except OSError as e:
        raise InputError(f"{label}: cannot be listed: {e.strerror}") from e
    return sorted(found, key=lambda path: path.name)


@dataclass(frozen=True, slots=True)
class Input:
    """A file or a folder to import, and how much of it may be read."""

    path: Path
    label: str
    caps: Caps
    shape: Literal["document", "lines", "archive", "folder"] = "document"
    # Which one is meant, where a file holds several.
    item: str | None = None
    # The document, once it was read to find out what it is.
    loaded: Node | None = None

    def document(self) -> Node:
        """The file as one JSON value."""
        if self.loaded is not None:
            return self.loaded
        return parse_document(read_bytes(self.path, self.label, self.caps.document), self.label, self.caps)

    def lines(self) -> Iterator[Line]:
        """The file as JSONL."""
        return read_lines(self.path, self.label, self.caps)

    def documents(self, paths: list[Path]) -> Iterator[Node]:
        """Each of these files of the folder as one JSON value, one at a time, all of them within the cap on streams."""
        total = 0
        for path in paths:
            label = f"{self.label}/{printable(path.name)}"
            data = read_bytes(path, label, self.caps.document)
            total += len(data)
            if total > self.caps.stream:
                raise InputError(f"{label}: the folder is larger than {self.caps.stream:,} bytes; raise the cap")
            yield parse_document(data, label, self.caps)
