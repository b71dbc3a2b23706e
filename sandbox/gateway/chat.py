"""OpenAI Chat Completions, as OpenAI and everything that copies it speak it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..transcript import usage
from ..transcript.model import Metrics
from ..transcript.node import Node
from ..transcript.report import Tally
from .dialect import AnswerState, Call, Echo, Fields, Item, Prompt, Tool, ToolResult
from .routes import Api
from .shapes import mapping, mappings, string, text_of


class Chat:
    """The dialect of /v1/chat/completions."""

    api = Api.CHAT
    fields = Fields(
        model=(("model",),),
        temperature=(("temperature",),),
        top_p=(("top_p",),),
        caps=((("max_completion_tokens",),), (("max_tokens",),)),
        choices=(("n",),),
    )

    def streams(self, body: Mapping[str, Any]) -> bool:
        """Whether the body asks for a stream."""
        return body.get("stream") is True

    def tools(self, body: Mapping[str, Any]) -> list[Tool]:
        """The tools on offer; `functions` is their old name."""
        found = [Tool("web_search_options", {}, server=True)] if body.get("web_search_options") is not None else []
        for tool in mappings(body.get("tools")):
            function = mapping(tool.get("function")) or mapping(tool.get("custom"))
            found.append(Tool(string(function.get("name")) or "", mapping(function.get("parameters"))))
        for function in mappings(body.get("functions")):
            found.append(Tool(string(function.get("name")) or "", mapping(function.get("parameters"))))
        return found

    def without_server_tools(self, body: dict[str, Any]) -> None:
        """A search is the one thing that this API runs by itself."""
        body.pop("web_search_options", None)

    def foreign(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:  # noqa: ARG002  # nothing can be
        """Nothing: the whole conversation is in each request."""
        yield from ()

    def items(self, body: Mapping[str, Any]) -> Iterator[Item]:
        """The messages of the request, in order."""
        leading = True
        for message in mappings(body.get("messages")):
            role, text = message.get("role"), text_of(message.get("content"))
            if role in ("system", "developer"):
                yield Prompt("system", text, leading)
                continue
            leading = False
            if role == "assistant":
                yield Echo(text, tuple(_calls(message)))
            elif role in ("tool", "function"):
                yield ToolResult(string(message.get("tool_call_id")), text, string(message.get("name")))
            else:
                yield Prompt("user", text)

    def read_event(self, state: AnswerState, event: Mapping[str, Any]) -> None:
        """Take in one chunk."""
        self._head(state, event)
        for choice in mappings(event.get("choices")):
            if choice.get("index") not in (0, None):
                continue
            delta = mapping(choice.get("delta"))
            state.say(delta.get("content"))
            state.say(delta.get("refusal"))
            state.think(delta.get("reasoning_content") or delta.get("reasoning"))
            for piece in mappings(delta.get("tool_calls")):
                _grow(state, piece)
            if finish := string(choice.get("finish_reason")):
                state.finish, state.complete = finish, True
                state.settle_calls()

    def read_document(self, state: AnswerState, document: Mapping[str, Any]) -> None:
        """Take in a whole answer."""
        self._head(state, document)
        choice = next(mappings(document.get("choices")), {})
        message = mapping(choice.get("message"))
        state.say(text_of(message.get("content")))
        state.think(message.get("reasoning_content") or message.get("reasoning"))
        state.calls.extend(_calls(message))
        state.finish = string(choice.get("finish_reason"))
        state.complete = bool(choice)

    def metrics(self, usage_: Mapping[str, Any], tally: Tally) -> Metrics | None:
        """Cached input is inside the input."""
        return usage.openai(Node(dict(usage_), "usage"), tally)

    def _head(self, state: AnswerState, document: Mapping[str, Any]) -> None:
        state.model = string(document.get("model")) or state.model
        state.answer_id = string(document.get("id")) or state.answer_id
        state.add_usage(document.get("usage"))
        if document.get("error") is not None:
            state.error = text_of(mapping(document["error"]).get("message")) or text_of(document["error"]) or "error"


def _calls(message: Mapping[str, Any]) -> Iterator[Call]:
    for call in mappings(message.get("tool_calls")):
        function = mapping(call.get("function")) or mapping(call.get("custom"))
        arguments = function.get("arguments", function.get("input"))
        yield Call(string(call.get("id")), string(function.get("name")) or "unknown", arguments)
    old = mapping(message.get("function_call"))
    if old:
        yield Call(None, string(old.get("name")) or "unknown", old.get("arguments"))


def _grow(state: AnswerState, piece: Mapping[str, Any]) -> None:
    function = mapping(piece.get("function"))
    # Some servers leave the index out and send each call whole.
    index = piece.get("index")
    key = index if isinstance(index, int) else string(piece.get("id")) or len(state.growing)
    call_id, name, pieces = state.growing.get(key, (None, "", []))
    call_id = call_id or string(piece.get("id"))
    name = name or string(function.get("name")) or ""
    if isinstance(function.get("arguments"), str):
        pieces.append(function["arguments"])
    state.growing[key] = (call_id, name, pieces)
