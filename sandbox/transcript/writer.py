"""Writes a transcript while its session runs: whatever was handed over is on disk when the call returns.

It grows as a journal of lines beside the final file; a process that dies by SIGKILL leaves at worst one torn last
line. Closing (or `recover`, after a death) turns the journal into one ATIF document, one step in memory at a time.

    transcript.json.journal     while the session runs: a header, then steps and what was added to them
    transcript.json             once it is closed
"""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from ..errors import InputError, StorageError
from .building import validation_text
from .model import (
    MAX_COUNT,
    SCHEMA_VERSION,
    Agent,
    Content,
    FinalMetrics,
    Metrics,
    Result,
    Source,
    Step,
    ToolCall,
)
from .node import Node
from .reading import DEFAULT_CAPS, Caps, read_lines
from .text import printable

# How many of the latest steps can still be added to; a result does not come later than that.
WINDOW = 256
# Our own journal is read back whatever its length; its steps came through the models, which bound their depth.
JOURNAL_CAPS = replace(DEFAULT_CAPS, stream=2**62, line=2**40, parts=2**62, depth=240)
_SUMMED = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")


def journal_of(path: Path) -> Path:
    """Where the journal of a transcript is while it is written."""
    return path.with_name(path.name + ".journal")


class TranscriptWriter:
    """Writes one transcript; use it as a context manager, or call `close`. Several threads may share it.

    Raises StorageError if the disk refuses.
    """

    def __init__(
        self, path: Path, *, agent: Agent, session_id: str | None = None, extra: dict[str, Any] | None = None
    ) -> None:
        self.path = path
        self.steps = 0
        self._lock = threading.Lock()
        self._journal = journal_of(path)
        self._size = 0
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._fd: int | None = os.open(self._journal, flags, 0o644)
        except OSError as e:
            raise StorageError(f"{self._journal}: cannot be created: {e.strerror}") from e
        head = {"session_id": session_id, "agent": agent.model_dump(mode="json", exclude_none=True), "extra": extra}
        self._append({"journal": SCHEMA_VERSION, **_set(head)})

    def step(self, source: Source, message: Content, **fields: Any) -> int:
        """Write a step (`fields` are those of `Step`) and return its number."""
        with self._lock:
            made = Step(step_id=self.steps + 1, source=source, message=message, **fields)
            self._append({"step": made.model_dump(mode="json", exclude_none=True)})
            self.steps += 1
            return self.steps

    def more(
        self,
        step_id: int,
        *,
        text: str = "",
        reasoning: str = "",
        calls: Sequence[ToolCall] = (),
        results: Sequence[Result] = (),
        metrics: Metrics | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Add to one of the latest steps: text and reasoning are appended, metrics replaced. Raises ValueError."""
        if not self.steps - WINDOW < step_id <= self.steps:
            raise ValueError(f"step {step_id} is not among the latest {WINDOW} of {self.steps}")
        added = {
            "text": text or None,
            "reasoning": reasoning or None,
            "calls": [call.model_dump(mode="json", exclude_none=True) for call in calls] or None,
            "results": [result.model_dump(mode="json", exclude_none=True) for result in results] or None,
            "metrics": metrics.model_dump(mode="json", exclude_none=True) if metrics else None,
            "extra": extra,
        }
        with self._lock:
            self._append({"more": step_id, **_set(added)})

    def note(self, **extra: Any) -> None:
        """Add to what the transcript says of itself as a whole, such as how the session ended."""
        with self._lock:
            self._append({"root": _set(extra)})

    def _append(self, record: dict[str, Any]) -> None:
        if self._fd is None:
            raise ValueError("the transcript is closed")
        data = json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as e:
            # Half a line in the middle would cost the lines after it too.
            os.ftruncate(self._fd, self._size)
            os.lseek(self._fd, self._size, os.SEEK_SET)
            raise StorageError(f"{self._journal}: cannot be written: {e.strerror}") from e
        self._size += len(data)

    def close(self) -> Path:
        """Finish: the document in place of the journal. A transcript without a step keeps its journal."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
            if self.steps:
                recover(self._journal)
        return self.path if self.steps else self._journal

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def recover(journal: Path, caps: Caps = JOURNAL_CAPS) -> Path:
    """Make the ATIF document of a journal, also of one whose writer was killed, and remove the journal.

    Returns the document's path. Raises InputError if the journal is none, StorageError if the disk refuses.
    """
    target = journal.with_name(journal.name.removesuffix(".journal"))
    if target == journal:
        raise InputError(f"{printable(str(journal))}: is no journal; its name must end in .journal")
    temporary = target.with_name(target.name + ".tmp")
    try:
        with temporary.open("w", encoding="utf-8") as out:
            out.writelines(document_pieces(journal, printable(str(journal)), caps))
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(target)
        journal.unlink()
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as e:
        raise StorageError(f"{target}: cannot be written: {e.strerror}") from e
    finally:
        temporary.unlink(missing_ok=True)
    return target


def document_pieces(journal: Path, label: str, caps: Caps) -> Iterator[str]:
    """The document that a journal amounts to, in pieces, so that it never is in memory as a whole."""
    reader = _Journal(label)
    lines = read_lines(journal, label, caps)
    head = reader.head(next((line.node for line in lines if not line.torn), Node(None, label)))
    yield "{" + "".join(f"{_text(key)}:{_text(value)}," for key, value in head.items() if key != "extra")
    yield '"steps":[\n'
    first = True
    for line in lines:
        if line.torn:
            reader.torn = True
            break
        for step in reader.take(line.node):
            yield _text(step) if first else ",\n" + _text(step)
            first = False
    for step in reader.rest():
        yield _text(step) if first else ",\n" + _text(step)
        first = False
    if first:
        raise InputError(f"{label}: holds no step")
    yield (
        "\n]"
        + "".join(f",{_text(key)}:{_text(value)}" for key, value in reader.tail(head.get("extra")).items())
        + "}\n"
    )


def is_journal_record(record: object) -> bool:
    """Whether a line is the head of a journal."""
    return isinstance(record, dict) and str(record.get("journal", "")).startswith("ATIF")


@dataclass
class _Journal:
    """Puts steps together from lines; holds only the steps that can still be added to."""

    label: str
    open: OrderedDict[int, dict[str, Any]] = field(default_factory=OrderedDict)
    count: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    root: dict[str, Any] = field(default_factory=dict)
    torn: bool = False

    def head(self, line: Node) -> dict[str, Any]:
        if not is_journal_record(line.value):
            raise line.fail("must be the head of a journal, with `journal` and `agent`")
        if line.at("journal").value != SCHEMA_VERSION:
            raise line.at("journal").fail(f"must be {SCHEMA_VERSION}")
        try:
            agent = Agent.model_validate(line.at("agent").mapping()).model_dump(mode="json", exclude_none=True)
        except ValidationError as e:
            raise line.at("agent").fail(validation_text(e)) from e
        session = line.at("session_id").maybe()
        extra = line.at("extra").dict_or_empty()
        return _set({"schema_version": SCHEMA_VERSION, "session_id": session, "agent": agent, "extra": extra or None})

    def take(self, line: Node) -> Iterator[dict[str, Any]]:
        """Take in one line; yields the steps that are finished by it."""
        if line.has("step"):
            self.count += 1
            step = dict(line.at("step").mapping())
            if step.get("step_id") != self.count:
                raise line.at("step").at("step_id").fail(f"must be {self.count}, the next number")
            self.open[self.count] = step
            while len(self.open) > WINDOW:
                yield self.done(self.open.popitem(last=False)[1], line)
        elif line.has("more"):
            step_id = line.at("more").number()
            if step_id is None or step_id not in self.open:
                raise line.at("more").fail(f"must be the number of one of the latest {WINDOW} steps")
            _add(self.open[step_id], line)
        elif line.has("root"):
            self.root.update(line.at("root").mapping())
        else:
            raise line.fail("must be a step, an addition to one, or a note on the whole")

    def rest(self) -> Iterator[dict[str, Any]]:
        while self.open:
            yield self.done(self.open.popitem(last=False)[1], Node(None, self.label))

    def done(self, step: dict[str, Any], line: Node) -> dict[str, Any]:
        try:
            made = Step.model_validate(step)
        except ValidationError as e:
            raise line.fail(f"step {step['step_id']}: {validation_text(e)}") from e
        if made.metrics is not None and not made.is_copied_context:
            for name in _SUMMED:
                value = getattr(made.metrics, name)
                if value is not None:
                    self.sums[name] = min(self.sums.get(name, 0) + value, MAX_COUNT)
        return made.model_dump(mode="json", exclude_none=True)

    def whole(self, name: str) -> int | None:
        return int(self.sums[name]) if name in self.sums else None

    def tail(self, extra: dict[str, Any] | None) -> dict[str, Any]:
        cost = self.sums.get("cost_usd")
        final = FinalMetrics(
            total_prompt_tokens=self.whole("prompt_tokens"),
            total_completion_tokens=self.whole("completion_tokens"),
            total_cached_tokens=self.whole("cached_tokens"),
            total_cost_usd=float(cost) if cost is not None else None,
            total_steps=self.count,
        )
        notes = "The writer was killed: a last line that ended in the middle was left out." if self.torn else None
        whole = {**(extra or {}), **self.root}
        return _set({"final_metrics": final.model_dump(exclude_none=True), "notes": notes, "extra": whole or None})


def _add(step: dict[str, Any], line: Node) -> None:
    if text := line.at("text").maybe():
        before = step.get("message")
        step["message"] = (
            before + text if isinstance(before, str) else [*(before or []), {"type": "text", "text": text}]
        )
    if reasoning := line.at("reasoning").maybe():
        step["reasoning_content"] = (step.get("reasoning_content") or "") + reasoning
    if line.at("calls"):
        step["tool_calls"] = [*(step.get("tool_calls") or []), *line.at("calls").array()]
    if line.at("results"):
        before = (step.get("observation") or {}).get("results") or []
        step["observation"] = {"results": [*before, *line.at("results").array()]}
    if line.at("metrics"):
        step["metrics"] = line.at("metrics").mapping()
    if line.at("extra"):
        step["extra"] = {**(step.get("extra") or {}), **line.at("extra").mapping()}


def _set(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
