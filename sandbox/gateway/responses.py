"""OpenAI Responses, as Codex speaks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..transcript import usage
from ..transcript.model import Metrics
from ..transcript.node import Node
from ..transcript.report import Tally
from .dialect import AnswerState, Call, Echo, Fields, Item, Prompt, Tool, ToolResult
from .routes import Api
from .shapes import mapping, mappings, string, text_of

# Tools that the agent itself runs. Of all others the provider does, over a network that the sandbox has not.
_LOCAL: Final = ("function", "custom", "local_shell", "shell", "apply_patch", "namespace", "computer", "tool_search")
_LAST: Final = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}


class Responses:
    """The dialect of /v1/responses."""

    api = Api.RESPONSES
    fields = Fields(
        model=(("model",),),
        temperature=(("temperature",),),
        top_p=(("top_p",),),
        caps=((("max_output_tokens",),),),
    )

    def streams(self, body: Mapping[str, Any]) -> bool:
        """Whether the body asks for a stream."""
        return body.get("stream") is True

    def tools(self, body: Mapping[str, Any]) -> list[Tool]:
        """The tools on offer; those of a namespace among them."""
        found = []
        for tool in mappings(body.get("tools")):
            kind = string(tool.get("type")) or ""
            if kind == "namespace":
                found += [_tool(inner) for inner in mappings(tool.get("tools"))]
            elif kind in _LOCAL or kind.startswith("computer"):
                found.append(_tool(tool))
            else:
                found.append(Tool(kind, {}, server=True))
        return found

    def without_server_tools(self, body: dict[str, Any]) -> None:
        """Keep the tools that the agent runs."""
        kept = [tool for tool in body.get("tools") or [] if mapping(tool).get("type") in _LOCAL]
        if kept != body.get("tools"):
            body["tools"] = kept

    def foreign(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Conversations, answers and prompts that are kept by the provider."""
        for name in ("previous_response_id", "conversation", "prompt"):
            value = body.get(name)
            if value is not None:
                yield name, string(value) or string(mapping(value).get("id")) or ""
        if body.get("background") is True:
            # It would go on, and cost, where nobody counts.
            yield "background", ""

    def items(self, body: Mapping[str, Any]) -> Iterator[Item]:
        """Instructions and input, in order; reasoning is sealed and left out."""
        if instructions := string(body.get("instructions")):
            yield Prompt("system", instructions, leading=True)
        given = body.get("input")
        if isinstance(given, str):
            yield Prompt("user", given)
        leading = True
        for item in mappings(given):
            kind = string(item.get("type")) or "message"
            if kind == "message":
                role, text = item.get("role"), text_of(item.get("content"))
                if role in ("system", "developer"):
                    yield Prompt("system", text, leading)
                    continue
                yield Echo(text) if role == "assistant" else Prompt("user", text)
            elif kind.endswith("_output"):
                yield ToolResult(string(item.get("call_id")), text_of(item.get("output")))
            elif kind.endswith("_call"):
                yield Echo("", tuple(_call(item)))
            leading = False

    def read_event(self, state: AnswerState, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        kind = string(event.get("type")) or ""
        if kind == "response.output_text.delta" or kind == "response.refusal.delta":
            state.say(event.get("delta"))
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            state.think(event.get("delta"))
        elif kind == "response.output_item.done":
            state.calls.extend(_call(mapping(event.get("item"))))
        elif kind == "error":
            state.error = string(event.get("message")) or text_of(mapping(event.get("error")).get("message")) or "error"
        if "response" in event:
            self._head(state, mapping(event["response"]))
        if kind in _LAST:
            state.finish = state.finish or _LAST[kind]
            state.complete = kind != "response.failed"

    def read_document(self, state: AnswerState, document: Mapping[str, Any]) -> None:
        """Take in a whole answer."""
        self._head(state, document)
        for item in mappings(document.get("output")):
            if item.get("type") == "message":
                state.say(text_of(item.get("content")))
            elif item.get("type") == "reasoning":
                state.think(text_of(item.get("summary")))
            state.calls.extend(_call(item))
        state.finish = state.finish or string(document.get("status"))
        state.complete = document.get("status") in ("completed", "incomplete")

    def metrics(self, usage_: Mapping[str, Any], tally: Tally) -> Metrics | None:
        """Cached input is inside the input."""
        return usage.openai(Node(dict(usage_), "usage"), tally)

    def _head(self, state: AnswerState, response: Mapping[str, Any]) -> None:
        state.model = string(response.get("model")) or state.model
        state.answer_id = string(response.get("id")) or state.answer_id
        state.add_usage(response.get("usage"))
        if reason := string(mapping(response.get("incomplete_details")).get("reason")):
            state.finish = reason
        if response.get("error") is not None:
            state.error = text_of(mapping(response["error"]).get("message")) or "error"


def _tool(tool: Mapping[str, Any]) -> Tool:
    return Tool(string(tool.get("name")) or string(tool.get("type")) or "", mapping(tool.get("parameters")))


def _call(item: Mapping[str, Any]) -> Iterator[Call]:
    kind = item.get("type")
    call_id = string(item.get("call_id")) or string(item.get("id"))
    if kind == "function_call":
        yield Call(call_id, string(item.get("name")) or "unknown", item.get("arguments"))
    elif kind == "custom_tool_call":
        yield Call(call_id, string(item.get("name")) or "unknown", {"input": item.get("input")})
    elif kind in ("local_shell_call", "shell_call"):
        yield Call(call_id, "local_shell", dict(mapping(item.get("action"))))
