"""Messages as the OpenAI APIs write them (Chat Completions, Responses), turned into steps.

Several agents keep their history in this form; what each adds is in its own importer.
"""

from __future__ import annotations

from .building import Builder, Draft
from .content import arguments_of, text_of
from .node import Node


def prompt_step(build: Builder, message: Node, timestamp: str | None = None, *, copied: bool = False) -> Draft:
    """A message that is not the agent's, as a step of the user or the system."""
    role = message.at("role").maybe()
    text = text_of(message.at("content"), build.tally)
    return build.step("system" if role in ("system", "developer") else "user", text, timestamp=timestamp, copied=copied)


def assistant_step(build: Builder, message: Node, timestamp: str | None = None) -> Draft:
    """An assistant's message of Chat Completions with its reasoning and its calls."""
    draft = build.step("agent", text_of(message.at("content"), build.tally), timestamp=timestamp)
    reasoning = message.at("reasoning_content").maybe() or message.at("reasoning").maybe()
    if reasoning:
        draft.reasoning.append(reasoning)
    thinking_blocks(build, draft, message.at("thinking_blocks"), shown=bool(reasoning))
    for call in message.at("tool_calls").items():
        function = call.at("function")
        name = function.at("name").text_or("unknown")
        build.call(draft, call.at("id").maybe(), name, arguments_of(function.at("arguments"), build.caps))
    return draft


def thinking_blocks(build: Builder, draft: Draft, blocks: Node, *, shown: bool) -> None:
    """Anthropic's thinking: what is readable is kept once, what is sealed is counted."""
    for block in blocks.items():
        text = block.at("thinking").maybe()
        if text and not shown:
            draft.reasoning.append(text)
        elif not text:
            build.tally.drop("hidden_reasoning", "reasoning that the provider kept sealed")


def response_items(build: Builder, draft: Draft, items: Node) -> None:
    """The output of one answer of the Responses API, added to a step."""
    for item in items.items():
        response_item(build, draft, item)


def response_item(build: Builder, draft: Draft, item: Node) -> None:
    """One output item of the Responses API: a message, reasoning, or a call."""
    kind = item.at("type").maybe()
    if kind == "message":
        text = text_of(item.at("content"), build.tally)
        if text:
            draft.texts.append(text)
    elif kind == "reasoning":
        summary = text_of(item.at("summary"), build.tally) or text_of(item.at("content"), build.tally)
        if summary:
            draft.reasoning.append(summary)
        if item.at("encrypted_content") or not summary:
            build.tally.drop("hidden_reasoning", "reasoning that the provider kept sealed")
    elif kind in ("function_call", "custom_tool_call"):
        call_id = item.at("call_id").maybe() or item.at("id").maybe()
        arguments = arguments_of(item.at("arguments"), build.caps)
        if kind == "custom_tool_call":
            arguments = {"input": item.at("input").text_or("")}
        build.call(draft, call_id, item.at("name").text_or("unknown"), arguments)
    elif kind == "local_shell_call":
        action = item.at("action")
        call_id = item.at("call_id").maybe() or item.at("id").maybe()
        arguments = {name: action.at(name).value for name in ("command", "working_directory") if action.at(name)}
        build.call(draft, call_id, "local_shell", arguments)
    elif kind == "web_search_call":
        build.call(draft, item.at("id").maybe(), "web_search", item.at("action").dict_or_empty())
    else:
        build.tally.drop("event", f"an item of a type that is not known here{_named(kind)}")


def _named(kind: str | None) -> str:
    known = {"ghost_snapshot", "compaction", "image_generation_call", "file_search_call", "computer_call"}
    return f": {kind}" if kind in known else ""
