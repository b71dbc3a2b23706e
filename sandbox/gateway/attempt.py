"""One attempt at an answer: sent, and read up to where it is known whether it is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from .asking import Asking
from .exchange import Headers
from .metering import ANSWER_LIMIT, AnswerReader
from .routes import Form
from .upstream import Answer, Unreached, Upstream, UpstreamCall

# Statuses at which trying again may help.
TRANSIENT: Final = frozenset([408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529])
# An event that is not complete after so many bytes is not waited for.
_FIRST_EVENT: Final = 1 << 20
_ERROR_LIMIT: Final = 1 << 20
# Money is not a matter of trying again.
_SPENT: Final = (b"insufficient_quota", b"billing_hard_limit", b"credit balance is too low")


@dataclass
class Attempt:
    """What came of a call. `held` are the bytes for the agent that were read already.

    `trouble` says why it is no answer; `transient` whether another attempt may give one; `billed` whether the
    provider may charge for it all the same.
    """

    reader: AnswerReader
    form: Form
    begun: float
    answer: Answer | None = None
    status: int | None = None
    headers: Headers = ()
    held: list[bytes] = field(default_factory=list)
    chunks: Iterator[bytes] = field(default_factory=lambda: iter(()))
    ended: bool = False
    trouble: str | None = None
    transient: bool = False
    billed: bool = False
    quota: bool = False
    cut: bool = False

    @property
    def is_success(self) -> bool:
        """Whether the provider said that an answer follows."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def whole(self) -> bool:
        """Whether the answer came to its end, with nothing wrong in it."""
        state = self.reader.state
        return self.is_success and self.ended and self.trouble is None and state.complete and state.error is None

    def break_off(self, why: str, *, transient: bool = True, cut: bool = False) -> None:
        """The answer does not come to its end; `cut` if that shows in the connection, not in what it said."""
        self.ended, self.trouble, self.transient, self.cut = True, self.trouble or why, transient, cut

    def abort(self) -> None:
        """Make who waits for more of it wait no longer; another thread may call it."""
        if self.answer is not None and not self.ended:
            self.answer.abort()

    def close(self) -> None:
        """Let go of the connection."""
        if self.answer is not None:
            self.answer.close()


def begin(upstream: Upstream, call: UpstreamCall, asking: Asking, begun: float, *, hide_usage: bool) -> Attempt:
    """Send a call and read its answer up to the first event, or all of it where it is one document.

    Raises ModelUnavailable and UnknownRequest.
    """
    attempt = Attempt(AnswerReader(asking.dialect, call.form, hide_usage=hide_usage), call.form, begun)
    try:
        attempt.answer = upstream.send(call)
    except Unreached as e:
        attempt.break_off(str(e))
        attempt.billed = e.sent
        return attempt
    attempt.status, attempt.headers = attempt.answer.status, attempt.answer.headers
    if not attempt.is_success:
        _read_error(attempt)
        return attempt
    attempt.billed = asking.generates
    if call.form != "json" and _is_json(attempt.headers):
        # Some servers stream only when they like.
        attempt.form = "json"
        attempt.reader = AnswerReader(asking.dialect, "json")
    attempt.chunks = attempt.answer.chunks()
    if attempt.form == "json":
        read_on(attempt, lambda: False)
        state = attempt.reader.state
        if asking.generates and not state.complete and state.error is None:
            attempt.break_off("the answer is none that this API gives", cut=attempt.cut)
    else:
        read_on(attempt, lambda: _is_known(attempt))
    return attempt


def read_on(attempt: Attempt, enough: Callable[[], bool]) -> None:
    """Read and hold the answer until it is enough or has ended."""
    size = 0
    while not attempt.ended and not enough():
        data = next_chunk(attempt)
        size += len(data)
        if data:
            attempt.held.append(data)
        if size > ANSWER_LIMIT:
            attempt.break_off(f"the answer is larger than {ANSWER_LIMIT} bytes", transient=False, cut=True)


def next_chunk(attempt: Attempt) -> bytes:
    """The next bytes for the agent; `attempt.ended` says when there are no more."""
    try:
        chunk = next(attempt.chunks, None)
    except Unreached as e:
        attempt.break_off(str(e), cut=True)
        return b""
    if chunk is not None:
        return attempt.reader.feed(chunk)
    attempt.ended = True
    last = attempt.reader.end()
    state = attempt.reader.state
    if attempt.form != "json" and not state.complete and state.error is None:
        attempt.break_off("the stream ended before the answer did" if state.events else "the stream held no event")
    return last


def _is_known(attempt: Attempt) -> bool:
    """Whether it can be told if this becomes an answer, and from which model."""
    state = attempt.reader.state
    return state.events > 0 or state.error is not None or sum(map(len, attempt.held)) > _FIRST_EVENT


def _read_error(attempt: Attempt) -> None:
    assert attempt.answer is not None
    body = b""
    try:
        for chunk in attempt.answer.chunks():
            body += chunk
            if len(body) > _ERROR_LIMIT:
                body = body[:_ERROR_LIMIT]
                break
    except Unreached:
        pass  # The status says enough.
    attempt.held = [body]
    attempt.ended = True
    attempt.quota = attempt.status in (400, 402, 403, 429) and any(mark in body for mark in _SPENT)
    attempt.trouble = f"status {attempt.status}"
    attempt.transient = attempt.status in TRANSIENT and not attempt.quota


def _is_json(headers: Headers) -> bool:
    kind = next((value for name, value in headers if name == "content-type"), "")
    return kind.partition(";")[0].strip().lower() == "application/json"
