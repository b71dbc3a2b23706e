"""Records what another upstream answers, while it answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .cassette import CassetteWriter, Record, Replied, asked_of
from .exchange import Headers
from .redaction import Secret
from .upstream import LEFT, Answer, Supply, Unreached, Upstream, UpstreamCall
from .volatile import Volatile

_BROKEN: Final = "broken off"


class Recording:
    """A supply whose sessions are recorded."""

    def __init__(self, inner: Supply, writer: CassetteWriter) -> None:
        self._inner = inner
        self._writer = writer

    def upstream(self, scope: str, volatile: Volatile) -> Upstream:
        """The inner upstream, recorded under the session's name."""
        self._writer.begin(scope)
        return RecordingUpstream(self._inner.upstream(scope, volatile), self._writer, scope)

    def secrets(self) -> list[Secret]:
        """The keys of the inner supply."""
        return self._inner.secrets()

    def close(self) -> None:
        """Finish the cassette."""
        self._writer.close()
        self._inner.close()


class RecordingUpstream:
    """One session, recorded."""

    def __init__(self, inner: Upstream, writer: CassetteWriter, scope: str) -> None:
        self.paced = inner.paced
        self._inner = inner
        self._writer = writer
        self._scope = scope

    def send(self, call: UpstreamCall) -> Answer:
        """Send a call and write down what comes of it."""
        try:
            answer = self._inner.send(call)
        except Unreached as e:
            self._writer.add(Record(self._scope, asked_of(call), Replied(None, end=str(e))))
            raise
        return _RecordedAnswer(answer, call, self._writer, self._scope)

    def end(self) -> None:
        """See Upstream.end."""
        self._inner.end()

    def close(self) -> None:
        """See Upstream.close."""
        self._inner.close()


class _RecordedAnswer:
    def __init__(self, inner: Answer, call: UpstreamCall, writer: CassetteWriter, scope: str) -> None:
        self.status = inner.status
        self.headers: Headers = inner.headers
        self._inner = inner
        self._call = call
        self._writer = writer
        self._scope = scope
        self._chunks: list[bytes] = []
        self._end = LEFT
        self._open, self._aborted = True, False

    def chunks(self) -> Iterator[bytes]:
        try:
            for chunk in self._inner.chunks():
                self._chunks.append(chunk)
                yield chunk
            self._end = "complete"
        except Unreached as e:
            # Not the provider's doing if it was we who broke it off.
            self._end = LEFT if self._aborted else str(e) or _BROKEN
            raise

    def abort(self) -> None:
        self._aborted = True
        self._inner.abort()

    def close(self) -> None:
        self._inner.close()
        if self._open:
            self._open = False
            replied = Replied(self.status, self.headers, tuple(self._chunks), self._end)
            self._writer.add(Record(self._scope, asked_of(self._call), replied))
