"""mini-SWE-agent: a bare list of messages (v0), or an object that names its format (v1, v2).

Every action is a shell command: fenced in the message, called as a tool, or an item of a Responses answer.
"""

from __future__ import annotations

import re

from . import usage
from .building import Builder, Draft
from .chat import assistant_step, prompt_step, response_items
from .content import text_of
from .model import FinalMetrics, Transcript
from .node import Node
from .reading import Input
from .report import ImportReport

_FENCE = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.DOTALL)
_ROLES = ("system", "user", "assistant", "tool", "exit")


def is_document(value: object) -> bool:
    """Whether a JSON document is one of mini-SWE-agent."""
    if isinstance(value, list):
        return bool(value) and all(
            isinstance(one, dict) and one.get("role") in _ROLES and "content" in one for one in value[:3]
        )
    return isinstance(value, dict) and (
        str(value.get("trajectory_format", "")).startswith("mini-swe-agent")
        or (
            isinstance(value.get("messages"), list)
            and isinstance(value.get("info"), dict)
            and "mini_version" in value["info"]
        )
    )


def load(given: Input) -> tuple[Transcript, ImportReport]:
    """Import one trajectory."""
    root = given.document()
    bare = isinstance(root.value, list)
    info = root.at("info")
    config = info.at("config")
    build = Builder(
        given.label,
        "mini-swe-agent",
        given.caps,
        "mini-swe-agent",
        version="0" if bare else root.at("trajectory_format").maybe(),
        agent_version=info.at("mini_version").maybe(),
        model=config.at("model").at("model_name").maybe(),
        cwd=config.at("environment").at("cwd").maybe(),
        session_id=root.at("instance_id").maybe(),
    )
    waiting: list[str] = []
    for message in root.items() if bare else root.at("messages").items():
        waiting = _message(build, message, waiting)
    for name in ("exit_status", "submission"):
        if text := info.at(name).maybe():
            build.extra.setdefault(name, text)
    cost = usage.cost_of(info.at("model_stats").at("instance_cost"))
    build.final = FinalMetrics(total_cost_usd=cost) if cost is not None else None
    return build.finish()


def _message(build: Builder, message: Node, waiting: list[str]) -> list[str]:
    """Take in one message; `waiting` are the text-style calls whose outputs come next."""
    message.mapping()
    role, kind = message.at("role").maybe(), message.at("type").maybe()
    extra = message.at("extra")
    stamp = extra.at("timestamp").value
    if message.at("object").value == "response":
        draft = build.step("agent", timestamp=build.time(stamp))
        response_items(build, draft, message.at("output"))
        draft.model = message.at("model").maybe()
        draft.metrics = usage.openai(message.at("usage"), build.tally, usage.cost_of(extra.at("cost")))
    elif kind == "function_call_output" or role == "tool":
        call_id = message.at("call_id").maybe() or message.at("tool_call_id").maybe()
        content = message.at("output") if kind == "function_call_output" else message.at("content")
        build.result(call_id, text_of(content, build.tally), returncode=extra.at("returncode").number())
    elif role == "assistant":
        return _assistant(build, message)
    elif role == "exit":
        for name in ("exit_status", "submission"):
            if text := extra.at(name).maybe():
                build.extra[name] = text
    elif role == "user" and waiting and not extra.at("interrupt_type"):
        build.result(waiting.pop(0), text_of(message.at("content"), build.tally), returncode=_returncode(message))
        return waiting
    elif role in ("system", "user", "developer") or kind == "message":
        prompt_step(build, message, build.time(stamp))
    else:
        raise message.at("role").fail("is no role of mini-SWE-agent; use system, user, assistant, tool or exit")
    return []


def _assistant(build: Builder, message: Node) -> list[str]:
    extra = message.at("extra")
    draft = assistant_step(build, message, build.time(extra.at("timestamp").value))
    response = extra.at("response")
    draft.model = response.at("model").maybe()
    draft.metrics = usage.openai(response.at("usage"), build.tally, usage.cost_of(extra.at("cost")))
    if draft.calls:
        return []
    return [build.call(draft, None, "bash", {"command": command}) for command in _commands(draft, extra)]


def _commands(draft: Draft, extra: Node) -> list[str]:
    """The commands that were run: as recorded, else the one fenced block (none or several are a format error)."""
    recorded = [action.at("command").text() for action in extra.at("actions").items()]
    if recorded:
        return recorded
    fenced = _FENCE.findall("\n".join(text for text in draft.texts if isinstance(text, str)))
    return [fenced[0].strip()] if len(fenced) == 1 else []


def _returncode(message: Node) -> int | None:
    code = message.at("extra").at("returncode").number()
    if code is None and isinstance(message.at("content").value, str):
        found = re.match(r"\s*<returncode>(-?\d{1,9})</returncode>", message.at("content").text()[:200])
        code = int(found.group(1)) if found else None
    return code
