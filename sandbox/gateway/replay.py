"""Plays a cassette: each request gets the answer that was recorded for it, byte for byte and chunk by chunk."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from .cassette import Asked, Cassette, Replied, asked_of, text_of
from .exchange import Headers
from .nearest import nearest
from .redaction import Redactor, Secret
from .upstream import LEFT, Answer, UnknownRequest, Unreached, UpstreamCall
from .volatile import Volatile, stable


class Replaying:
    """A supply that plays a cassette; it needs no key and no network. Raises InputError if the file is no cassette."""

    def __init__(self, path: Path, redactor: Redactor | None = None) -> None:
        self._cassette = Cassette(path)
        # What was taken out of a recording must be taken out of what is asked, or the two never match.
        self._redactor = redactor or Redactor()

    def upstream(self, scope: str, volatile: Volatile) -> Player:
        """The session of this name from its beginning."""
        return Player(self._cassette, scope, volatile, self._redactor)

    def secrets(self) -> list[Secret]:
        """None."""
        return []

    def close(self) -> None:
        """Let go of the cassette."""
        self._cassette.close()


class Player:
    """One session played: of requests that are the same, each gets the next answer."""

    paced = False

    def __init__(self, cassette: Cassette, scope: str, volatile: Volatile, redactor: Redactor) -> None:
        self._cassette = cassette
        self._scope = scope
        self._volatile = volatile
        self._redactor = redactor
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._waiting: dict[str, deque[int]] = {}
        self._count: dict[str, int] = {}
        for number, record in enumerate(cassette.records(scope)):
            key = self._key(record.asked)
            self._waiting.setdefault(key, deque()).append(number)
            self._count[key] = self._count.get(key, 0) + 1

    def send(self, call: UpstreamCall) -> Answer:
        """The answer of the cassette. Raises UnknownRequest, or Unreached where the recorded call was."""
        asked = self._plain(asked_of(call))
        key = self._key(asked)
        with self._lock:
            waiting = self._waiting.get(key)
            number = waiting.popleft() if waiting else None
        if number is None:
            raise self._unknown(asked, key)
        replied = self._cassette.record(self._scope, number).replied
        if replied.status is None:
            if replied.end == LEFT:
                self._ended.wait(call.seconds)
            raise Unreached(replied.end)
        return _Played(replied, replied.status, call.seconds)

    def end(self) -> None:
        """See Upstream.end."""
        self._ended.set()

    def close(self) -> None:
        """See Upstream.close."""

    def _plain(self, asked: Asked) -> Asked:
        return Asked(asked.api, asked.operation, asked.target, asked.form, self._redactor.value(asked.document))

    def _stable(self, asked: Asked) -> Asked:
        document = stable(asked.document, self._volatile)
        return Asked(asked.api, asked.operation, asked.target, asked.form, document)

    def _key(self, asked: Asked) -> str:
        return hashlib.sha256(text_of(self._stable(asked)).encode("ascii")).hexdigest()

    def _unknown(self, asked: Asked, key: str) -> UnknownRequest:
        place = f"{self._cassette.path}"
        if self._scope not in self._cassette.scopes:
            known = ", ".join(self._cassette.scopes[:5]) or "none"
            return UnknownRequest(
                f"{place}: knows no session {self._scope}; it has: {known}",
                hint="Run the same tasks, arms, agents and repetitions as in the recording.",
            )
        if key in self._count:
            return UnknownRequest(
                f"{place}: {self._scope} asked the same request once more than the {self._count[key]} times recorded"
            )
        others = (self._stable(record.asked) for record in self._cassette.records(self._scope))
        found = nearest(self._stable(asked), others)
        if found is None:
            return UnknownRequest(f"{place}: {self._scope} recorded no request at all")
        return UnknownRequest(
            f"{place}: does not know this request of {self._scope}; nearest is number {found.number}: {found.difference}",
            hint="If that changes from run to run, declare it as volatile in the agent's recipe; else record anew.",
        )


class _Played:
    """An answer that went on when the agent had gone does so again, until it is broken off."""

    def __init__(self, replied: Replied, status: int, seconds: float) -> None:
        self.status = status
        self.headers: Headers = replied.headers
        self._replied = replied
        self._seconds = seconds
        self._aborted = threading.Event()

    def chunks(self) -> Iterator[bytes]:
        yield from self._replied.chunks
        if self._replied.end == LEFT:
            self._aborted.wait(self._seconds)
        if self._replied.end != "complete":
            raise Unreached(self._replied.end)

    def abort(self) -> None:
        self._aborted.set()

    def close(self) -> None:
        pass
