"""OpenAI's Responses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import openai

from .asking import SYSTEM, BrokenAnswer, asked
from .loop import Answer, Call, Result
from .tools import TOOLS


class Responses:
    """A conversation as a list of items. Nothing is stored at the provider: all of it is sent each time."""

    def __init__(self, model: str, *, stream: bool = True) -> None:
        self._client = openai.OpenAI()
        self._items: list[Any] = []
        self._request: dict[str, Any] = {"model": model, "input": self._items, "instructions": SYSTEM}
        # A model's reasoning goes back to it, sealed, with the items of its answer.
        self._request |= {"store": False, "include": ["reasoning.encrypted_content"], "stream": stream}
        self._request["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
                "strict": False,
            }
            for tool in TOOLS
        ]

    def say(self, text: str) -> None:
        """Add a message of the user's."""
        self._items.append({"role": "user", "content": text})

    def report(self, results: Sequence[Result]) -> None:
        """Each result is an item."""
        for result in results:
            output = {"type": "function_call_output", "call_id": result.call.call_id, "output": result.text}
            self._items.append(output)

    def answer(self) -> Answer:
        """The next answer, which may hold several items."""
        made = asked(self._ask)
        self._items.extend(item.to_dict() for item in made.output)
        calls = tuple(
            Call(item.call_id, item.name, item.arguments) for item in made.output if item.type == "function_call"
        )
        return Answer(made.output_text, calls)

    def _ask(self) -> Any:
        made: Any = self._client.responses.create(**self._request)
        if self._request["stream"]:
            made = _last(made)
        if made.status == "failed":
            raise BrokenAnswer(made.error.message if made.error else "the answer failed")
        return made


def _last(events: Iterable[Any]) -> Any:
    """The whole answer, which stands in the event that ends a stream."""
    for event in events:
        if event.type in ("response.completed", "response.incomplete", "response.failed"):
            return event.response
    raise BrokenAnswer("the stream ended before the answer did")
