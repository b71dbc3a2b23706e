"""A reply in each provider's wire format: as one document, or as the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from .routes import Api, Form
from .script import Reply, ToolUse, Usage

_PIECE: Final = 24
_TIME: Final = 1_750_000_000
# How a block of each type looks before its first delta.
_EMPTY: Final[dict[str, dict[str, Any]]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}


def document(api: Api, reply: Reply) -> dict[str, Any]:
    """The whole answer."""
    return {
        Api.CHAT: _chat,
        Api.RESPONSES: _responses,
        Api.MESSAGES: _messages,
        Api.GEMINI: _gemini,
    }[api](reply)


def stream(api: Api, form: Form, reply: Reply, *, ask_usage: bool) -> list[bytes]:
    """The chunks of the answer as a stream, one for each event. Chat tells its usage only if asked."""
    if api is Api.CHAT:
        events = [json.dumps(event) for event in _chat_events(reply, ask_usage)]
        return [f"data: {event}\n\n".encode() for event in [*events, "[DONE]"]]
    if api is Api.GEMINI:
        texts = [json.dumps(event) for event in _gemini_events(reply)]
        if form == "array":
            return [(("[" if number == 0 else ",\r\n") + text).encode() for number, text in enumerate(texts)] + [b"]"]
        return [f"data: {text}\r\n\r\n".encode() for text in texts]
    made = _responses_events(reply) if api is Api.RESPONSES else _messages_events(reply)
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in made]


def error_event(api: Api, message: str) -> bytes:
    """An error that comes when the stream has begun."""
    if api is Api.MESSAGES:
        event = {"type": "error", "error": {"type": "overloaded_error", "message": message}}
        return f"event: error\ndata: {json.dumps(event)}\n\n".encode()
    if api is Api.RESPONSES:
        failed = {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 0}
        return f"event: error\ndata: {json.dumps(failed)}\n\n".encode()
    return f"data: {json.dumps({'error': {'message': message, 'code': 503}})}\n\n".encode()


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def _arguments(call: ToolUse) -> str:
    return json.dumps(dict(call.arguments))


def _chat_usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _chat_call(call: ToolUse) -> dict[str, Any]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}


def _chat(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.think:
        message["reasoning_content"] = reply.think
    if reply.calls:
        message["tool_calls"] = [_chat_call(call) for call in reply.calls]
    finish = "tool_calls" if reply.calls else "stop"
    made = {
        "id": reply.answer_id,
        "object": "chat.completion",
        "created": _TIME,
        "model": reply.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
    }
    return made | ({"usage": _chat_usage(reply.usage)} if reply.usage else {})


def _chat_events(reply: Reply, ask_usage: bool) -> Iterator[dict[str, Any]]:
    head = {"id": reply.answer_id, "object": "chat.completion.chunk", "created": _TIME, "model": reply.model}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(reply.think):
        yield chunk({"reasoning_content": piece})
    for piece in _pieces(reply.text):
        yield chunk({"content": piece})
    for index, call in enumerate(reply.calls):
        begun = {**_chat_call(call), "function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [{"index": index, **begun}]})
        for piece in _pieces(_arguments(call)):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if reply.calls else "stop")
    if ask_usage and reply.usage:
        yield {**head, "choices": [], "usage": _chat_usage(reply.usage)}


def _responses_items(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.think:
        summary = [{"type": "summary_text", "text": reply.think}]
        items.append({"id": f"rs_{reply.answer_id}", "type": "reasoning", "summary": summary})
    if reply.text or not reply.calls:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        items.append(
            {
                "id": f"msg_{reply.answer_id}",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": content,
            }
        )
    for call in reply.calls:
        made = {"call_id": call.call_id, "name": call.name, "arguments": _arguments(call)}
        items.append({"id": f"fc_{call.call_id}", "type": "function_call", "status": "completed", **made})
    return items


def _responses(reply: Reply, status: str = "completed") -> dict[str, Any]:
    done = status == "completed"
    usage = None
    if reply.usage is not None and done:
        usage = {
            "input_tokens": reply.usage.prompt,
            "input_tokens_details": {"cached_tokens": reply.usage.cached},
            "output_tokens": reply.usage.completion,
            "output_tokens_details": {"reasoning_tokens": reply.usage.reasoning},
            "total_tokens": reply.usage.prompt + reply.usage.completion,
        }
    return {
        "id": reply.answer_id,
        "object": "response",
        "created_at": _TIME,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": reply.model,
        "output": _responses_items(reply) if done else [],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": usage,
    }


def _responses_events(reply: Reply) -> Iterator[dict[str, Any]]:
    number = -1

    def event(kind: str, **more: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        return {"type": kind, "sequence_number": number, **more}

    yield event("response.created", response=_responses(reply, "in_progress"))
    yield event("response.in_progress", response=_responses(reply, "in_progress"))
    for index, item in enumerate(_responses_items(reply)):
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            yield event(
                "response.output_item.added", output_index=index, item={**item, "content": [], "status": "in_progress"}
            )
            part = item["content"][0]
            yield event("response.content_part.added", **place, content_index=0, part={**part, "text": ""})
            for piece in _pieces(reply.text):
                yield event("response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[])
            yield event("response.output_text.done", **place, content_index=0, text=reply.text, logprobs=[])
            yield event("response.content_part.done", **place, content_index=0, part=part)
        elif item["type"] == "function_call":
            yield event(
                "response.output_item.added",
                output_index=index,
                item={**item, "arguments": "", "status": "in_progress"},
            )
            for piece in _pieces(item["arguments"]):
                yield event("response.function_call_arguments.delta", **place, delta=piece)
            yield event(
                "response.function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"]
            )
        else:
            yield event("response.output_item.added", output_index=index, item={**item, "summary": []})
            yield event(
                "response.reasoning_summary_part.added",
                **place,
                summary_index=0,
                part={"type": "summary_text", "text": ""},
            )
            for piece in _pieces(reply.think):
                yield event("response.reasoning_summary_text.delta", **place, summary_index=0, delta=piece)
            yield event("response.reasoning_summary_text.done", **place, summary_index=0, text=reply.think)
            yield event("response.reasoning_summary_part.done", **place, summary_index=0, part=item["summary"][0])
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=_responses(reply))


def _messages_usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.completion,
    }


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.think:
        blocks.append({"type": "thinking", "thinking": reply.think, "signature": "scripted"})
    if reply.text or not reply.calls:
        blocks.append({"type": "text", "text": reply.text})
    for call in reply.calls:
        blocks.append({"type": "tool_use", "id": call.call_id, "name": call.name, "input": dict(call.arguments)})
    return blocks


def _messages(reply: Reply) -> dict[str, Any]:
    return {
        "id": reply.answer_id,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": _blocks(reply),
        "stop_reason": "tool_use" if reply.calls else "end_turn",
        "stop_sequence": None,
        "usage": _messages_usage(reply.usage) if reply.usage else {},
    }


def _messages_events(reply: Reply) -> Iterator[dict[str, Any]]:
    whole = _messages(reply)
    # The beginning of a real stream counts the input and a first token.
    begun = {**whole["usage"], "output_tokens": 1} if whole["usage"] else {}
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None, "usage": begun}}
    yield {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        kind = block["type"]
        yield {"type": "content_block_start", "index": index, "content_block": {**block, **_EMPTY[kind]}}
        deltas: list[dict[str, Any]]
        if kind == "tool_use":
            deltas = [{"type": "input_json_delta", "partial_json": one} for one in _pieces(json.dumps(block["input"]))]
        elif kind == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": one} for one in _pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        else:
            deltas = [{"type": "text_delta", "text": one} for one in _pieces(block["text"])]
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": whole["usage"].get("output_tokens")} if whole["usage"] else {}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}


def _gemini_usage(usage: Usage) -> dict[str, Any]:
    return {
        "promptTokenCount": usage.prompt,
        "candidatesTokenCount": usage.completion - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning,
        "cachedContentTokenCount": usage.cached,
        "totalTokenCount": usage.prompt + usage.completion,
    }


def _gemini_parts(reply: Reply) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": reply.think, "thought": True}] if reply.think else []
    parts += [{"text": piece} for piece in _pieces(reply.text)]
    parts += [{"functionCall": {"name": call.name, "args": dict(call.arguments)}} for call in reply.calls]
    return parts or [{"text": ""}]


def _gemini_one(reply: Reply, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    made = {"candidates": [candidate], "modelVersion": reply.model, "responseId": reply.answer_id}
    return made | ({"usageMetadata": _gemini_usage(reply.usage)} if reply.usage else {})


def _gemini(reply: Reply) -> dict[str, Any]:
    return _gemini_one(reply, _gemini_parts(reply), last=True)


def _gemini_events(reply: Reply) -> Iterator[dict[str, Any]]:
    parts = _gemini_parts(reply)
    for number, part in enumerate(parts, start=1):
        yield _gemini_one(reply, [part], last=number == len(parts))
