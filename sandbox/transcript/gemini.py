"""Gemini CLI's chat recordings: one JSON document, or JSONL whose later records amend, replace or take back earlier ones."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from . import usage
from .building import Builder
from .content import arguments_of, text_of
from .model import Transcript
from .node import Node
from .reading import Input
from .report import ImportReport

_FAILED = ("error", "cancelled")


def is_document(value: object) -> bool:
    """Whether a JSON document is a recording."""
    return (
        isinstance(value, dict)
        and "sessionId" in value
        and isinstance(value.get("messages"), list)
        and all(isinstance(one, dict) and "type" in one for one in value["messages"][:3])
    )


def is_record(record: object) -> bool:
    """Whether a line is a record of a JSONL recording."""
    if not isinstance(record, dict):
        return False
    if {"$set", "$rewindTo"} & record.keys():
        return True
    if record.get("type") in ("gemini", "message_update") and isinstance(record.get("id"), str):
        return True
    return (
        isinstance(record.get("sessionId"), str)
        and ("projectHash" in record or "startTime" in record)
        and "uuid" not in record
    )


@dataclass
class _Recording:
    """The messages by id, in order, as the records leave them."""

    build: Builder
    about: dict[str, Any] = field(default_factory=dict)
    messages: dict[str, Node] = field(default_factory=dict)

    def take(self, record: Node) -> None:
        record.mapping()
        if record.has("$rewindTo"):
            self.rewind(record.at("$rewindTo").text())
        elif record.has("$set"):
            changes = record.at("$set")
            if isinstance(changes.at("messages").value, list):
                self.replace(changes.at("messages"))
            self.about.update({name: value for name, value in changes.mapping().items() if name != "messages"})
        elif record.at("type").value == "message_update":
            self.update(record)
        elif isinstance(record.at("id").value, str):
            self.messages[record.at("id").text()] = record
        else:
            self.about.update(record.mapping())
            self.about.pop("messages", None)
            for message in record.at("messages").items():
                self.take(message)

    def rewind(self, target: str) -> None:
        """Take back the message and all after it; one that is not there takes back everything."""
        gone = 0
        found = target in self.messages
        while self.messages:
            name, _ = self.messages.popitem()
            gone += 1
            if found and name == target:
                break
        self.build.tally.drop("branch", "a message that the user went back behind", gone)

    def replace(self, messages: Node) -> None:
        """The program put another history in place of its own, as after compressing it."""
        kept = {node.at("id").text(): node for node in messages.items()}
        gone = sum(1 for name in self.messages if name not in kept)
        self.build.tally.drop("compaction", "a message that the program took out of its history", gone)
        self.messages = kept

    def update(self, record: Node) -> None:
        name = record.at("id").text()
        before = self.messages.get(name)
        if before is None:
            self.build.tally.warn(f"{record.place}: updates a message that is not there; left out")
            return
        changes = {key: value for key, value in record.mapping().items() if key != "type"}
        self.messages[name] = Node(_merge(before.value, changes, 0), record.place, before.path)


def load(given: Input) -> tuple[Transcript, ImportReport]:
    """Import a recording of either form."""
    build = Builder(given.label, "gemini", given.caps, "gemini-cli")
    recording = _Recording(build)
    if given.shape == "document":
        build.version = "json"
        recording.take(given.document())
    else:
        build.version = "jsonl"
        for line in given.lines():
            if line.torn:
                build.tally.drop("torn_line", "a last line that ends in the middle")
                break
            recording.take(line.node)
    about = Node(recording.about, given.label)
    build.session_id = about.at("sessionId").maybe()
    build.cwd = next((node.maybe() for node in _listed(about.at("directories"))), None)
    for message in recording.messages.values():
        _message(build, message)
    return build.finish()


def _message(build: Builder, message: Node) -> None:
    kind, stamp = message.at("type").maybe(), message.at("timestamp").maybe()
    if kind == "user":
        parts = [node for node in _parts(message.at("content")) if not node.has("functionResponse")]
        content = Node([node.value for node in parts], message.place, f"{message.path}.content")
        text = text_of(content, build.tally)
        if text:
            build.step("user", text, timestamp=stamp)
    elif kind == "gemini":
        _answer(build, message, stamp)
    elif kind in ("info", "warning", "error"):
        build.tally.drop("event", "a notice of the program to its user")
    else:
        raise message.at("type").fail("must be user, gemini, info, warning or error")


def _answer(build: Builder, message: Node, stamp: str | None) -> None:
    parts = [node.value for node in _parts(message.at("content")) if not node.has("functionCall")]
    text = text_of(Node(parts, message.place, f"{message.path}.content"), build.tally)
    draft = build.step("agent", text, timestamp=stamp)
    draft.model = message.at("model").maybe()
    build.model = build.model or draft.model
    for thought in message.at("thoughts").items():
        lines = [thought.at(name).maybe() for name in ("subject", "description")]
        draft.reasoning.append("\n".join(line for line in lines if line))
    draft.metrics = usage.gemini(message.at("tokens"), build.tally)
    for call in message.at("toolCalls").items():
        arguments = arguments_of(call.at("args"), build.caps)
        call_id = build.call(draft, call.at("id").maybe(), call.at("name").text(), arguments)
        if call.at("result") or call.at("status").value in _FAILED:
            failed = call.at("status").value in _FAILED
            build.result(call_id, _result(build, call.at("result")), error=failed)


def _result(build: Builder, node: Node) -> str:
    """The text of a result: parts, each of them often a function's response with an output or an error."""
    texts: list[str] = []
    for part in _parts(node):
        response = part.at("functionResponse").at("response")
        found = next((response.at(name) for name in ("output", "error", "content") if response.at(name)), None)
        if found is not None and isinstance(found.value, str):
            texts.append(found.value)
        elif response:
            texts.append(json.dumps(response.value, ensure_ascii=False))
        else:
            texts.append(text_of(Node([part.value], part.place, part.path), build.tally))
    return "\n".join(texts)


def _parts(node: Node) -> list[Node]:
    if node.value is None:
        return []
    return list(node.items()) if isinstance(node.value, list) else [node]


def _listed(node: Node) -> list[Node]:
    return list(node.items()) if isinstance(node.value, list) else []


def _merge(old: Any, new: Any, level: int) -> Any:
    """Objects member by member, everything else replaced."""
    if isinstance(old, dict) and isinstance(new, dict) and level < 8:
        return {**old, **{key: _merge(old.get(key), value, level + 1) for key, value in new.items()}}
    return new
