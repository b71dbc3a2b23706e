"""What `codex exec --json` prints: items as they begin and end. Where one turn of the model ends is not told,
so every item is a step of its own, and the usage of a turn stands on the turn's last step.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from . import usage
from .building import Builder, Draft
from .model import Metrics, Transcript
from .node import Node
from .reading import Input
from .report import ImportReport

_FAILED = ("failed", "declined")


def is_record(record: object) -> bool:
    """Whether a line is a record of the stream."""
    return isinstance(record, dict) and str(record.get("type", "")).startswith(("thread.", "turn.", "item."))


@dataclass
class _Stream:
    build: Builder
    reasoning: list[str] = field(default_factory=list)
    begun: dict[str, Node] = field(default_factory=dict)
    latest: Draft | None = None
    before: Metrics | None = None

    def take(self, record: Node) -> None:
        kind = record.at("type").maybe()
        if kind == "thread.started":
            self.build.session_id = record.at("thread_id").maybe()
        elif kind in ("item.started", "item.updated"):
            name = record.at("item").at("id").maybe()
            if name and len(self.begun) < self.build.caps.steps:
                self.begun[name] = record.at("item")
        elif kind == "item.completed":
            self.begun.pop(record.at("item").at("id").maybe() or "", None)
            self.item(record.at("item"))
        elif kind == "turn.completed":
            self.usage(record.at("usage"))
        elif kind in ("turn.failed", "error"):
            error = record.at("error") if kind == "turn.failed" else record
            self.build.extra["error"] = error.at("message").maybe() or "unknown"
        elif kind != "turn.started":
            self.build.tally.drop("event", "a record that is no message")

    def item(self, item: Node, *, done: bool = True) -> None:
        kind = item.at("type").maybe() or item.at("item_type").maybe()
        if kind == "reasoning":
            self.reasoning.append(item.at("text").text_or(""))
            return
        text = item.at("text").text_or("") if kind in ("agent_message", "assistant_message", "plan") else ""
        draft = self.latest = self.build.step("agent", text)
        draft.reasoning.extend(part for part in self.reasoning if part)
        self.reasoning.clear()
        if text or kind in ("agent_message", "assistant_message", "plan"):
            return
        arguments, answer = _call(item, kind)
        call_id = self.build.call(draft, item.at("id").maybe(), kind or "unknown", arguments)
        if done:
            failed = item.at("status").value in _FAILED
            code = item.at("exit_code").number()
            self.build.result(call_id, answer, error=failed and code is None, returncode=code)

    def usage(self, node: Node) -> None:
        """Codex tells the usage of the thread so far: a turn's own is the difference."""
        now = usage.codex(node, self.build.tally)
        if now is None:
            return
        if self.latest is not None and self.latest.metrics is None:
            self.latest.metrics = usage.difference(now, self.before)
            self.latest.extra["metrics_cover"] = "turn"
        else:
            self.build.tally.drop("usage", "usage that belongs to no item of this file")
        self.before = now


def load(given: Input) -> tuple[Transcript, ImportReport]:
    """Import one stream."""
    build = Builder(given.label, "codex-exec", given.caps, "codex")
    build.tally.warn(f"{given.label}: the stream does not hold the prompt")
    stream = _Stream(build)
    for line in given.lines():
        if line.torn:
            build.tally.drop("torn_line", "a last line that ends in the middle")
            break
        line.node.mapping()
        stream.take(line.node)
    for begun in stream.begun.values():
        # Begun and never ended: the session was cut off in the middle of it.
        stream.item(begun, done=False)
    if stream.reasoning:
        build.step("agent").reasoning.extend(stream.reasoning)
    return build.finish()


def _call(item: Node, kind: str | None) -> tuple[dict[str, Any], str]:
    if kind == "command_execution":
        return {"command": item.at("command").text_or("")}, item.at("aggregated_output").text_or("")
    if kind == "file_change":
        return {"changes": item.at("changes").value or []}, item.at("status").maybe() or ""
    if kind == "mcp_tool_call":
        answer = item.at("result").value if item.at("result") else item.at("error").value
        arguments = {name: item.at(name).value for name in ("server", "tool", "arguments") if item.at(name)}
        return arguments, json.dumps(answer, ensure_ascii=False) if answer is not None else ""
    skipped = ("id", "type", "item_type", "status")
    return {name: value for name, value in item.dict_or_empty().items() if name not in skipped}, ""
