"""A cassette: every answer of a run, as it came, chunk by chunk, beside the request that it answered.

JSON, one record a line, compressed where the name ends in `.zst`. It is written as the run goes on, so a run that is
killed leaves a cassette of all it had; the reader takes a torn end for the end.

    {"cassette": 1}
    {"begin": "task.arm.agent.1/1-session"}        what an earlier attempt of that session recorded does not count
    {"scope": ..., "request": {...}, "response": {"status": 200, "headers": [...], "chunks": [...], "end": "complete"}}
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import zstandard

from ..errors import InputError, StorageError
from .exchange import Headers
from .jsontext import canonical
from .redaction import Redactor
from .upstream import UpstreamCall

VERSION: Final = 1
_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_TOTAL_LIMIT: Final = 16 << 30
_LINE_LIMIT: Final = 512 << 20
# Small, for what is torn takes the whole piece with it in which it is.
_CHUNK: Final = 4 << 10


@dataclass(frozen=True, slots=True)
class Asked:
    """The request of a record: which operation, at which path, in which form, and the agent's document."""

    api: str
    operation: str
    target: str
    form: str
    document: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Replied:
    """The answer of a record. `end` is `complete`, or how it broke off; without a status nothing came at all."""

    status: int | None
    headers: Headers = ()
    chunks: tuple[bytes, ...] = field(default=(), repr=False)
    end: str = "complete"


@dataclass(frozen=True, slots=True)
class Record:
    """One call of one session."""

    scope: str
    asked: Asked
    replied: Replied


def asked_of(call: UpstreamCall) -> Asked:
    """What of a call is matched."""
    route = call.route
    return Asked(route.api.value, route.operation.value, route.target, call.form, call.document)


class CassetteWriter:
    """Appends records; several sessions may share it. Raises StorageError if the disk refuses."""

    def __init__(self, path: Path, redactor: Redactor, *, append: bool = False) -> None:
        self.path = path
        self._redactor = redactor
        self._lock = threading.Lock()
        if append and path.exists():
            _without_torn_end(path)
        elif path.exists():
            raise InputError(f"--record {path}: exists already", hint="Name another file, or --replay it.")
        try:
            self._file: IO[bytes] | None = path.open("ab")
        except OSError as e:
            raise StorageError(f"{path}: cannot be written: {e.strerror}") from e
        self._pack = zstandard.ZstdCompressor(level=6).compressobj() if path.suffix == ".zst" else None
        if self._file.tell() == 0:
            self._write({"cassette": VERSION})

    def begin(self, scope: str) -> None:
        """A session begins; what was recorded of it before is of an attempt that does not count."""
        self._write({"begin": scope})

    def add(self, record: Record) -> None:
        """Write a record; it is on disk when the call returns."""
        self._write(_to_json(record, self._redactor))

    def close(self) -> None:
        """No record follows."""
        with self._lock:
            if self._file is not None:
                if self._pack is not None:
                    self._file.write(self._pack.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH))
                self._file.close()
                self._file = None

    def _write(self, value: Any) -> None:
        line = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
        with self._lock:
            if self._file is None:
                return
            try:
                if self._pack is not None:
                    line = self._pack.compress(line) + self._pack.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
                self._file.write(line)
                self._file.flush()
            except OSError as e:
                raise StorageError(f"{self.path}: cannot be written: {e.strerror}") from e


class Cassette:
    """A cassette that is read: where the records of each session are. Memory does not grow with its size."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Unpacked once beside, for zstandard cannot seek.
        self._plain = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()
        self._places: dict[str, list[tuple[int, int]]] = {}
        self._lock = threading.Lock()
        try:
            self._index(path)
        except BaseException:
            self._plain.close()
            raise

    @property
    def scopes(self) -> tuple[str, ...]:
        """The sessions that it knows."""
        return tuple(self._places)

    def records(self, scope: str) -> Iterator[Record]:
        """The records of a session, in the order in which they were written."""
        for number in range(len(self._places.get(scope, ()))):
            yield self.record(scope, number)

    def record(self, scope: str, number: int) -> Record:
        """One record of a session."""
        offset, size = self._places[scope][number]
        with self._lock:
            self._plain.seek(offset)
            line = self._plain.read(size)
        return _from_json(json.loads(line), f"{self.path}: record {number + 1} of {scope}")

    def close(self) -> None:
        """Let go of it."""
        self._plain.close()

    def _index(self, path: Path) -> None:
        offset = 0
        for number, line in enumerate(_lines(path), start=1):
            place = f"{path}:{number}"
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as e:
                if not line.endswith(b"\n"):
                    return
                raise InputError(f"{place}: is no record of a cassette") from e
            if number == 1:
                if not isinstance(value, dict) or value.get("cassette") != VERSION:
                    raise InputError(f"{path}: is no cassette of version {VERSION}", hint="Make one with --record.")
            elif not isinstance(value, dict):
                raise InputError(f"{place}: is no record of a cassette")
            elif isinstance(value.get("begin"), str):
                self._places[value["begin"]] = []
            else:
                record = _from_json(value, place)
                self._plain.write(line)
                self._places.setdefault(record.scope, []).append((offset, len(line)))
                offset += len(line)


def must_be_cassette(path: Path) -> None:
    """Look at how a file begins. Raises InputError if it is no cassette; what follows is another matter."""
    for line in _lines(path):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(line)
            if isinstance(value, dict) and value.get("cassette") == VERSION:
                return
        break
    raise InputError(f"{path}: is no cassette of version {VERSION}", hint="Make one with --record.")


def _lines(path: Path) -> Iterator[bytes]:
    """The lines, unpacked where they are packed; what is torn ends them."""
    left, total = b"", 0
    try:
        with path.open("rb") as file:
            packed = file.read(4) == _MAGIC
            file.seek(0)
            for data in _unpack(file) if packed else iter(lambda: file.read(_CHUNK), b""):
                total += len(data)
                *whole, left = (left + data).split(b"\n")
                if len(left) > _LINE_LIMIT or total > _TOTAL_LIMIT:
                    raise InputError(f"{path}: is larger than a cassette can be")
                yield from (line + b"\n" for line in whole)
    except OSError as e:
        raise InputError(f"--replay {path}: cannot be read: {e.strerror}") from e
    if left:
        yield left


def _unpack(file: IO[bytes]) -> Iterator[bytes]:
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    while data := file.read(_CHUNK):
        while data:
            try:
                yield unpacker.decompress(data)
            except zstandard.ZstdError:
                return
            data = unpacker.unused_data
            if data:
                unpacker = zstandard.ZstdDecompressor().decompressobj()


def _without_torn_end(path: Path) -> None:
    """Write a cassette anew up to its last whole record, so that more can follow."""
    packed = path.suffix == ".zst"
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            pack = zstandard.ZstdCompressor(level=6).compressobj() if packed else None
            for line in _lines(path):
                if line.endswith(b"\n"):
                    file.write(pack.compress(line) if pack else line)
            if pack:
                file.write(pack.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as e:
        raise StorageError(f"{path}: cannot be written: {e.strerror}") from e
    finally:
        temporary.unlink(missing_ok=True)


def _to_json(record: Record, redactor: Redactor) -> dict[str, Any]:
    asked, replied = record.asked, record.replied
    return {
        "scope": record.scope,
        "request": {
            "api": asked.api,
            "operation": asked.operation,
            "target": asked.target,
            "form": asked.form,
            "document": redactor.value(asked.document),
        },
        "response": {
            "status": replied.status,
            "headers": redactor.value(replied.headers),
            "chunks": [_packed(chunk) for chunk in redactor.chunks(list(replied.chunks))],
            "end": redactor.text(replied.end),
        },
    }


def _from_json(value: Any, place: str) -> Record:
    try:
        request, response = value["request"], value["response"]
        api, operation, target, form = (str(request[name]) for name in ("api", "operation", "target", "form"))
        asked = Asked(api, operation, target, form, request["document"])
        headers = tuple((str(name), str(one)) for name, one in response["headers"])
        chunks = tuple(_unpacked(chunk) for chunk in response["chunks"])
        status = response["status"]
        if not isinstance(asked.document, dict) or not (status is None or isinstance(status, int)):
            raise TypeError
        return Record(str(value["scope"]), asked, Replied(status, headers, chunks, str(response["end"])))
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        raise InputError(f"{place}: is no record of a cassette") from e


def _packed(chunk: bytes) -> str | dict[str, str]:
    try:
        return chunk.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(chunk).decode()}


def _unpacked(chunk: Any) -> bytes:
    return chunk.encode() if isinstance(chunk, str) else base64.b64decode(chunk["base64"], validate=True)


def text_of(asked: Asked) -> str:
    """A request as one text, for comparing."""
    return canonical([asked.api, asked.operation, asked.target, asked.form, asked.document])
