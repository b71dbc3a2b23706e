"""Codex CLI's rollout file: items of the Responses API with the time of each, and events that mostly repeat them.

A turn of the model ends where its usage was told (`token_count`) or where a result of one of its calls arrived.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import InputError
from . import usage
from .building import Builder, Draft
from .chat import prompt_step, response_item
from .content import text_of
from .model import Transcript
from .node import Node
from .reading import Input, parse_json
from .report import ImportReport

_TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "web_search_call"}
# A fork writes what it takes over in one go; what comes later than this is its own.
_FORK_SECONDS = 2.0


def is_record(record: object) -> bool:
    """Whether a line is a record of a rollout."""
    return isinstance(record, dict) and record.get("type") in _TYPES and isinstance(record.get("payload"), dict)


@dataclass
class _Rollout:
    build: Builder
    turn: Draft | None = None
    told: Draft | None = None
    total: Any = None
    forked: datetime | None = None

    def take(self, record: Node) -> None:
        kind, payload = record.at("type").maybe(), record.at("payload")
        stamp = record.at("timestamp").maybe()
        if kind == "session_meta":
            self.meta(payload, stamp)
        elif kind == "turn_context":
            self.build.model = payload.at("model").maybe() or self.build.model
            self.build.cwd = self.build.cwd or payload.at("cwd").maybe()
        elif kind == "response_item":
            self.item(payload, stamp)
        elif kind == "event_msg":
            self.event(payload)
        elif kind == "compacted":
            self.turn = None
            self.build.tally.drop(
                "compaction", "the agent went on from a summary; what it summarised stays in the transcript"
            )
            self.build.step("user", payload.at("message").text_or(""), timestamp=stamp, copied=True)
        else:
            self.build.tally.drop("event", "a record that is no message")

    def meta(self, payload: Node, stamp: str | None) -> None:
        if self.build.session_id is not None:
            return
        self.build.session_id = payload.at("id").maybe() or payload.at("session_id").maybe()
        self.build.cwd = payload.at("cwd").maybe()
        self.build.version = self.build.agent_version = payload.at("cli_version").maybe()
        if payload.at("forked_from_id").maybe():
            self.forked = _when(stamp)
            self.build.tally.warn(f"{payload.place}: a fork; what it took over is told by the time it was written")

    def item(self, item: Node, stamp: str | None) -> None:
        kind = item.at("type").maybe()
        if kind == "message" and item.at("role").value != "assistant":
            self.turn = None
            prompt_step(self.build, item, stamp, copied=self.is_copied(stamp))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self.output(item)
        elif kind in ("message", "reasoning", *_CALLS):
            if self.turn is None or (self.turn.results and kind != "web_search_call"):
                self.turn = self.build.step("agent", timestamp=stamp, copied=self.is_copied(stamp))
                self.turn.model = self.build.model
                self.told = self.turn
            response_item(self.build, self.turn, item)
        else:
            response_item(self.build, self.turn or Draft("agent"), item)

    def output(self, item: Node) -> None:
        text, code = _output(item.at("output"), self.build)
        success = item.at("output").at("success").value
        self.build.result(item.at("call_id").maybe(), text, error=success is False, returncode=code)

    def event(self, payload: Node) -> None:
        kind = payload.at("type").maybe()
        if kind == "token_count":
            self.tokens(payload.at("info"))
        elif kind == "turn_aborted":
            self.build.extra["turn_aborted"] = payload.at("reason").maybe() or "unknown"
        else:
            self.build.tally.drop("event", "an event, which repeats an item or tells of the program")

    def tokens(self, info: Node) -> None:
        """The usage of the answer before it; the same totals told again are no new answer."""
        total = info.at("total_token_usage").value
        if not info or (total is not None and total == self.total):
            return
        self.total = total
        made = usage.codex(info.at("last_token_usage"), self.build.tally)
        if made is not None and self.told is not None and self.told.metrics is None:
            self.told.metrics = made
        elif made is not None:
            self.build.tally.drop("usage", "usage that belongs to no answer of this file")
        self.turn = None

    def is_copied(self, stamp: str | None) -> bool:
        when = _when(stamp)
        if self.forked is None or when is None:
            return False
        return abs((when - self.forked).total_seconds()) <= _FORK_SECONDS


def load(given: Input) -> tuple[Transcript, ImportReport]:
    """Import one rollout."""
    build = Builder(given.label, "codex-rollout", given.caps, "codex")
    rollout = _Rollout(build)
    for line in given.lines():
        if line.torn:
            build.tally.drop("torn_line", "a last line that ends in the middle")
            break
        line.node.mapping()
        rollout.take(line.node)
    return build.finish()


def _output(node: Node, build: Builder) -> tuple[str, int | None]:
    """The text of an output and the exit code; Codex once wrapped both as JSON text."""
    if isinstance(node.value, str) and node.value.startswith('{"'):
        try:
            value = parse_json(node.value, node.place, build.caps)
        except InputError:
            return node.value, None
        wrapped = Node(value, node.place, node.path)
        if isinstance(wrapped.at("output").value, str):
            return wrapped.at("output").text(), wrapped.at("metadata").at("exit_code").number()
        return node.value, None
    if isinstance(node.value, dict):
        inner = node.at("content") if node.at("content") else node.at("output")
        return (text_of(inner, build.tally) if inner else json.dumps(node.value)), None
    return text_of(node, build.tally), None


def _when(stamp: str | None) -> datetime | None:
    """A time with a zone, so that two can be compared."""
    try:
        when = datetime.fromisoformat(stamp or "")
    except ValueError:
        return None
    return when if when.tzinfo is not None else None
