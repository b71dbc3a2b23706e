"""Reads an answer as it passes: its text, its calls, its model and its usage; and hides a usage that only we asked for."""

from __future__ import annotations

from typing import Final

from ..transcript.model import Metrics
from ..transcript.report import Tally
from .dialect import AnswerState, Dialect
from .jsontext import parse_loosely
from .routes import Api, Form
from .sse import ArrayParser, Event, SseParser, StreamParser

ANSWER_LIMIT: Final = 64 << 20


class AnswerReader:
    """Reads one answer; `feed` and `end` return the bytes to pass on, which are those that came in.

    With `hide_usage`, the chunk of a Chat stream that reports nothing but usage is left out.
    """

    def __init__(self, dialect: Dialect, form: Form, *, hide_usage: bool = False) -> None:
        self.state = AnswerState()
        self._dialect = dialect
        self._form = form
        self._hide = hide_usage and dialect.api is Api.CHAT and form == "sse"
        self._parser: StreamParser | None = (
            None if form == "json" else ArrayParser() if form == "array" else SseParser()
        )
        self._document = bytearray()
        self._overflow = False

    def feed(self, data: bytes) -> bytes:
        """More of the answer."""
        if self._parser is None:
            self._overflow = self._overflow or len(self._document) + len(data) > ANSWER_LIMIT
            if not self._overflow:
                self._document += data
            return data
        if self._overflow:
            return data
        passed = self._read(self._parser.feed(data))
        if self._parser.overflow:
            self._overflow = True
            passed += self._parser.rest()
        return passed if self._hide else data

    def end(self) -> bytes:
        """The answer has ended."""
        if self._overflow:
            return b""
        if self._parser is not None:
            passed = self._read(self._parser.end())
            return passed if self._hide else b""
        document = parse_loosely(bytes(self._document))
        self._document.clear()
        if isinstance(document, list) and document:
            document = document[-1]
        if isinstance(document, dict):
            self.state.events += 1
            self._dialect.read_document(self.state, document)
        return b""

    def _read(self, events: list[Event]) -> bytes:
        passed = []
        for event in events:
            if event.data is None or self._take(event.data):
                passed.append(event.raw)
        return b"".join(passed)

    def _take(self, data: bytes) -> bool:
        """Take in one event; whether the agent is to see it."""
        state = self.state
        if data.strip() == b"[DONE]":
            state.settle_calls()
            state.complete = state.events > 0
            return True
        value = parse_loosely(data)
        if not isinstance(value, dict):
            return True
        state.events += 1
        self._dialect.read_event(state, value)
        return not (value.get("choices") == [] and isinstance(value.get("usage"), dict))


def measured(dialect: Dialect, state: AnswerState, tally: Tally) -> Metrics | None:
    """What a complete answer used, if the provider says so: both counts, and neither a zero that cannot be."""
    metrics = dialect.metrics(state.usage, tally)
    if metrics is None or not metrics.prompt_tokens or metrics.completion_tokens is None:
        return None
    if metrics.completion_tokens == 0 and (state.said or state.calls):
        return None
    return metrics
