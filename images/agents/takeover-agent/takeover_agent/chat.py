"""OpenAI's Chat Completions, which most servers of one's own speak too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import openai

from .asking import SYSTEM, BrokenAnswer, asked
from .loop import Answer, Call, Result
from .tools import TOOLS


class Chat:
    """A conversation as a list of messages, all of which is sent each time."""

    def __init__(self, model: str, *, stream: bool = True) -> None:
        self._client = openai.OpenAI()
        self._messages: list[Any] = [{"role": "system", "content": SYSTEM}]
        self._request: dict[str, Any] = {"model": model, "messages": self._messages, "stream": stream}
        self._request["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in TOOLS
        ]

    def say(self, text: str) -> None:
        """Add a message of the user's."""
        self._messages.append({"role": "user", "content": text})

    def report(self, results: Sequence[Result]) -> None:
        """Each result is a message of the tool's."""
        for result in results:
            message = {"role": "tool", "tool_call_id": result.call.call_id, "content": result.text}
            self._messages.append(message)

    def answer(self) -> Answer:
        """The next answer; what it cost is for the gateway to count, so usage may be missing."""
        message = asked(self._ask)
        self._messages.append(message)
        calls = tuple(
            Call(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls", ())
        )
        return Answer(message["content"] or "", calls)

    def _ask(self) -> dict[str, Any]:
        made: Any = self._client.chat.completions.create(**self._request)
        if self._request["stream"]:
            return _gathered(made)
        if not made.choices:
            raise BrokenAnswer("the answer has no choices")
        message = made.choices[0].message
        calls = [_call(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
        return _message(message.content or "", calls)


def _gathered(chunks: Iterable[Any]) -> dict[str, Any]:
    """The message that the chunks of a stream amount to."""
    text, finished = "", False
    calls: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        for choice in chunk.choices or ():  # the chunk that tells usage has none
            finished = finished or choice.finish_reason is not None
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or ():
                call = calls.setdefault(piece.index, _call("", "", ""))
                call["id"] = piece.id or call["id"]
                if piece.function is not None:
                    call["function"]["name"] += piece.function.name or ""
                    call["function"]["arguments"] += piece.function.arguments or ""
    if not finished:
        raise BrokenAnswer("the stream ended before the answer did")
    return _message(text, [calls[index] for index in sorted(calls)])


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _message(text: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    return {**message, "tool_calls": calls} if calls else message
