"""Anthropic's Messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anthropic

from .asking import SYSTEM, BrokenAnswer, asked
from .loop import Answer, Call, Result
from .tools import TOOLS

# This API wants to be told how long an answer may be; a run's own cap goes before it.
LONGEST_ANSWER = 16_000


class Messages:
    """A conversation as a list of messages, all of which is sent each time."""

    def __init__(self, model: str, *, stream: bool = True) -> None:
        self._client = anthropic.Anthropic()
        self._stream = stream
        self._messages: list[Any] = []
        self._request: dict[str, Any] = {"model": model, "max_tokens": LONGEST_ANSWER, "system": SYSTEM}
        self._request["messages"] = self._messages
        self._request["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in TOOLS
        ]

    def say(self, text: str) -> None:
        """Add a message of the user's."""
        self._messages.append({"role": "user", "content": text})

    def report(self, results: Sequence[Result]) -> None:
        """All results are blocks of one message."""
        blocks = [
            {
                "type": "tool_result",
                "tool_use_id": result.call.call_id,
                "content": result.text,
                "is_error": result.is_error,
            }
            for result in results
        ]
        self._messages.append({"role": "user", "content": blocks})

    def answer(self) -> Answer:
        """The next answer; thinking goes back as it came, or the provider would not take it."""
        made = asked(self._ask)
        if made.content:
            self._messages.append({"role": "assistant", "content": [block.to_dict() for block in made.content]})
        texts = [block.text for block in made.content if block.type == "text"]
        calls = [Call(use.id, use.name, json.dumps(use.input)) for use in made.content if use.type == "tool_use"]
        if made.stop_reason == "max_tokens" and made.content[-1:] and made.content[-1].type == "tool_use":
            # Half a call, which the package has mended: as it came it is no JSON, and the model is told so.
            calls[-1] = replace(calls[-1], arguments=calls[-1].arguments[:-1])
        return Answer("\n".join(texts), tuple(calls))

    def _ask(self) -> Any:
        if not self._stream:
            return self._client.messages.create(**self._request)
        try:
            with self._client.messages.stream(**self._request) as stream:
                made = stream.get_final_message()
        except ValueError as error:  # arguments that are no JSON
            raise BrokenAnswer(str(error)) from error
        if made.stop_reason is None:
            raise BrokenAnswer("the stream ended before the answer did")
        return made
