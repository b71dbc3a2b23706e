"""OpenHands before its SDK: a stream of actions and observations, in whichever of its layouts it was kept.

One file an event, pages of a cache, one flat array, or one line an instance in an evaluation's output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from . import usage
from .building import Builder, Draft
from .content import text_of
from .model import Metrics, Transcript
from .node import Node
from .reading import Input, list_files
from .report import ImportReport
from .text import one_line

_EVENT_FILE = re.compile(r"\d{1,12}\.json")
_PAGE_FILE = re.compile(r"\d{1,12}-\d{1,12}\.json")
_INTERNAL = {"recall", "change_agent_state", "null", "agent_state_changed", "push", "send_pr", "condensation_request"}
_ACTIONS = {
    "run",
    "run_ipython",
    "read",
    "edit",
    "write",
    "browse",
    "browse_interactive",
    "delegate",
    "call_tool_mcp",
    "task_tracking",
}
_NOT_ARGUMENTS = {
    "thought",
    "security_risk",
    "confirmation_state",
    "hidden",
    "is_confirmed",
    "impl_source",
    "keep_prompt",
}


def is_event(value: object) -> bool:
    """Whether a JSON value is an event."""
    return isinstance(value, dict) and ("action" in value or "observation" in value) and "source" in value


def is_document(value: object) -> bool:
    """Whether a JSON document is a flat array of events, or of old pairs of them."""
    first = value[0] if isinstance(value, list) and value else None
    return is_event(first) or _is_pair(first)


def is_record(record: object) -> bool:
    """Whether a line is an instance of an evaluation's output."""
    return isinstance(record, dict) and {"instance_id", "history"} <= record.keys() and "test_result" in record


def is_folder(names: list[str]) -> bool:
    """Whether a folder, of which these are the names, holds events."""
    return "event_cache" in names or any(_EVENT_FILE.fullmatch(name) or _PAGE_FILE.fullmatch(name) for name in names)


def load(given: Input) -> tuple[Transcript, ImportReport]:
    """Import one session; the item picks the instance from an evaluation's output."""
    build = Builder(given.label, "openhands-events", given.caps, "openhands")
    stream = _Stream(build)
    if given.shape == "lines":
        stream.take_all(_instance(given, build))
    elif given.shape == "folder":
        stream.take_all(_folder(given))
    else:
        stream.take_all(_flat(given.document()))
    return build.finish()


def _instance(given: Input, build: Builder) -> Iterator[Node]:
    item = given.item
    found: Node | None = None
    names: list[str] = []
    for line in given.lines():
        if line.torn:
            build.tally.drop("torn_line", "a last line that ends in the middle")
            break
        name = str(line.node.at("instance_id").value)
        names.append(name)
        if name == item or (item is None and found is None):
            found = line.node
    if found is None:
        shown = ", ".join(one_line(name, 40) for name in names[:5])
        raise InputError(f"{given.label}: has no instance {one_line(str(item), 60)!r}; it has {len(names)}: {shown}")
    if item is None and len(names) > 1:
        shown = ", ".join(one_line(name, 40) for name in names[:5])
        raise InputError(f"{given.label}: holds {len(names)} instances; name one as the item: {shown}")
    build.tally.drop("item", "another instance of the same file", len(names) - 1)
    build.session_id = found.at("instance_id").maybe()
    metadata = found.at("metadata")
    build.model = metadata.at("llm_config").at("model").maybe()
    build.agent = metadata.at("agent_class").maybe() or build.agent
    if patch := found.at("test_result").at("git_patch").maybe():
        build.extra["submission"] = patch
    if error := found.at("error").maybe():
        build.extra["error"] = error
    return _flat(found.at("history"))


def _flat(events: Node) -> Iterator[Node]:
    """Events one after the other; an old pair is an action and its observation, and says so by `cause`."""
    for index, entry in enumerate(events.items()):
        if not _is_pair(entry.value):
            yield entry
            continue
        action, observation = entry.items()
        name = f"pair-{index}"
        yield Node({"id": name, **action.mapping()}, action.place, action.path)
        cause = action.at("id").value if action.at("id") else name
        yield Node({"cause": cause, **observation.mapping()}, observation.place, observation.path)


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(one, dict) for one in value)


def _folder(given: Input) -> Iterator[Node]:
    """The events of a folder in the order of their ids: single files, and pages for those that have no file."""
    events: dict[int, Node] = {}
    for folder in (given.path, given.path / "events", given.path / "event_cache"):
        if not folder.is_dir() or folder.is_symlink():
            continue
        inside = Input(folder, given.label, given.caps, "folder")
        paths = [path for path in list_files(folder, given.label, given.caps) if _named_so(path.name)]
        for document in inside.documents(paths):
            many = list(document.items()) if isinstance(document.value, list) else [document]
            for event in many:
                number = event.at("id").number()
                if number is None:
                    raise event.at("id").fail("must be the number of the event")
                events.setdefault(number, event)
                if len(events) > given.caps.files:
                    raise InputError(f"{given.label}: holds more than {given.caps.files:,} events; raise the cap")
    return iter([events[number] for number in sorted(events)])


def _named_so(name: str) -> bool:
    return bool(_EVENT_FILE.fullmatch(name) or _PAGE_FILE.fullmatch(name))


@dataclass
class _Stream:
    build: Builder
    calls: dict[Any, str] = field(default_factory=dict)
    answers: dict[str, Draft] = field(default_factory=dict)
    told: Metrics | None = None
    seen: set[Any] = field(default_factory=set)

    def take_all(self, events: Iterator[Node]) -> None:
        for event in events:
            event.mapping()
            name = _key(event.at("id"))
            if name is not None and name in self.seen:
                self.build.tally.drop("duplicate", "an event written again under the same id")
                continue
            self.seen.add(name)
            if event.at("action").maybe():
                self.action(event)
            elif event.at("observation").maybe():
                self.observation(event)
            else:
                raise event.fail("must have an action or an observation")

    def action(self, event: Node) -> None:
        kind, args = event.at("action").text(), event.at("args")
        stamp, source = event.at("timestamp").maybe(), event.at("source").maybe()
        if kind == "message" and source == "user":
            self.build.step("user", args.at("content").text_or(""), timestamp=stamp)
        elif kind == "system":
            self.build.step("system", args.at("content").text_or(""), timestamp=stamp)
            tools = args.at("tools").value
            if isinstance(tools, list) and all(isinstance(one, dict) for one in tools):
                self.build.tools = tools
        elif kind in _INTERNAL:
            self.build.tally.drop("event", "an event of the program, not of the agent")
        elif kind == "condensation":
            note = "the agent went on from a condensed history; what was forgotten stays in the transcript"
            self.build.tally.drop("compaction", note)
            if summary := args.at("summary").maybe():
                self.build.step("user", summary, timestamp=stamp, copied=True)
        else:
            self.own(event, kind, args, stamp)

    def own(self, event: Node, kind: str, args: Node, stamp: str | None) -> None:
        """Something the agent said or did; actions of one answer of the model are one step."""
        metadata = event.at("tool_call_metadata")
        answer = metadata.at("model_response").at("id").maybe()
        draft = self.answers.get(answer) if answer else None
        if draft is None:
            draft = self.build.step("agent", timestamp=stamp)
            if answer:
                self.answers[answer] = draft
        said = args.at("thought").maybe() or (args.at("content").maybe() if kind == "message" else None)
        if kind == "finish":
            said = args.at("final_thought").maybe() or said
        if said and said not in draft.texts[-1:]:
            draft.texts.append(said)
        self.metrics(event.at("llm_metrics"), draft)
        if kind in ("message", "think", "finish", "reject"):
            return
        arguments = {name: value for name, value in args.dict_or_empty().items() if name not in _NOT_ARGUMENTS}
        wanted = metadata.at("tool_call_id").maybe()
        tool = metadata.at("function_name").maybe()
        name = kind if kind in _ACTIONS else (tool or kind)
        call_id = self.build.call(draft, wanted, name, arguments, tool=tool if tool != name else None)
        self.calls[_key(event.at("id"))] = call_id

    def metrics(self, node: Node, draft: Draft) -> None:
        """The metrics are accumulated: what this step cost is what they grew by."""
        accumulated = node.at("accumulated_token_usage")
        cost = usage.cost_of(node.at("accumulated_cost"))
        now = usage.openhands(accumulated, self.build.tally, cost)
        if now is None:
            return
        grown = usage.difference(now, self.told)
        self.told = now
        if draft.metrics is None:
            draft.metrics = grown
        self.build.model = self.build.model or accumulated.at("model").maybe()

    def observation(self, event: Node) -> None:
        kind, extras = event.at("observation").text(), event.at("extras")
        if kind in _INTERNAL or kind == "think":
            if kind not in ("null", "think"):
                self.build.tally.drop("event", "an event of the program, not of the agent")
            return
        text = text_of(event.at("content"), self.build.tally)
        call_id = self.calls.get(_key(event.at("cause"))) or event.at("tool_call_metadata").at("tool_call_id").maybe()
        code = extras.at("metadata").at("exit_code").number()
        if code is None:
            code = extras.at("exit_code").number()
        if self.build.cwd is None:
            self.build.cwd = extras.at("metadata").at("working_dir").maybe()
        failed = kind == "error" or (kind in ("read", "edit", "write") and text.lstrip().startswith("ERROR:"))
        if call_id is None and event.at("source").value != "agent":
            self.build.step("system", text, timestamp=event.at("timestamp").maybe())
        else:
            cwd = extras.at("metadata").at("working_dir").maybe()
            self.build.result(call_id, text, error=failed, returncode=code, cwd=cwd)


def _key(node: Node) -> str | int | None:
    return node.value if isinstance(node.value, str | int) and not isinstance(node.value, bool) else None
