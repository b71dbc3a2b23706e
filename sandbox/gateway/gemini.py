"""Google's generateContent, as Gemini CLI speaks it; Google takes each field in two spellings."""

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

_CONFIG: Final = ("generationConfig", "generation_config")
_DECLARED: Final = ("functionDeclarations", "function_declarations")
_COUNTS: Final = {
    "promptTokenCount": "input",
    "candidatesTokenCount": "output",
    "cachedContentTokenCount": "cached",
    "thoughtsTokenCount": "thoughts",
    "toolUsePromptTokenCount": "tool",
}


class Gemini:
    """The dialect of models/M:generateContent and :streamGenerateContent."""

    api = Api.GEMINI
    fields = Fields(
        model=None,
        temperature=(_CONFIG, ("temperature",)),
        top_p=(_CONFIG, ("topP", "top_p")),
        caps=((_CONFIG, ("maxOutputTokens", "max_output_tokens")),),
        choices=(_CONFIG, ("candidateCount", "candidate_count")),
    )

    def streams(self, body: Mapping[str, Any]) -> bool:  # noqa: ARG002  # the path says it
        """Never: the path says it."""
        return False

    def tools(self, body: Mapping[str, Any]) -> list[Tool]:
        """The tools on offer."""
        found = []
        for tool in mappings(body.get("tools")):
            for name, value in tool.items():
                if name not in _DECLARED:
                    found.append(Tool(name, {}, server=True))
                    continue
                for declared in mappings(value):
                    schema = declared.get("parametersJsonSchema") or declared.get("parameters")
                    found.append(Tool(string(declared.get("name")) or "", mapping(schema)))
        return found

    def without_server_tools(self, body: dict[str, Any]) -> None:
        """Keep the functions."""
        given = list(mappings(body.get("tools")))
        kept = [{name: value for name, value in tool.items() if name in _DECLARED} for tool in given]
        if kept != given:
            body["tools"] = [tool for tool in kept if tool]

    def foreign(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Content that is kept by the provider."""
        for name in ("cachedContent", "cached_content"):
            if body.get(name):
                yield name, string(body[name]) or ""

    def items(self, body: Mapping[str, Any]) -> Iterator[Item]:
        """The system instruction and the contents, in order."""
        system = mapping(body.get("systemInstruction") or body.get("system_instruction"))
        if text := text_of(system.get("parts")):
            yield Prompt("system", text, leading=True)
        for content in mappings(body.get("contents")):
            if content.get("role") == "model":
                yield _echo(content)
                continue
            for part in mappings(content.get("parts")):
                answer = mapping(part.get("functionResponse") or part.get("function_response"))
                if answer:
                    yield _result(answer)
                elif text := text_of(part):
                    yield Prompt("user", text)

    def read_event(self, state: AnswerState, event: Mapping[str, Any]) -> None:
        """Take in one piece of a stream, which is built like a whole answer."""
        state.model = string(event.get("modelVersion")) or state.model
        state.answer_id = string(event.get("responseId")) or state.answer_id
        state.add_usage(event.get("usageMetadata"))
        if event.get("error") is not None:
            state.error = string(mapping(event["error"]).get("message")) or "error"
        if reason := string(mapping(event.get("promptFeedback")).get("blockReason")):
            state.finish, state.complete = reason, True
        candidate = next(mappings(event.get("candidates")), {})
        for part in mappings(mapping(candidate.get("content")).get("parts")):
            if part.get("thought") is True:
                state.think(part.get("text"))
            else:
                state.say(part.get("text"))
            state.calls.extend(_call(part))
        if finish := string(candidate.get("finishReason")):
            state.finish, state.complete = finish, True

    def read_document(self, state: AnswerState, document: Mapping[str, Any]) -> None:
        """Take in a whole answer."""
        self.read_event(state, document)

    def metrics(self, usage_: Mapping[str, Any], tally: Tally) -> Metrics | None:
        """Cached input is inside the input, thoughts stand beside the output."""
        counts = {ours: usage_[theirs] for theirs, ours in _COUNTS.items() if usage_.get(theirs) is not None}
        total, prompt = usage_.get("totalTokenCount"), usage_.get("promptTokenCount")
        if "output" not in counts and isinstance(total, int) and isinstance(prompt, int):
            # An answer of thoughts alone has no count of its own.
            other = [counts.get(name, 0) for name in ("thoughts", "tool")]
            counts["output"] = total - prompt - sum(one for one in other if isinstance(one, int))
        return usage.gemini(Node(counts, "usage"), tally)


def _call(part: Mapping[str, Any]) -> Iterator[Call]:
    call = mapping(part.get("functionCall") or part.get("function_call"))
    if call:
        yield Call(string(call.get("id")), string(call.get("name")) or "unknown", dict(mapping(call.get("args"))))


def _echo(content: Mapping[str, Any]) -> Echo:
    parts = list(mappings(content.get("parts")))
    texts = [str(part["text"]) for part in parts if isinstance(part.get("text"), str) and not part.get("thought")]
    return Echo("".join(texts), tuple(call for part in parts for call in _call(part)))


def _result(answer: Mapping[str, Any]) -> ToolResult:
    response = mapping(answer.get("response"))
    found = next((response[name] for name in ("output", "error", "content", "result") if name in response), None)
    text = found if isinstance(found, str) else json.dumps(dict(response), ensure_ascii=False)
    return ToolResult(string(answer.get("id")), text, string(answer.get("name")), is_error="error" in response)
