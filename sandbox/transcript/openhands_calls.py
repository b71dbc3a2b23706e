"""OpenHands' `llm_completions`: one file a call of the model, each with all messages so far and the answer.

The latest file holds the whole run; the others are read for the usage of their own answers.
"""

from __future__ import annotations

from pathlib import Path

from . import usage
from .building import Builder, Draft
from .chat import assistant_step, prompt_step
from .content import text_of
from .model import Metrics, Transcript
from .node import Node
from .reading import Input, list_files
from .report import ImportReport


def is_document(value: object) -> bool:
    """Whether a JSON document is one call."""
    return (
        isinstance(value, dict) and isinstance(value.get("messages"), list) and isinstance(value.get("response"), dict)
    )


def load(given: Input) -> tuple[Transcript, ImportReport]:
    """Import the run that a folder of calls, or the last call alone, holds."""
    build = Builder(given.label, "openhands-calls", given.caps, "openhands")
    if given.shape == "folder":
        last, told = _latest(given, build)
    else:
        last, told = given.document(), []
    _run(build, last, told)
    return build.finish()


def folder_of(path: Path) -> Path:
    """Where the files of calls are: the folder itself, or `llm_completions` in it."""
    inside = path / "llm_completions"
    return inside if inside.is_dir() and not inside.is_symlink() else path


def _latest(given: Input, build: Builder) -> tuple[Node, list[Metrics | None]]:
    """The call with the latest time (files without one go by name), and the usage of all, in order."""
    folder = folder_of(given.path)
    inside = Input(folder, given.label, given.caps, "folder")
    latest: Node | None = None
    best: tuple[float, int] = (float("-inf"), -1)
    told: list[tuple[tuple[float, int], Metrics | None]] = []
    for index, call in enumerate(inside.documents(list_files(folder, given.label, given.caps))):
        stamp = call.at("timestamp").value
        order = (float(stamp) if isinstance(stamp, int | float) and abs(stamp) < 2**53 else 0.0, index)
        told.append((order, _usage(call, build)))
        if order > best:
            best, latest = order, call
    if latest is None:
        raise Node(None, given.label).fail("must be a folder with files of calls (.json)")
    return latest, [one for _, one in sorted(told, key=lambda pair: pair[0])]


def _usage(call: Node, build: Builder) -> Metrics | None:
    return usage.openai(call.at("response").at("usage"), build.tally, usage.cost_of(call.at("cost")))


def _run(build: Builder, last: Node, told: list[Metrics | None]) -> None:
    # Where tools are only described in the prompt, `messages` holds prose and these hold the calls.
    messages = last.at("fncall_messages") if last.at("fncall_messages") else last.at("messages")
    answered: list[Draft] = []
    for message in messages.items():
        role = message.at("role").maybe()
        if role == "assistant":
            answered.append(assistant_step(build, message))
        elif role == "tool":
            build.result(message.at("tool_call_id").maybe(), text_of(message.at("content"), build.tally))
        else:
            prompt_step(build, message)
    response = last.at("fncall_response") if last.at("fncall_response") else last.at("response")
    build.model = response.at("model").maybe()
    stamp = last.at("timestamp").value
    for choice in response.at("choices").items():
        answered.append(assistant_step(build, choice.at("message"), build.time(stamp)))
        break
    tools = last.at("kwargs").at("tools").value
    if isinstance(tools, list) and all(isinstance(one, dict) for one in tools):
        build.tools = tools
    if not told and answered:
        answered[-1].metrics = _usage(last, build)
    elif len(told) == len(answered):
        for draft, one in zip(answered, told, strict=True):
            draft.metrics = one
    elif answered:
        # Calls that left no message (condensing, retries) cannot be told apart: the sum is all that is sure.
        build.tally.drop("usage", "usage of calls that match no message", len(told))
