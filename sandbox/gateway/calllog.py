"""One line of JSON for each attempt, written as it ends: what was asked, what came, what it used."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import IO, Any

from ..errors import StorageError
from .redaction import Redactor


class CallLog:
    """Writes `calls.jsonl`; without a path it only numbers. Several threads may share it."""

    def __init__(self, path: Path | None, redactor: Redactor) -> None:
        self._path = path
        self._redactor = redactor
        self._lock = threading.Lock()
        self._number = 0
        try:
            self._file: IO[bytes] | None = path.open("xb", buffering=0) if path is not None else None
        except OSError as e:
            raise StorageError(f"{path}: cannot be created: {e.strerror}") from e

    def number(self) -> int:
        """The number of a request that begins."""
        with self._lock:
            self._number += 1
            return self._number

    def write(self, record: dict[str, Any]) -> None:
        """Write a record, None left out. Raises StorageError."""
        kept = {key: value for key, value in record.items() if value is not None}
        line = json.dumps(self._redactor.value(kept), ensure_ascii=True).encode("ascii") + b"\n"
        with self._lock:
            if self._file is None:
                return
            try:
                self._file.write(line)
            except OSError as e:
                raise StorageError(f"{self._path}: cannot be written: {e.strerror}") from e

    def close(self) -> None:
        """No record follows."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
