"""Usage as the providers report it: cached input, partial and repeated reports, and none at all."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from gateway_kit import chat_chunk, sse
from hypothesis import given
from hypothesis import strategies as st

from takeover.sandbox.gateway.dialect import AnswerState
from takeover.sandbox.gateway.dialects import DIALECTS
from takeover.sandbox.gateway.metering import AnswerReader, measured
from takeover.sandbox.gateway.routes import Api, Form
from takeover.sandbox.transcript.report import Tally


def read(api: Api, form: Form, *chunks: bytes, hide: bool = False) -> tuple[AnswerState, bytes, Any]:
    """The state after an answer, what was passed on, and its metrics."""
    reader = AnswerReader(DIALECTS[api], form, hide_usage=hide)
    passed = b"".join(reader.feed(chunk) for chunk in chunks) + reader.end()
    return reader.state, passed, measured(DIALECTS[api], reader.state, Tally())


def counts(metrics: Any) -> tuple[int, int, int | None] | None:
    """Prompt, completion, cached."""
    return None if metrics is None else (metrics.prompt_tokens, metrics.completion_tokens, metrics.cached_tokens)


ANTHROPIC = sse(
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "model": "c-1",
            "usage": {
                "input_tokens": 6,
                "cache_read_input_tokens": 400_000,
                "cache_creation_input_tokens": 12_000,
                "output_tokens": 3,
            },
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"command":'}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ' "ls"}'}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 90}},
    {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 90, "input_tokens": 0}},
    {"type": "message_stop"},
)  # fmt: skip


def test_anthropic_counts_its_cache_beside_the_input() -> None:
    """6 tokens of input and 412,000 of cache are 412,006, said twice or not; the last output count holds."""
    state, _, metrics = read(Api.MESSAGES, "sse", *ANTHROPIC)

    assert counts(metrics) == (412_006, 90, 400_000)
    assert (state.model, state.answer_id, state.finish, state.complete) == ("c-1", "msg_1", "tool_use", True)
    assert [(call.call_id, call.name, call.arguments) for call in state.calls] == [("t1", "Bash", '{"command": "ls"}')]


def test_openai_counts_its_cache_inside_the_input() -> None:
    """Cached input is a part of the prompt, in Chat and in Responses."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 800}}
    _, _, chat = read(
        Api.CHAT, "sse", *sse(chat_chunk("x"), chat_chunk(None, "stop"), {"choices": [], "usage": usage}, "[DONE]")
    )
    response = {
        "id": "r1",
        "model": "m",
        "status": "completed",
        "usage": {"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 800}, "output_tokens": 20},
    }
    begun = {"type": "response.created", "response": {**response, "usage": None}}
    _, _, responses = read(Api.RESPONSES, "sse", *sse(begun, {"type": "response.completed", "response": response}))

    assert counts(chat) == counts(responses) == (1000, 20, 800)


def test_usage_in_every_chunk_is_not_added_up() -> None:
    """Some servers report what was used so far with each chunk."""
    chunks = [chat_chunk("x", usage={"prompt_tokens": 9, "completion_tokens": n}) for n in range(1, 6)]
    _, _, metrics = read(Api.CHAT, "sse", *sse(*chunks, chat_chunk(None, "stop"), "[DONE]"))

    assert counts(metrics) == (9, 5, None)


def test_gemini_counts_thoughts_beside_the_output() -> None:
    """Output and thoughts make the completion; an answer of thoughts alone is taken from the total."""
    usage = {"promptTokenCount": 50, "candidatesTokenCount": 3, "thoughtsTokenCount": 40, "cachedContentTokenCount": 20}
    first = {
        "candidates": [{"content": {"parts": [{"text": "T", "thought": True}]}}],
        "usageMetadata": {"promptTokenCount": 50},
    }
    last = {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}], "usageMetadata": usage}
    _, _, metrics = read(Api.GEMINI, "sse", *sse(first, last))
    bare = {"promptTokenCount": 50, "thoughtsTokenCount": 40, "totalTokenCount": 90}
    _, _, thoughts = read(Api.GEMINI, "json", json.dumps({**last, "usageMetadata": bare}).encode())

    assert counts(metrics) == (50, 43, 20)
    assert counts(thoughts) == (50, 40, None)


def test_a_growing_array_is_read() -> None:
    """Gemini without `alt=sse` streams one JSON array."""
    parts = [{"text": "a"}, {"functionCall": {"name": "f", "args": {"x": 1}}}]
    events = [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]
    events.append(
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 2, "candidatesTokenCount": 1}}
    )
    data = json.dumps(events, indent=1).encode()
    state, passed, metrics = read(Api.GEMINI, "array", data[:40], data[40:])

    assert (passed, counts(metrics), state.complete) == (data, (2, 1, None), True)
    assert [call.arguments for call in state.calls] == [{"x": 1}]


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": 5},
        {"prompt_tokens": 5, "completion_tokens": 0},
        {"prompt_tokens": -5, "completion_tokens": 7},
        {"prompt_tokens": "5", "completion_tokens": 7},
        {"prompt_tokens": 5.5, "completion_tokens": 7},
        {"prompt_tokens": True, "completion_tokens": 7},
        {"prompt_tokens": 10**30, "completion_tokens": 7},
        [],
        "many",
    ],
)
def test_usage_that_is_none_is_unknown(usage: Any) -> None:
    """Missing, null, impossible: unknown, and never zero."""
    _, _, metrics = read(Api.CHAT, "sse", *sse(chat_chunk("x", usage=usage), chat_chunk(None, "stop"), "[DONE]"))

    assert metrics is None


def test_usage_that_only_we_asked_for_is_hidden() -> None:
    """The chunk with nothing but usage is left out, all other bytes pass."""
    shown = sse(chat_chunk("x"), chat_chunk(None, "stop"))
    hidden = sse({"id": "c1", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
    end = sse("[DONE]")
    _, passed, metrics = read(Api.CHAT, "sse", *shown, *hidden, *end, hide=True)
    _, untouched, _ = read(Api.CHAT, "sse", *shown, *hidden, *end)

    assert passed == b"".join(shown + end)
    assert untouched == b"".join(shown + hidden + end)
    assert counts(metrics) == (1, 1, None)


@given(st.lists(st.integers(0, 5000), max_size=10), st.booleans())
def test_hiding_does_not_depend_on_chunks(cuts: list[int], crlf: bool) -> None:
    """Whatever the chunks, the same bytes pass."""
    shown = sse(chat_chunk("é\n"), chat_chunk(None, "stop"))
    hidden = sse({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
    data, wanted = b"".join(shown + hidden + sse("[DONE]")), b"".join(shown + sse("[DONE]"))
    if crlf:
        data, wanted = data.replace(b"\n", b"\r\n"), wanted.replace(b"\n", b"\r\n")
    points = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    chunks = [data[a:b] for a, b in pairwise(points)]
    _, passed, metrics = read(Api.CHAT, "sse", *chunks, hide=True)

    assert (passed, counts(metrics)) == (wanted, (1, 1, None))


def test_calls_in_a_stream() -> None:
    """Pieces belong to their index; servers that leave it out send whole calls."""
    pieces: list[dict[str, Any]] = [
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x"'}},
        {"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}},
        {"index": 0, "function": {"arguments": ": 1}"}},
        {"id": "c", "function": {"name": "h", "arguments": "{}"}},
    ]
    chunks = [{"choices": [{"delta": {"tool_calls": [piece]}}]} for piece in pieces]
    state, _, _ = read(Api.CHAT, "sse", *sse(*chunks, chat_chunk(None, "tool_calls")))

    assert [(call.call_id, call.arguments) for call in state.calls] == [("a", '{"x": 1}'), ("b", "{}"), ("c", "{}")]


@pytest.mark.parametrize(
    ("api", "event"),
    [
        (Api.CHAT, {"error": {"message": "overloaded"}}),
        (Api.RESPONSES, {"type": "response.failed", "response": {"error": {"message": "overloaded"}}}),
        (Api.RESPONSES, {"type": "error", "message": "overloaded"}),
        (Api.MESSAGES, {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}),
        (Api.GEMINI, {"error": {"code": 503, "message": "overloaded"}}),
    ],
)
def test_errors_in_a_stream(api: Api, event: Any) -> None:
    """An error that comes with status 200 is one."""
    state, _, _ = read(api, "sse", *sse(event))

    assert (state.error, state.complete) == ("overloaded", False)


@given(st.sampled_from(list(Api)), st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from([
            "type", "choices", "delta", "tool_calls", "function", "usage", "message", "content", "response", "output",
            "candidates", "parts", "functionCall", "usageMetadata", "error", "index", "content_block", "model", "id",
        ]), inner, max_size=4),
    max_leaves=12,
))  # fmt: skip
def test_any_answer_is_read(api: Api, value: Any) -> None:
    """A provider may send anything; it is passed on and nothing breaks."""
    for form, chunks in (("sse", sse(value)), ("json", [json.dumps(value).encode()])):
        _, passed, _ = read(api, form, *chunks)  # type: ignore[arg-type]
        assert passed == b"".join(chunks)
