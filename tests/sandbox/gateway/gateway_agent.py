"""A small agent for each wire format: it keeps its history as that format's agents do, and runs nothing."""

from __future__ import annotations

import json
from typing import Any

from gateway_kit import Response, body_of, path_of, post

from takeover.sandbox.gateway.exchange import HttpRequest
from takeover.sandbox.gateway.routes import Api

NAMES = {Api.CHAT: "messages", Api.RESPONSES: "input", Api.MESSAGES: "messages", Api.GEMINI: "contents"}


class HistoryAgent:
    """Sends its whole history each time."""

    def __init__(
        self, api: Api, prompt: str = "Do it.", *, stream: bool = False, system: str = "You are an agent."
    ) -> None:
        self.api = api
        self.stream = stream
        self.body = body_of(api, prompt, system, ["bash"], stream, "m-1")

    @property
    def history(self) -> list[Any]:
        return self.body[NAMES[self.api]]

    def request(self) -> HttpRequest:
        """The next request."""
        return post(path_of(self.api, stream=self.stream), self.body)

    def take(self, response: Response, result: str = "ok") -> None:
        """Add the answer to the history, and a result for each call in it."""
        answer = assembled(self.api, response) if self.stream else response.json()
        getattr(self, f"_{self.api.value}")(answer, result)

    def say(self, text: str) -> None:
        """One more message of the user's."""
        if self.api is Api.GEMINI:
            self.history.append({"role": "user", "parts": [{"text": text}]})
        elif self.api is Api.RESPONSES:
            self.history.append({"role": "user", "content": [{"type": "input_text", "text": text}]})
        else:
            self.history.append({"role": "user", "content": text})

    def _chat(self, answer: Any, result: str) -> None:
        message = answer["choices"][0]["message"]
        self.history.append(message)
        for call in message.get("tool_calls", []):
            self.history.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    def _responses(self, answer: Any, result: str) -> None:
        for item in answer["output"]:
            self.history.append(item)
            if item["type"] == "function_call":
                self.history.append({"type": "function_call_output", "call_id": item["call_id"], "output": result})

    def _messages(self, answer: Any, result: str) -> None:
        self.history.append({"role": "assistant", "content": answer["content"]})
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": [{"type": "text", "text": result}]}
            for block in answer["content"]
            if block["type"] == "tool_use"
        ]
        if results:
            self.history.append({"role": "user", "content": results})

    def _gemini(self, answer: Any, result: str) -> None:
        content = answer["candidates"][0]["content"]
        self.history.append(content)
        results = [
            {"functionResponse": {"name": part["functionCall"]["name"], "response": {"output": result}}}
            for part in content["parts"]
            if "functionCall" in part
        ]
        if results:
            self.history.append({"role": "user", "parts": results})


def assembled(api: Api, response: Response) -> Any:
    """The whole answer that a stream amounts to, as far as these tests need it."""
    lines = [line[6:] for line in response.body.decode().splitlines() if line.startswith("data: {")]
    events = [json.loads(line) for line in lines]
    if api is Api.RESPONSES:
        return events[-1]["response"]
    if api is Api.GEMINI:
        parts = [part for event in events for part in event["candidates"][0]["content"]["parts"]]
        return {"candidates": [{"content": {"role": "model", "parts": parts}}]}
    if api is Api.CHAT:
        return {"choices": [{"message": _chat_message(events)}]}
    return {"content": _blocks(events)}


def _chat_message(events: list[Any]) -> dict[str, Any]:
    text, calls = "", {}
    for event in events:
        for choice in event["choices"]:
            text += choice["delta"].get("content") or ""
            for piece in choice["delta"].get("tool_calls", []):
                call = calls.setdefault(piece["index"], {"type": "function", "function": {"arguments": ""}})
                call["id"] = piece.get("id", call.get("id"))
                call["function"]["name"] = piece["function"].get("name", call["function"].get("name"))
                call["function"]["arguments"] += piece["function"].get("arguments", "")
    made: dict[str, Any] = {"role": "assistant", "content": text or None}
    return made | ({"tool_calls": list(calls.values())} if calls else {})


def _blocks(events: list[Any]) -> list[Any]:
    blocks: list[Any] = []
    for event in events:
        if event["type"] == "content_block_start":
            blocks.append({**event["content_block"], "_json": ""})
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            for name in ("text", "thinking", "signature"):
                if name in delta:
                    blocks[-1][name] += delta[name]
            blocks[-1]["_json"] += delta.get("partial_json", "")
    for block in blocks:
        text = block.pop("_json")
        if block["type"] == "tool_use":
            block["input"] = json.loads(text or "{}")
    return blocks
