"""Inspect's logs: `.json`, or `.eval`, a ZIP with one member a sample. A log holds many samples; one is imported."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from . import usage
from .archive import Archive, open_archive
from .building import Builder
from .chat import prompt_step
from .content import arguments_of, text_of
from .model import Metrics, Transcript
from .node import Node
from .reading import Input, parse_document
from .report import ImportReport
from .text import one_line

_MEMBER = re.compile(r"samples/(.+)_epoch_(\d{1,9})\.json")
_ATTACHED = re.compile(r"attachment://([0-9a-zA-Z]{1,64})")


def is_document(value: object) -> bool:
    """Whether a JSON document is a log."""
    return isinstance(value, dict) and isinstance(value.get("eval"), dict) and ("samples" in value or "plan" in value)


def load(given: Input) -> tuple[Transcript, ImportReport]:
    """Import one sample; the item names it, as `ID` or `ID/EPOCH`, where the log holds several."""
    if given.shape == "archive":
        with open_archive(given) as archive:
            return _archive(given, archive)
    root = given.document()
    samples = list(root.at("samples").items())
    names = [(str(sample.at("id").value), sample.at("epoch").number() or 1) for sample in samples]
    index = _choose(given, names)
    return _sample(given, root, samples[index], len(samples))


def _archive(given: Input, archive: Archive) -> tuple[Transcript, ImportReport]:
    members = {name: found for name in archive.names() if (found := _MEMBER.fullmatch(name))}
    keys = list(members)
    names = [(found.group(1), int(found.group(2))) for found in members.values()]
    index = _choose(given, names)
    # A log of an evaluation that was killed has no header yet; its journal says how it began.
    head = next((name for name in ("header.json", "_journal/start.json") if name in archive), None)
    header = Node(None, given.label)
    if head is not None:
        header = parse_document(archive.read(head), f"{given.label}/{head}", given.caps)
    place = f"{given.label}/{one_line(keys[index], 80)}"
    sample = parse_document(archive.read(keys[index]), place, given.caps)
    return _sample(given, header, sample, len(keys))


def _choose(given: Input, names: list[tuple[str, int]]) -> int:
    item = given.item
    shown = ", ".join(f"{one_line(name, 40)}/{epoch}" for name, epoch in names[:5])
    if not names:
        raise InputError(f"{given.label}: holds no samples; run the evaluation with samples in its log")
    if item is None:
        if len(names) > 1:
            raise InputError(f"{given.label}: holds {len(names)} samples; name one as the item: {shown}")
        return 0
    fitting = [index for index, (name, epoch) in enumerate(names) if item in (name, f"{name}/{epoch}")]
    if len(fitting) != 1:
        what = "no sample" if not fitting else "several epochs of"
        raise InputError(f"{given.label}: has {what} {one_line(item, 60)!r}; it has {len(names)}: {shown}")
    return fitting[0]


def _sample(given: Input, root: Node, sample: Node, count: int) -> tuple[Transcript, ImportReport]:
    header = root.at("eval")
    build = Builder(
        given.label,
        "inspect",
        given.caps,
        "inspect",
        agent_version=header.at("packages").at("inspect_ai").maybe(),
        model=header.at("model").maybe(),
        session_id=sample.at("uuid").maybe(),
    )
    build.version = build.agent_version
    build.extra["sample"] = f"{sample.at('id').value}/{sample.at('epoch').number() or 1}"
    build.tally.drop("item", "another sample of the same log", count - 1)
    attached = _Attachments(sample.at("attachments").dict_or_empty(), given.caps.document)
    told = _events(build, sample.at("events"))
    for message in sample.at("messages").items():
        whole = Node(attached.resolve(message.mapping(), message), message.place, message.path)
        _message(build, whole, told)
    for name in ("error", "limit"):
        if text := sample.at(name).at("message").maybe() or sample.at(name).at("type").maybe():
            build.extra[name] = text
    return build.finish()


def _events(build: Builder, events: Node) -> dict[str, tuple[Metrics | None, str | None]]:
    """The usage and the time of each answer, by its message's id; compactions and branches are counted."""
    told: dict[str, tuple[Metrics | None, str | None]] = {}
    for event in events.items():
        kind = event.at("event").maybe()
        if kind == "model":
            output = event.at("output")
            made = usage.inspect(output.at("usage"), build.tally)
            for choice in output.at("choices").items():
                name = choice.at("message").at("id").maybe()
                if name is not None and name not in told:
                    told[name] = (made, event.at("timestamp").maybe())
        elif kind == "compaction":
            build.tally.drop("compaction", "the agent went on from a shortened history")
        elif kind == "branch":
            build.tally.drop("branch", "a way not taken")
    return told


def _message(build: Builder, message: Node, told: dict[str, tuple[Metrics | None, str | None]]) -> None:
    role = message.at("role").maybe()
    if role in ("system", "user"):
        prompt_step(build, message)
    elif role == "tool":
        error = message.at("error")
        text = text_of(message.at("content"), build.tally)
        if error and not text:
            text = error.at("message").maybe() or ""
        build.result(message.at("tool_call_id").maybe(), text, error=bool(error))
    elif role == "assistant":
        made, stamp = told.get(message.at("id").maybe() or "", (None, None))
        draft = build.step("agent", timestamp=stamp)
        draft.metrics = made
        draft.model = message.at("model").maybe()
        texts, reasoning = _content(build, message.at("content"))
        draft.texts.extend(texts)
        draft.reasoning.extend(reasoning)
        for call in message.at("tool_calls").items():
            arguments = arguments_of(call.at("arguments"), build.caps)
            build.call(draft, call.at("id").maybe(), call.at("function").text_or("unknown"), arguments)
    else:
        raise message.at("role").fail("must be system, user, assistant or tool")


def _content(build: Builder, content: Node) -> tuple[list[str], list[str]]:
    """The texts and the reasoning of an answer; reasoning that is only a signature is sealed."""
    if not isinstance(content.value, list):
        text = text_of(content, build.tally)
        return ([text] if text else []), []
    texts: list[str] = []
    reasoning: list[str] = []
    for part in content.items():
        if part.at("type").value != "reasoning":
            text = text_of(Node([part.value], part.place, part.path), build.tally)
            texts.extend([text] if text else [])
        elif part.at("redacted").value is True or not part.at("reasoning").maybe():
            build.tally.drop("hidden_reasoning", "reasoning that the provider kept sealed")
        else:
            reasoning.append(part.at("reasoning").text())
    return texts, reasoning


@dataclass
class _Attachments:
    """Long strings that a log keeps once and refers to; how much they may add up to is bounded."""

    known: dict[str, Any]
    left: int

    def resolve(self, value: Any, node: Node, level: int = 0) -> Any:
        """The value with every reference replaced; raises InputError for one that leads nowhere."""
        if isinstance(value, str):
            return (
                _ATTACHED.sub(lambda found: self._one(found.group(1), node), value)
                if "attachment://" in value
                else value
            )
        if isinstance(value, dict) and level < 100:
            return {key: self.resolve(one, node, level + 1) for key, one in value.items()}
        if isinstance(value, list) and level < 100:
            return [self.resolve(one, node, level + 1) for one in value]
        return value

    def _one(self, name: str, node: Node) -> str:
        text = self.known.get(name)
        if not isinstance(text, str):
            raise node.fail(f"refers to attachment {one_line(name, 40)}, which the sample does not have")
        self.left -= len(text)
        if self.left < 0:
            raise node.fail("refers to attachments that add up to more than may be read; raise the cap")
        return text
