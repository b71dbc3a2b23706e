"""Writes the transcript as a session's calls go by.

An agent sends its whole history with every request; only what was not there before becomes a step. What it repeats of
the model's answers was written when they came. Requests that are no turns (titles, summaries) are marked as such.
Of all that went by, hashes are kept, of a bounded number. Of what an agent sends without end, the first ROOM characters of JSON are.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from ..transcript.content import arguments_of
from ..transcript.model import Metrics, Observation, Result, Source, ToolCall
from ..transcript.node import Node
from ..transcript.reading import Caps
from ..transcript.writer import TranscriptWriter
from .asking import Asking
from .dialect import AnswerState, Call, Echo, Item, Prompt, ToolResult
from .jsontext import canonical
from .redaction import GrowingText, Redactor

# For what the agent sends and for what the model says, so that the one cannot crowd out the other. Far more than any
# work takes, and a document of both can be read back.
ROOM: Final = 64 << 20
# For a step beside its text: whoever reads a document takes no more than 100,000.
_STEP: Final = 1000
_NAME: Final = 512
_REMEMBERED: Final = 200_000
_OPEN_CALLS: Final = 4096
_CAPS: Final = Caps(depth=100)

Whose = Literal["asked", "said"]


@dataclass
class Entry:
    """One exchange while it is written down; `step` is its answer's, once there is one."""

    side: bool
    conversation: int
    text: GrowingText
    reasoning: GrowingText
    step: int | None = None
    digest: Any = field(default_factory=lambda: hashlib.blake2b(digest_size=16))


class Scribe:
    """Writes one session's transcript; several threads may share it. Raises StorageError if the disk refuses."""

    def __init__(
        self, writer: TranscriptWriter, redactor: Redactor, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._writer = writer
        self._redactor = redactor
        self._now = now
        self._lock = threading.Lock()
        self._seen: OrderedDict[bytes, int] = OrderedDict()
        self._ours: OrderedDict[bytes, None] = OrderedDict()
        self._conversations: OrderedDict[bytes, int] = OrderedDict()
        self._open: OrderedDict[str, tuple[int, str]] = OrderedDict()
        self._nameless: OrderedDict[str, deque[tuple[int, str]]] = OrderedDict()
        self._tools_noted = False
        self._closed = False
        self._room = {"asked": ROOM, "said": ROOM}

    def asked(self, asking: Asking) -> Entry:
        """A request has come: write what is new in it."""
        items = list(asking.dialect.items(asking.document))
        side = not asking.is_turn
        with self._lock:
            first = next((item for item in items if not (isinstance(item, Prompt) and item.leading)), None)
            key = _digest("conversation", str(side), first.text if first is not None else "")
            known = key in self._conversations
            conversation = self._conversations.setdefault(key, len(self._conversations) + 1)
            _bound(self._conversations, _REMEMBERED)
            if asking.is_turn and not self._tools_noted:
                self._tools_noted = True
                self.note(tools=[_name(tool.name) for tool in asking.tools[:_NAME]])
            entry = Entry(side, conversation, self._redactor.growing(), self._redactor.growing())
            counts: dict[bytes, int] = {}
            for item in items:
                self._item(item, entry, known, counts)
        return entry

    def grow(self, entry: Entry, state: AnswerState) -> None:
        """More of the answer has come."""
        text, reasoning = state.take()
        if text:
            entry.digest.update("".join(text.split()).encode("utf-8", "surrogatepass"))
        self._write(entry, state, entry.text.add(text), entry.reasoning.add(reasoning))

    def done(self, entry: Entry, state: AnswerState, metrics: Metrics | None, extra: dict[str, Any]) -> None:
        """The answer has ended, as `extra` says: its calls, and what it used."""
        self.grow(entry, state)
        state.settle_calls()
        text, reasoning = entry.text.end(), entry.reasoning.end()
        if entry.step is None or text or reasoning:
            self._write(entry, state, text, reasoning, force=True)
        assert entry.step is not None
        with self._lock:
            calls = self._calls(entry.step, state.calls, "said")
            # Some formats repeat text and calls apart, some together.
            self._remember(self._ours, _echo_digest(entry.digest, []))
            self._remember(self._ours, _echo_digest(entry.digest, state.calls))
            kept = {key: value for key, value in extra.items() if value is not None}
            if calls or metrics is not None or kept:
                self._more(entry.step, calls=calls, metrics=metrics, extra=self._redactor.value(kept) if kept else None)

    def note(self, **extra: Any) -> None:
        """Add to what the transcript says of itself."""
        if not self._closed:
            self._writer.note(**self._redactor.value(extra))

    def close(self) -> None:
        """Finish the document. What comes after it, from an exchange that would not end, is dropped."""
        with self._lock:
            self._closed = True
            self._writer.close()

    def _step(self, source: Source, message: str, entry: Entry, **fields: Any) -> int:
        if self._closed:
            return 0
        return self._writer.step(source, message, **self._frame(entry), **fields)

    def _more(self, step: int, **fields: Any) -> None:
        if not self._closed:
            self._writer.more(step, **fields)

    def _write(self, entry: Entry, state: AnswerState, text: str, reasoning: str, *, force: bool = False) -> None:
        if not (text or reasoning or force):
            return
        with self._lock:
            if entry.step is not None:
                self._more(entry.step, text=self._fit(text, "said"), reasoning=self._fit(reasoning, "said"))
                return
            entry.step = self._step(
                "agent",
                self._fit(text, "said"),
                entry,
                reasoning_content=self._fit(reasoning, "said") or None,
                model_name=self._redactor.text(_name(state.model)) if state.model else None,
                llm_call_count=1,
            )

    def _fit(self, text: str, whose: Whose = "asked") -> str:
        """As much of a text as there is room for, which is said once."""
        room, size = self._room[whose], len(json.dumps(text, ensure_ascii=False))
        self._room[whose] = room - size if size <= room else -1 if text else room
        if size <= room or not text:
            return text
        # A character may take six.
        return f"{text[: room // 6]}[takeover: {size:,} characters, not all kept]" if room >= 0 else ""

    def _step_fits(self, whose: Whose = "asked") -> bool:
        """Whether there is room for one more step, or a call."""
        fits = self._room[whose] >= 0
        self._room[whose] = max(0, self._room[whose] - _STEP) if fits else -1
        return fits

    def _frame(self, entry: Entry) -> dict[str, Any]:
        extra: dict[str, Any] = {}
        if entry.side:
            extra["side_request"] = True
        if entry.conversation > 1:
            extra["conversation"] = entry.conversation
        stamp = self._now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"timestamp": stamp, "extra": extra or None}

    def _item(self, item: Item, entry: Entry, known: bool, counts: dict[bytes, int]) -> None:
        if isinstance(item, Echo):
            self._echo(item, entry)
            return
        if isinstance(item, Prompt):
            # What stands before a conversation is written when it begins: some agents change a line of it each time.
            skipped = not item.text or (item.leading and known)
            new = not skipped and self._is_new(_digest(item.source, str(entry.side), item.text), counts)
            if new and self._step_fits():
                self._step(item.source, self._fit(self._redactor.text(item.text)), entry)
            return
        if self._is_new(_digest("result", item.call_id or "", item.name or "", item.text), counts):
            self._result(item, entry)

    def _is_new(self, digest: bytes, counts: dict[bytes, int]) -> bool:
        """Whether this request has the part once more than any before it."""
        counts[digest] = counts.get(digest, 0) + 1
        if counts[digest] <= self._seen.get(digest, 0):
            return False
        self._seen[digest] = counts[digest]
        _bound(self._seen, _REMEMBERED)
        return True

    def _echo(self, echo: Echo, entry: Entry) -> None:
        """What the agent says that the model said; that which did not pass here was copied from elsewhere."""
        if any(_name(call.call_id) in self._open for call in echo.calls if call.call_id):
            return
        text = hashlib.blake2b("".join(echo.text.split()).encode("utf-8", "surrogatepass"), digest_size=16)
        digest = _echo_digest(text, echo.calls)
        if digest in self._ours or not (echo.text or echo.calls):
            return
        self._remember(self._ours, digest)
        if not self._step_fits():
            return
        step = self._step("agent", self._fit(self._redactor.text(echo.text)), entry, is_copied_context=True)
        calls = self._calls(step, echo.calls)
        if calls:
            self._more(step, calls=calls)

    def _calls(self, step: int, calls: Sequence[Call], whose: Whose = "asked") -> list[ToolCall]:
        made: dict[str, ToolCall] = {}
        for call in calls:
            if not self._step_fits(whose):
                break
            name, wanted = _name(call.name), _name(call.call_id or f"call_{step}_{len(made) + 1}")
            call_id, number = wanted, 1
            while call_id in made:
                number += 1
                call_id = f"{wanted}#{number}"
            made[call_id] = ToolCall(
                tool_call_id=self._redactor.text(call_id),
                function_name=self._redactor.text(name),
                arguments=self._fit_arguments(self._redactor.value(_arguments(call.arguments)), whose),
            )
            place = step, made[call_id].tool_call_id
            if call.call_id is None:
                self._nameless.setdefault(name, deque(maxlen=_OPEN_CALLS)).append(place)
                _bound(self._nameless, _OPEN_CALLS)
            else:
                self._open[_name(call.call_id)] = place
                self._open.move_to_end(_name(call.call_id))
                _bound(self._open, _REMEMBERED)
        return list(made.values())

    def _fit_arguments(self, arguments: dict[str, Any], whose: Whose) -> dict[str, Any]:
        text = canonical(arguments)
        kept = self._fit(text, whose)
        return arguments if kept is text else {"raw": kept}

    def _result(self, item: ToolResult, entry: Entry) -> None:
        if not self._step_fits():
            return
        call_id, name = (None if one is None else _name(one) for one in (item.call_id, item.name))
        place = self._open.get(call_id) if call_id is not None else None
        if place is None and name is not None and self._nameless.get(name):
            place = self._nameless[name].popleft()
        extra = {"is_error": True} if item.is_error else None
        text = self._fit(self._redactor.text(item.text))
        if place is not None:
            result = Result(source_call_id=place[1], content=text, extra=extra)
            try:
                self._more(place[0], results=[result])
                return
            except ValueError:
                pass  # Its call is too far back to be added to.
        lost = Result(content=text, extra={**(extra or {}), "call": call_id or name})
        observation = Observation(results=(lost,))
        self._step("user", "", entry, observation=observation)

    def _remember(self, box: OrderedDict[bytes, None], digest: bytes) -> None:
        box[digest] = None
        _bound(box, _REMEMBERED)


def _name(text: str) -> str:
    """A name or an id, which is no text: one that is too long is known by its hash."""
    return text if len(text) <= _NAME else _digest(text).hex()


def _bound(box: OrderedDict[Any, Any], limit: int) -> None:
    while len(box) > limit:
        box.popitem(last=False)


def _digest(*parts: str) -> bytes:
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        made.update(b"%d:" % len(data))
        made.update(data)
    return made.digest()


def _echo_digest(text: Any, calls: Iterable[Call]) -> bytes:
    made = text.copy()
    for call in calls:
        made.update(canonical([call.name, _arguments(call.arguments)]).encode("ascii"))
    return bytes(made.digest())


def _arguments(value: Any) -> dict[str, Any]:
    """Arguments as an object that a transcript can hold."""
    try:
        # Also what is an object already may hold an infinite number.
        text = value if isinstance(value, str) else json.dumps(value, allow_nan=False)
    except ValueError:
        return {"raw": repr(value)}
    return arguments_of(Node(text if value is not None else None, "arguments"), _CAPS)
