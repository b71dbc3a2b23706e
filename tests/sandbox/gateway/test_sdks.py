"""The providers' own SDKs take the gateway's answers for their provider's, streamed or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from gateway_kit import SCHEMA, bridge

from takeover.sandbox.gateway.gateway import Gateway
from takeover.sandbox.gateway.script import Shell, Usage, turn
from takeover.sandbox.gateway.scripted import Scripted

TURNS = [turn(Shell("ls -la"), say="I look around first.", think="Where am I?", usage=Usage(1111, 333, 111, 33))]
TOOL = {"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}
CALL = {"command": "ls -la"}


@pytest.fixture
def url() -> Iterator[str]:
    with Gateway(Scripted(TURNS)) as gateway, bridge(gateway) as address:
        yield address


def openai_client(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0)


def anthropic_client(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key="x", max_retries=0)


def test_openai_chat(url: str) -> None:
    """A whole Chat answer: text, call, usage."""
    with openai_client(url) as client:
        made: Any = client.chat.completions.create(
            model="m-1", messages=[{"role": "user", "content": "go"}], tools=[TOOL]
        )
    message = made.choices[0].message
    assert (message.content, made.choices[0].finish_reason) == ("I look around first.", "tool_calls")
    assert json.loads(message.tool_calls[0].function.arguments) == CALL
    assert (made.usage.prompt_tokens, made.usage.completion_tokens) == (1111, 333)


def test_openai_chat_stream(url: str) -> None:
    """A streamed Chat answer; the usage that the client did not ask for is not there."""
    text, arguments, usages = "", "", []
    with openai_client(url) as client:
        stream: Any = client.chat.completions.create(
            model="m-1", messages=[{"role": "user", "content": "go"}], tools=[TOOL], stream=True
        )
        for chunk in stream:
            usages.append(chunk.usage)
            for choice in chunk.choices:
                text += choice.delta.content or ""
                arguments += "".join(call.function.arguments or "" for call in choice.delta.tool_calls or [])
    assert (text, json.loads(arguments), set(usages)) == ("I look around first.", CALL, {None})


def test_openai_responses(url: str) -> None:
    """A whole Responses answer."""
    tool = {"type": "function", "name": "bash", "parameters": SCHEMA, "strict": False}
    with openai_client(url) as client:
        made: Any = client.responses.create(model="m-1", input="go", tools=[tool])
    call = next(item for item in made.output if item.type == "function_call")
    assert (made.output_text, json.loads(call.arguments)) == ("I look around first.", CALL)
    assert (made.usage.input_tokens, made.usage.output_tokens) == (1111, 333)


def test_openai_responses_stream(url: str) -> None:
    """A streamed Responses answer, put together by the SDK."""
    tool = {"type": "function", "name": "bash", "parameters": SCHEMA, "strict": False}
    with openai_client(url) as client, client.responses.stream(model="m-1", input="go", tools=[tool]) as stream:
        kinds = [event.type for event in stream]
        made: Any = stream.get_final_response()
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert (made.output_text, made.usage.total_tokens) == ("I look around first.", 1444)


def test_anthropic_messages(url: str) -> None:
    """A whole Messages answer, cached input beside the input."""
    tool: Any = {"name": "Bash", "input_schema": SCHEMA}
    with anthropic_client(url) as client:
        made: Any = client.messages.create(
            model="m-1", max_tokens=100, messages=[{"role": "user", "content": "go"}], tools=[tool]
        )
    assert [block.type for block in made.content] == ["thinking", "text", "tool_use"]
    assert (made.content[-1].input, made.stop_reason) == (CALL, "tool_use")
    assert (made.usage.input_tokens, made.usage.cache_read_input_tokens) == (1000, 111)


def test_anthropic_messages_stream(url: str) -> None:
    """A streamed Messages answer, put together by the SDK."""
    tool: Any = {"name": "Bash", "input_schema": SCHEMA}
    with (
        anthropic_client(url) as client,
        client.messages.stream(
            model="m-1", max_tokens=100, messages=[{"role": "user", "content": "go"}], tools=[tool]
        ) as stream,
    ):
        made: Any = stream.get_final_message()
    assert [block.type for block in made.content] == ["thinking", "text", "tool_use"]
    assert (made.content[-1].input, made.usage.output_tokens) == (CALL, 333)


def test_counting_and_listing(url: str) -> None:
    """Token counts and model lists have each provider's shape."""
    with anthropic_client(url) as client:
        count = client.messages.count_tokens(model="m-1", messages=[{"role": "user", "content": "go"}])
        names = [model.id for model in client.models.list()]
    with openai_client(url) as client:
        others = [model.id for model in client.models.list()]
    assert count.input_tokens > 0
    assert (names, others) == (["scripted-1"], ["scripted-1"])


def test_a_refusal_is_not_found(url: str) -> None:
    """What is not served is a 404 that the SDKs know as one."""
    with openai_client(url) as client, pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="m-1", input="x")
    with anthropic_client(url) as client, pytest.raises(anthropic.NotFoundError):
        client.models.retrieve("other")
