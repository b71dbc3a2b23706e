"""SWE-agent `.traj`: steps with action and observation, and the history with the prompts and the calls' ids.

The trajectory is what happened; the history also holds demonstrations, which did not, and are left out.
"""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from . import usage
from .building import Builder
from .chat import assistant_step, prompt_step, thinking_blocks
from .content import text_of
from .model import FinalMetrics, Transcript
from .node import Node
from .reading import Input, parse_json
from .report import ImportReport

# Commands of the bundled tools; everything else is a command for the shell.
TOOLS = frozenset(
    [
        "open",
        "goto",
        "scroll_up",
        "scroll_down",
        "create",
        "edit",
        "insert",
        "undo_edit",
        "search_file",
        "search_dir",
        "find_file",
        "str_replace_editor",
        "submit",
        "exit_forfeit",
        "exit_cost",
        "exit_context",
        "filemap",
        "view_image",
    ]
)
_REFUSED = ("Your proposed edit has introduced new syntax error", "Your changes have NOT been applied")


def is_document(value: object) -> bool:
    """Whether a JSON document is a trajectory of SWE-agent."""
    if not isinstance(value, dict):
        return False
    history = value.get("history")
    first = history[0] if isinstance(history, list) and history else None
    return (
        (isinstance(value.get("trajectory"), list) and ("history" in value or "environment" in value))
        or (isinstance(value.get("attempts"), list) and "trajectory_format" not in value and "messages" not in value)
        or (isinstance(first, dict) and "role" in first and ("message_type" in first or "agent" in first))
    )


def load(given: Input) -> tuple[Transcript, ImportReport]:
    """Import the trajectory; of a run with several attempts the chosen one, or the last."""
    root = given.document()
    attempts = list(root.at("attempts").items())
    chosen = root
    if not root.at("trajectory") and attempts:
        chosen = attempts[-1]
    info = chosen.at("info")
    build = Builder(
        given.label,
        "swe-agent",
        given.caps,
        "swe-agent",
        agent_version=info.at("swe_agent_version").maybe() or info.at("swe_agent_hash").maybe(),
        model=_model(root, given),
    )
    build.version = build.agent_version
    build.tally.drop("attempt", "another attempt at the same task", max(0, len(attempts) - 1))
    _prompts(build, chosen.at("history"))
    ids = _history_calls(chosen.at("history"))
    steps = list(chosen.at("trajectory").items())
    for index, step in enumerate(steps):
        _step(build, step, ids[index] if index < len(ids) and len(steps) - len(ids) in (0, 1) else None)
    if not steps:
        _from_history(build, chosen.at("history"))
    _totals(build, info)
    return build.finish()


def _prompts(build: Builder, history: Node) -> None:
    """The system prompt and the task: what stands in the history before the agent's first own message."""
    ahead = True
    for message in history.items():
        if message.at("is_demo").value is True or message.at("message_type").value == "demonstration":
            build.tally.drop("demo", "a demonstration, which shows another task")
        elif message.at("role").value == "assistant":
            ahead = False
        elif ahead:
            prompt_step(build, message)


def _history_calls(history: Node) -> list[list[Node]]:
    """The calls of each of the agent's own messages, in order; they carry the ids that the trajectory lacks."""
    return [
        list(message.at("tool_calls").items())
        for message in history.items()
        if message.at("role").value == "assistant" and message.at("is_demo").value is not True
    ]


def _step(build: Builder, step: Node, calls: list[Node] | None) -> None:
    step.mapping()
    said = step.at("response").text_or("") or step.at("thought").text_or("")
    draft = build.step("agent", said)
    thinking_blocks(build, draft, step.at("thinking_blocks"), shown=False)
    state = _state(step.at("state"), build)
    draft.extra.update({name: state[name] for name in ("working_dir", "open_file") if isinstance(state.get(name), str)})
    if build.cwd is None and isinstance(state.get("working_dir"), str):
        build.cwd = state["working_dir"]
    action = step.at("action").text_or("").strip()
    observation = text_of(step.at("observation"), build.tally)
    if not action:
        if observation:
            build.step("user", observation)
        return
    name = action.split(maxsplit=1)[0]
    given = calls[0].at("id").maybe() if calls else None
    call_id = build.call(draft, given, name if name in TOOLS else "bash", {"command": action})
    refused = any(text in observation for text in _REFUSED)
    build.result(call_id, observation, error=refused)


def _state(node: Node, build: Builder) -> dict[str, Any]:
    """The state after a step: an object, or in old versions the JSON text of one."""
    if isinstance(node.value, str):
        try:
            value = parse_json(node.value, node.place, build.caps)
        except InputError:
            return {}
        return value if isinstance(value, dict) else {}
    return node.dict_or_empty()


def _from_history(build: Builder, history: Node) -> None:
    """A file that holds only a history: its messages after the prompts."""
    begun = False
    for message in history.items():
        if message.at("is_demo").value is True or message.at("message_type").value == "demonstration":
            continue
        if message.at("role").value == "assistant":
            begun = True
            draft = assistant_step(build, message)
            action = message.at("action").maybe()
            if action and not draft.calls:
                build.call(draft, None, "bash", {"command": action})
        elif begun and message.at("role").value in ("tool", "user"):
            ids = message.at("tool_call_ids")
            call_id = next((node.maybe() for node in ids.items()), None) or next(reversed(build.open), None)
            build.result(call_id, text_of(message.at("content"), build.tally))


def _totals(build: Builder, info: Node) -> None:
    for name in ("exit_status", "submission"):
        if text := info.at(name).maybe():
            build.extra[name] = text
    stats = info.at("model_stats")
    sent, received = stats.at("tokens_sent").number(), stats.at("tokens_received").number()
    made = usage.metrics(_count(sent), _count(received), None, usage.cost_of(stats.at("instance_cost")))
    if made is not None:
        build.final = FinalMetrics(
            total_prompt_tokens=made.prompt_tokens,
            total_completion_tokens=made.completion_tokens,
            total_cost_usd=made.cost_usd,
        )


def _count(value: int | None) -> int | None:
    # Runs of human or replay models write 0 for what was never counted.
    return value if value is not None and 0 < value < 2**50 else None


def _model(root: Node, given: Input) -> str | None:
    config = root.at("replay_config")
    if isinstance(config.value, str):
        try:
            config = Node(parse_json(config.value, config.place, given.caps), config.place, config.path)
        except InputError:
            return None
    return config.at("agent").at("model").at("name").maybe()
