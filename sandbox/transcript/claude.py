"""What Claude Code's two formats share: messages of the Anthropic API, one API turn often spread over several lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import usage
from .building import Builder, Draft
from .content import text_of
from .node import Node
from .patch import changed_ranges

_API_USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass
class Turns:
    """Turns lines into steps: lines of one `message.id` are one step, whose usage counts once."""

    build: Builder
    drafts: dict[str, Draft] = field(default_factory=dict)
    usages: dict[str, dict[str, Any]] = field(default_factory=dict)
    called: dict[str, tuple[str, Any]] = field(default_factory=dict)

    def assistant(self, message: Node, *, timestamp: str | None, copied: bool = False, **extra: Any) -> None:
        """Take in one line of the agent."""
        message_id = message.at("id").maybe()
        draft = self.drafts.get(message_id) if message_id else None
        if draft is None:
            draft = self.build.step("agent", timestamp=timestamp, copied=copied, **extra)
            model = message.at("model").maybe()
            draft.model = model if model != "<synthetic>" else None
            if message_id:
                self.drafts[message_id] = draft
        self._usage(draft, message, message_id)
        content = message.at("content")
        if isinstance(content.value, str):
            draft.texts.append(content.value)
            return
        for block in content.items():
            self._block(draft, block)

    def _usage(self, draft: Draft, message: Node, message_id: str | None) -> None:
        """The largest of what the lines of one message report: the first often carry only a beginning."""
        node = message.at("usage")
        if not node.dict_or_empty():
            return
        merged = self.usages.setdefault(message_id, {}) if message_id else {}
        for name in _API_USAGE:
            value = node.at(name).value
            before = merged.get(name)
            if value is not None and not (isinstance(before, int) and isinstance(value, int) and before >= value):
                merged[name] = value
        draft.metrics = usage.anthropic(Node(merged, node.place, node.path), self.build.tally)

    def _block(self, draft: Draft, block: Node) -> None:
        kind = block.at("type").maybe()
        tally = self.build.tally
        if kind == "text":
            text = block.at("text").text()
            if text:
                draft.texts.append(text)
        elif kind == "thinking":
            text = block.at("thinking").text_or("")
            if not text:
                tally.drop("hidden_reasoning", "reasoning that the provider kept sealed")
            else:
                draft.reasoning.append(text)
        elif kind == "redacted_thinking":
            tally.drop("hidden_reasoning", "reasoning that the provider kept sealed")
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            self._call(draft, block)
        elif kind is not None and kind.endswith("tool_result"):
            self.result(block, Node(None, block.place))
        else:
            raise block.at("type").fail("must name a block of a message, such as text or tool_use")

    def _call(self, draft: Draft, block: Node) -> None:
        call_id, name = block.at("id").text(), block.at("name").text()
        arguments = block.at("input").mapping() if block.at("input") else {}
        known = call_id in self.build.answered or call_id in draft.calls
        if known and self.called.get(call_id) == (name, arguments):
            self.build.tally.drop("duplicate", "a call written again, as after a compaction")
            return
        self.called[call_id] = (name, arguments)
        self.build.call(draft, call_id, name, arguments)

    def user(self, message: Node, detail: Node, *, timestamp: str | None, copied: bool = False, **extra: Any) -> None:
        """Take in one line of the user: a prompt, or results of calls (`detail` is what Claude Code adds to them)."""
        content = message.at("content")
        if isinstance(content.value, str):
            self.build.step("user", content.value, timestamp=timestamp, copied=copied, **extra)
            return
        rest: list[Any] = []
        for block in content.items():
            if block.at("type").value == "tool_result":
                self.result(block, detail)
            else:
                rest.append(block.value)
        text = text_of(Node(rest, content.place, content.path), self.build.tally)
        if text:
            self.build.step("user", text, timestamp=timestamp, copied=copied, **extra)

    def result(self, block: Node, detail: Node) -> None:
        """Take in one result."""
        call_id = block.at("tool_use_id").maybe()
        text = text_of(block.at("content"), self.build.tally)
        self.build.result(call_id, text, error=block.at("is_error").value is True, **_lines(detail))


def _lines(detail: Node) -> dict[str, Any]:
    """The lines that a Read showed or an Edit changed, which Claude Code tells beside the result."""
    hunks = detail.at("structuredPatch")
    if isinstance(hunks.value, list) and hunks.value:
        ranges: list[list[int]] = []
        for hunk in hunks.items():
            start, lines = hunk.at("newStart").number(), hunk.at("lines").value
            if start is None or not isinstance(lines, list):
                return {}
            texts = [line for line in lines if isinstance(line, str)]
            ranges.extend([first, last] for first, last in changed_ranges(start, texts))
        return {"lines": ranges}
    file = detail.at("file")
    start, count = file.at("startLine").number(), file.at("numLines").number()
    if start is not None and count is not None and 0 < count < 2**31 and 0 <= start < 2**31:
        return {"lines": [[max(start, 1), max(start, 1) + count - 1]]}
    return {}
