"""Anthropic Messages, as Claude Code speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..transcript import usage
from ..transcript.model import Metrics
from ..transcript.node import Node
from ..transcript.report import Tally
from .dialect import AnswerState, Call, Echo, Fields, Item, Prompt, Tool, ToolResult
from .routes import Api
from .shapes import mapping, mappings, string, text_of

_SERVER: Final = ("web_search_", "web_fetch_", "code_execution_", "mcp_toolset", "advisor_")


class Messages:
    """The dialect of /v1/messages."""

    api = Api.MESSAGES
    fields = Fields(
        model=(("model",),),
        temperature=(("temperature",),),
        top_p=(("top_p",),),
        caps=((("max_tokens",),),),
    )

    def streams(self, body: Mapping[str, Any]) -> bool:
        """Whether the body asks for a stream."""
        return body.get("stream") is True

    def tools(self, body: Mapping[str, Any]) -> list[Tool]:
        """The tools on offer."""
        found = [Tool("mcp_servers", {}, server=True)] if body.get("mcp_servers") else []
        for tool in mappings(body.get("tools")):
            name = string(tool.get("name")) or string(tool.get("type")) or ""
            found.append(Tool(name, mapping(tool.get("input_schema")), server=_is_server(tool)))
        return found

    def without_server_tools(self, body: dict[str, Any]) -> None:
        """Keep the tools that the agent runs."""
        body.pop("mcp_servers", None)
        kept = [tool for tool in body.get("tools") or [] if not _is_server(mapping(tool))]
        if kept != (body.get("tools") or []):
            body["tools"] = kept

    def foreign(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """A container of the provider's."""
        container = body.get("container")
        name = string(container) or string(mapping(container).get("id"))
        if name:
            yield "container", name

    def items(self, body: Mapping[str, Any]) -> Iterator[Item]:
        """The system prompt and the messages, in order; results of tools are blocks of a user's message."""
        if system := text_of(body.get("system")):
            yield Prompt("system", system, leading=True)
        for message in mappings(body.get("messages")):
            content = message.get("content")
            if message.get("role") == "assistant":
                yield _echo(content)
            elif isinstance(content, str):
                yield Prompt("system" if message.get("role") == "system" else "user", content)
            else:
                yield from _user_blocks(message)

    def read_event(self, state: AnswerState, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        kind = event.get("type")
        if kind == "message_start":
            self._head(state, mapping(event.get("message")))
        elif kind == "content_block_start":
            block = mapping(event.get("content_block"))
            state.say(block.get("text"))
            state.think(block.get("thinking"))
            if block.get("type") == "tool_use":
                # Some servers send the whole input at once.
                pieces = [json.dumps(block["input"])] if block.get("input") else []
                name = string(block.get("name")) or "unknown"
                state.growing[_index(event)] = (string(block.get("id")), name, pieces)
        elif kind == "content_block_delta":
            self._delta(state, event)
        elif kind == "content_block_stop":
            grown = state.growing.pop(_index(event), None)
            if grown is not None:
                state.calls.append(Call(grown[0], grown[1], "".join(grown[2])))
        elif kind == "message_delta":
            state.finish = string(mapping(event.get("delta")).get("stop_reason")) or state.finish
            state.add_usage(event.get("usage"))
        elif kind == "message_stop":
            state.complete = True
        elif kind == "error":
            error = mapping(event.get("error"))
            state.error = string(error.get("message")) or string(error.get("type")) or "error"

    def read_document(self, state: AnswerState, document: Mapping[str, Any]) -> None:
        """Take in a whole answer, or a count of tokens."""
        self._head(state, document)
        for block in mappings(document.get("content")):
            state.say(block.get("text"))
            state.think(block.get("thinking"))
            state.calls.extend(_call(block))
        state.finish = string(document.get("stop_reason"))
        state.complete = document.get("type") == "message"

    def metrics(self, usage_: Mapping[str, Any], tally: Tally) -> Metrics | None:
        """What was read from and written to the cache stands beside the input."""
        return usage.anthropic(Node(dict(usage_), "usage"), tally)

    def _head(self, state: AnswerState, message: Mapping[str, Any]) -> None:
        state.model = string(message.get("model")) or state.model
        state.answer_id = string(message.get("id")) or state.answer_id
        state.add_usage(message.get("usage"))

    def _delta(self, state: AnswerState, event: Mapping[str, Any]) -> None:
        delta = mapping(event.get("delta"))
        state.say(delta.get("text"))
        state.think(delta.get("thinking"))
        piece = delta.get("partial_json")
        grown = state.growing.get(_index(event))
        if grown is not None and isinstance(piece, str):
            grown[2].append(piece)


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0


def _is_server(tool: Mapping[str, Any]) -> bool:
    return (string(tool.get("type")) or "").startswith(_SERVER)


def _call(block: Mapping[str, Any]) -> Iterator[Call]:
    if block.get("type") == "tool_use":
        yield Call(string(block.get("id")), string(block.get("name")) or "unknown", block.get("input"))


def _echo(content: object) -> Echo:
    if isinstance(content, str):
        return Echo(content)
    texts: list[str] = []
    calls: list[Call] = []
    for block in mappings(content):
        if block.get("type") == "text":
            texts.append(text_of(block))
        calls.extend(_call(block))
    return Echo("\n".join(texts), tuple(calls))


def _user_blocks(message: Mapping[str, Any]) -> Iterator[Item]:
    source = "system" if message.get("role") == "system" else "user"
    for block in mappings(message.get("content")):
        if (string(block.get("type")) or "").endswith("tool_result"):
            error = block.get("is_error") is True
            yield ToolResult(string(block.get("tool_use_id")), text_of(block.get("content")), is_error=error)
        elif text := text_of(block):
            yield Prompt(source, text)  # type: ignore[arg-type]
