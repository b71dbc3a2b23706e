"""One command that lives in a sandbox, as the guest's frames tell of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import answers
from .errors import WireBroken
from .sandbox import OnEvent, OnOutput, RunResult


class Command:
    """A command that lives in the sandbox, as far as it is known here."""

    def __init__(self, limit: int, on_output: OnOutput | None, on_event: OnEvent | None, *, keep: bool = True) -> None:
        self.started: Mapping[str, Any] = {}
        self.result: RunResult | None = None
        self.streams = {1: bytearray(), 2: bytearray()}
        self._seen = {1: 0, 2: 0}
        self.refused: str | None = None
        self._limit = limit
        self._keep = keep
        self._on_output = on_output
        self._on_event = on_event

    def take(self, header: dict[str, Any], body: bytes) -> None:
        """One event of this command; WireBroken for one that cannot be."""
        kind = header["t"]
        if self.result is not None:
            raise WireBroken("the sandbox reports on a command that has ended")
        gap = answers.Fields(header).count("gap", 0)
        if (kind != "output" or gap) and self._on_event is not None:
            self._on_event(header)
        if kind == "output":
            self._take_output(header.get("s"), body)
        elif kind == "exit":
            self.result = answers.parse_exit(header, {n: bytes(kept) for n, kept in self.streams.items()}, self.started)
        elif kind == "failed":
            self.refused = str(header.get("why"))

    def _take_output(self, stream: object, body: bytes) -> None:
        if stream != 1 and stream != 2:
            raise WireBroken("the sandbox sent output of no stream")
        self._seen[stream] += len(body)
        if self._seen[stream] > self._limit:
            raise WireBroken("the sandbox sent more output than it was asked for")
        if self._keep:
            self.streams[stream] += body
        if self._on_output is not None:
            self._on_output(stream, body)
