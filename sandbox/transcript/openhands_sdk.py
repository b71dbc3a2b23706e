"""OpenHands SDK: a conversation's folder of events, each naming its `kind`; a fork makes the events a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from . import usage
from .building import Builder, Draft
from .chat import thinking_blocks
from .content import arguments_of, text_of
from .model import Transcript
from .node import Node
from .reading import Input, list_files, parse_document, read_bytes
from .report import ImportReport

_EVENT_FILE = re.compile(r"event-\d{1,12}-[\w-]{1,100}\.json")
_RESUMED = "<<RESUMED CONVERSATION>>"
_KINDS = (
    "ActionEvent", "ObservationEvent", "MessageEvent", "SystemPromptEvent", "Condensation", "CondensationRequest",
    "AgentErrorEvent", "UserRejectObservation", "PauseEvent", "ConversationStateUpdateEvent", "ConversationErrorEvent",
    "CondensationSummaryEvent",
)  # fmt: skip


def is_record(record: object) -> bool:
    """Whether a JSON value is an event of the SDK."""
    return isinstance(record, dict) and record.get("kind") in _KINDS and "source" in record


def is_document(value: object) -> bool:
    """Whether a JSON document is an array of events, or one event."""
    return is_record(value[0] if isinstance(value, list) and value else value)


def is_folder(names: list[str]) -> bool:
    """Whether a folder, of which these are the names, is a conversation or its folder of events."""
    return "base_state.json" in names or any(_EVENT_FILE.fullmatch(name) for name in names)


def load(given: Input) -> tuple[Transcript, ImportReport]:
    """Import one conversation."""
    build = Builder(given.label, "openhands-sdk", given.caps, "openhands")
    conversation = _Conversation(build)
    events = _events(given, build)
    for event in _line(events, build):
        conversation.take(event)
    if given.shape == "folder":
        _state(given, conversation)
    conversation.settle()
    return build.finish()


def _events(given: Input, build: Builder) -> list[Node]:
    if given.shape == "lines":
        found: list[Node] = []
        for line in given.lines():
            if line.torn:
                build.tally.drop("torn_line", "a last line that ends in the middle")
            else:
                found.append(line.node)
        return found
    if given.shape == "document":
        document = given.document()
        return list(document.items()) if isinstance(document.value, list) else [document]
    inside = given.path / "events"
    folder = inside if inside.is_dir() and not inside.is_symlink() else given.path
    paths = [path for path in list_files(folder, given.label, given.caps) if _EVENT_FILE.fullmatch(path.name)]
    paths.sort(key=lambda path: (int(path.name.split("-", 2)[1]), path.name))
    return list(Input(folder, given.label, given.caps, "folder").documents(paths))


def _line(events: list[Node], build: Builder) -> list[Node]:
    """The events from the root to the last one; where events name no parent, all of them in order."""
    by_id: dict[str, int] = {}
    for index, event in enumerate(events):
        event.mapping()
        name = event.at("id").maybe()
        if name is not None and name in by_id:
            build.tally.drop("duplicate", "an event written again under the same id")
        elif name is not None:
            by_id[name] = index
    unique = [event for index, event in enumerate(events) if by_id.get(event.at("id").maybe() or "", index) == index]
    if not any(event.at("parent_id").maybe() for event in unique):
        return unique
    chosen: set[int] = set()
    current: int | None = by_id.get(unique[-1].at("id").maybe() or "")
    while current is not None and current not in chosen:
        chosen.add(current)
        current = by_id.get(events[current].at("parent_id").maybe() or "")
    kept = [event for event in unique if by_id.get(event.at("id").maybe() or "", -1) in chosen]
    build.tally.drop("branch", "an event on a way not taken", len(unique) - len(kept))
    return kept


def _state(given: Input, conversation: _Conversation) -> None:
    path = given.path / "base_state.json"
    if not path.exists() or path.is_symlink():
        path = given.path.parent / "base_state.json"
        if given.path.name != "events" or not path.exists() or path.is_symlink():
            return
    label = f"{given.label}/base_state.json"
    state = parse_document(read_bytes(path, label, given.caps.document), label, given.caps)
    build = conversation.build
    build.session_id = state.at("id").maybe()
    build.model = state.at("agent").at("llm").at("model").maybe()
    build.cwd = state.at("workspace").at("working_dir").maybe()
    conversation.stats(state.at("stats"))


@dataclass
class _Conversation:
    build: Builder
    answers: dict[str, Draft] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    usages: dict[str, Node] = field(default_factory=dict)

    def take(self, event: Node) -> None:
        kind, stamp = event.at("kind").maybe(), event.at("timestamp").maybe()
        tally = self.build.tally
        if kind == "ActionEvent":
            self.action(event, stamp)
        elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
            self.answer(event, kind)
        elif kind == "MessageEvent":
            self.message(event, stamp)
        elif kind == "SystemPromptEvent":
            self.build.step("system", text_of(event.at("system_prompt"), tally), timestamp=stamp)
            tools = event.at("tools").value
            if isinstance(tools, list) and all(isinstance(one, dict) for one in tools):
                self.build.tools = tools
        elif kind == "Condensation":
            tally.drop(
                "compaction", "the agent went on from a condensed history; what was forgotten stays in the transcript"
            )
            if summary := event.at("summary").maybe():
                self.build.step("user", summary, timestamp=stamp, copied=True)
        elif kind == "ConversationStateUpdateEvent":
            value = event.at("value")
            self.stats(value.at("stats") if value.at("stats") else value)
            tally.drop("event", "an event of the program, not of the agent")
        elif kind == "ConversationErrorEvent":
            self.build.extra["error"] = event.at("detail").maybe() or event.at("code").maybe() or "unknown"
        else:
            tally.drop("event", "an event of the program, not of the agent")

    def message(self, event: Node, stamp: str | None) -> None:
        message = event.at("llm_message")
        text = text_of(message.at("content"), self.build.tally)
        if event.at("source").value == "agent" or message.at("role").value == "assistant":
            draft = self.turn(event, stamp)
            draft.texts.append(text)
            self.reasoning(draft, message)
            return
        more = text_of(event.at("extended_content"), self.build.tally)
        whole = "\n\n".join(part for part in (text, more) if part)
        self.build.step("user", whole, timestamp=stamp, copied=_RESUMED in whole)

    def turn(self, event: Node, stamp: str | None) -> Draft:
        """The step of the model's answer that an event belongs to."""
        name = event.at("llm_response_id").maybe()
        if name is not None and name in self.answers:
            return self.answers[name]
        draft = self.build.step("agent", timestamp=stamp)
        if name is not None:
            self.answers[name] = draft
        return draft

    def reasoning(self, draft: Draft, node: Node) -> None:
        text = node.at("reasoning_content").maybe()
        if text and text not in draft.reasoning[-1:]:
            draft.reasoning.append(text)
        thinking_blocks(self.build, draft, node.at("thinking_blocks"), shown=bool(text) or bool(draft.reasoning))

    def action(self, event: Node, stamp: str | None) -> None:
        draft = self.turn(event, stamp)
        thought = text_of(event.at("thought"), self.build.tally)
        if thought:
            draft.texts.append(thought)
        self.reasoning(draft, event)
        action = event.at("action")
        name = event.at("tool_name").maybe() or event.at("tool_call").at("name").maybe() or "unknown"
        arguments: dict[str, Any] = {key: value for key, value in action.dict_or_empty().items() if key != "kind"}
        if not arguments:
            arguments = arguments_of(event.at("tool_call").at("arguments"), self.build.caps)
        kind = action.at("kind").maybe()
        call_id = self.build.call(draft, event.at("tool_call_id").maybe(), name, arguments, kind=kind)
        if event.at("id").maybe():
            self.calls[event.at("id").text()] = call_id

    def answer(self, event: Node, kind: str) -> None:
        call_id = self.calls.get(event.at("action_id").maybe() or "") or event.at("tool_call_id").maybe()
        if kind == "AgentErrorEvent":
            self.build.result(call_id, event.at("error").text_or(""), error=True)
        elif kind == "UserRejectObservation":
            self.build.result(call_id, event.at("rejection_reason").text_or(""), error=True)
        else:
            seen = event.at("observation")
            content = next(
                (seen.at(name) for name in ("content", "output", "message") if seen.at(name)), seen.at("content")
            )
            failed = seen.at("is_error").value is True or bool(seen.at("error").maybe())
            text = text_of(content, self.build.tally) or (seen.at("error").maybe() or "")
            code = seen.at("exit_code").number()
            # A shell command that failed may have done part of its work; only tools that did nothing are failures.
            self.build.result(call_id, text, error=failed and code is None, returncode=code)

    def stats(self, stats: Node) -> None:
        """Remember the usage of each answer; later statements replace earlier ones."""
        of_all = stats.at("usage_to_metrics") if stats.at("usage_to_metrics") else stats.at("service_to_metrics")
        for name in of_all.dict_or_empty():
            for one in of_all.at(name).at("token_usages").items():
                if answer := one.at("response_id").maybe():
                    self.usages[answer] = one

    def settle(self) -> None:
        """Give each answer its usage."""
        for name, node in self.usages.items():
            if name in self.answers:
                self.answers[name].metrics = usage.openhands(node, self.build.tally)
                self.answers[name].model = node.at("model").maybe()
