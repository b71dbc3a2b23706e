"""Puts a transcript together from what an importer finds, in order: numbers the steps, gives results to their calls.

Every importer goes through here, so the rules are in one place: ids that recur, results without a call,
calls that were issued again before they ran, the cap on steps, the totals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from ..errors import InputError
from .content import is_cut
from .model import (
    Agent,
    Content,
    FinalMetrics,
    Metrics,
    Observation,
    Result,
    Source,
    Step,
    ToolCall,
    Transcript,
    is_iso,
    totals,
)
from .reading import Caps
from .report import ImportReport, Tally
from .text import one_line


@dataclass(eq=False)
class Draft:
    """A step while it grows; `calls` (by id) and `results` are in the order in which they came."""

    source: Source
    texts: list[Content] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[str, ToolCall] = field(default_factory=dict)
    renamed: int = 1
    results: list[Result] = field(default_factory=list)
    timestamp: str | None = None
    model: str | None = None
    metrics: Metrics | None = None
    copied: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Whether nothing was said, called, reasoned or answered in it."""
        return not (any(self.texts) or self.reasoning or self.calls or self.results)


@dataclass
class Builder:
    """Collects drafts; `finish` makes the transcript and the report of them."""

    source: str
    format: str
    caps: Caps
    agent: str
    version: str | None = None
    agent_version: str | None = None
    model: str | None = None
    cwd: str | None = None
    session_id: str | None = None
    tools: list[dict[str, Any]] | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    final: FinalMetrics | None = None
    tally: Tally = field(default_factory=Tally)
    drafts: list[Draft] = field(default_factory=list)
    latest_agent: Draft | None = None
    # The step of each call that is not answered yet, and the ids of those that are.
    open: dict[str, Draft] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    aliases: dict[str, list[str]] = field(default_factory=dict)

    def step(
        self, source: Source, text: Content = "", *, timestamp: str | None = None, copied: bool = False, **extra: Any
    ) -> Draft:
        """Begin a step. Raises InputError when the transcript grows beyond the cap."""
        if len(self.drafts) >= self.caps.steps:
            raise InputError(f"{self.source}: has more than {self.caps.steps:,} steps; raise the cap or split it")
        kept = {name: value for name, value in extra.items() if value is not None}
        draft = Draft(source, [text] if text else [], timestamp=self.time(timestamp), copied=copied, extra=kept)
        self.drafts.append(draft)
        if source == "agent":
            self.latest_agent = draft
        return draft

    def call(self, draft: Draft, call_id: str | None, name: str, arguments: dict[str, Any], **extra: Any) -> str:
        """Add a call to a step and return its id, which may differ from the one given when that is taken."""
        kept = {key: value for key, value in extra.items() if value is not None}
        wanted = call_id or f"call_{len(self.drafts)}_{len(draft.calls) + 1}"
        same = draft.calls.get(wanted)
        if same is not None and same.function_name == name and same.arguments == arguments:
            self.tally.drop("duplicate", "the same call written twice in one step")
            return wanted
        if same is not None:
            self.tally.warn(f"{self.source}: call id {one_line(wanted, 40)!r} names two calls of one step; one renamed")
            while wanted in draft.calls:
                draft.renamed += 1
                wanted = f"{call_id}#{draft.renamed}"
            self.aliases.setdefault(str(call_id), []).append(wanted)
        elif wanted in self.open:
            self._supersede(wanted)
        made = ToolCall(tool_call_id=wanted, function_name=name, arguments=arguments, extra=kept or None)
        draft.calls[wanted] = made
        self.open[wanted] = draft
        return wanted

    def _supersede(self, call_id: str) -> None:
        """An id issued again before any result: the first call was an attempt that never ran."""
        del self.open.pop(call_id).calls[call_id]
        self.tally.drop("superseded_call", "issued again under the same id before it had run")

    def result(self, call_id: str | None, content: Content | None, *, error: bool = False, **extra: Any) -> None:
        """Give a result to its call; without a known call it goes to the agent's latest step, unattributed."""
        kept = {name: value for name, value in extra.items() if value is not None}
        if error:
            kept["is_error"] = True
        if isinstance(content, str) and is_cut(content):
            self.tally.drop("cut_output", "output that the agent was shown only in part")
            kept["is_cut"] = True
        if call_id is not None and call_id not in self.open and self.aliases.get(call_id):
            call_id = self.aliases[call_id].pop(0)
        if call_id is not None and call_id in self.open:
            draft = self.open.pop(call_id)
            self.answered.add(call_id)
        elif call_id is not None and call_id in self.answered:
            self.tally.drop("duplicate", "a second result for the same call")
            return
        else:
            found = self.latest_agent if self.latest_agent is not None else self.step("system")
            if call_id is not None:
                self.tally.warn(f"{self.source}: result for unknown call {one_line(call_id, 40)!r}; kept unattributed")
                call_id = None
            draft = found
        draft.results.append(Result(source_call_id=call_id, content=content, extra=kept or None))

    def time(self, value: object) -> str | None:
        """A timestamp as ISO 8601: text as it is if it is that, seconds since 1970 converted, else nothing."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                return datetime.fromtimestamp(value, UTC).isoformat().replace("+00:00", "Z")
            except (OverflowError, ValueError, OSError):
                self.tally.warn(f"{self.source}: a time that is no time; left out")
                return None
        if not isinstance(value, str):
            return None
        if is_iso(value):
            return value
        self.tally.warn(f"{self.source}: time {one_line(value, 40)!r} is not ISO 8601; left out")
        return None

    def finish(self) -> tuple[Transcript, ImportReport]:
        """The transcript and the report. Raises InputError when there is nothing to make one of."""
        drafts = [draft for draft in self.drafts if not draft.is_empty()]
        if not drafts:
            raise InputError(f"{self.source}: holds no step; give a transcript in which something was said")
        self._mark_unanswered(drafts)
        try:
            steps = tuple(_frozen(number, draft) for number, draft in enumerate(drafts, start=1))
            transcript = Transcript(
                session_id=self.session_id,
                agent=Agent(
                    name=self.agent,
                    version=self.agent_version or "unknown",
                    model_name=self.model,
                    tool_definitions=self.tools,
                ),
                steps=steps,
                final_metrics=self._totals(totals(steps), len(steps)),
                extra=self._extra(),
            )
        except ValidationError as e:
            raise InputError(f"{self.source}: {validation_text(e)}") from e
        return transcript, self.tally.report(self.source, self.format, self.version)

    def _totals(self, summed: FinalMetrics | None, steps: int) -> FinalMetrics | None:
        """What the source tells of the whole (it may know of calls that left no step), else what the steps add up to."""
        if summed is None and self.final is None:
            return None
        own = summed.model_dump(exclude_none=True) if summed else {}
        whole = self.final.model_dump(exclude_none=True) if self.final else {}
        for name in ("total_prompt_tokens", "total_completion_tokens"):
            if name in own and own[name] != whole.get(name, own[name]):
                more = f"{name} is told as {whole[name]:,}, the steps add up to {own[name]:,}; kept what is told"
                self.tally.warn(f"{self.source}: {more}")
        return FinalMetrics(**{**own, **whole, "total_steps": steps})

    def _extra(self) -> dict[str, Any]:
        found = {"cwd": self.cwd, "imported_from": {"format": self.format, "version": self.version}, **self.extra}
        return {name: value for name, value in found.items() if value is not None}

    def _mark_unanswered(self, drafts: list[Draft]) -> None:
        """A call that got no result though the agent went on did not run; one in the last step may have."""
        if not any(draft.results for draft in drafts):
            return
        last = next((draft for draft in reversed(drafts) if draft.source == "agent"), None)
        for call_id, draft in self.open.items():
            if draft is not last:
                made = draft.calls[call_id]
                draft.calls[call_id] = made.model_copy(update={"extra": {**(made.extra or {}), "unanswered": True}})


def validation_text(error: ValidationError, root: str = "$") -> str:
    """What a model refused first: its JSON path and why. Of the ways a value could have fitted, the closest tells."""
    found = [(_path(one["loc"]), one["msg"]) for one in error.errors(include_url=False, include_input=False)]
    first = found[0][0]
    path, message = max((one for one in found if one[0].startswith(first)), key=lambda one: len(one[0]))
    return f"{one_line(root + path, 200)}: {one_line(message.removeprefix('Value error, '), 200)}"


def _path(loc: tuple[int | str, ...]) -> str:
    """The JSON path of a place in a model, without the names of the types tried there."""
    steps = [key for key in loc if isinstance(key, int) or (key not in ("str", "float") and "[" not in key)]
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in steps)


def _frozen(number: int, draft: Draft) -> Step:
    agent = draft.source == "agent"
    return Step(
        step_id=number,
        timestamp=draft.timestamp,
        source=draft.source,
        model_name=draft.model if agent else None,
        message=_message(draft.texts),
        reasoning_content="\n\n".join(draft.reasoning) or None,
        tool_calls=tuple(draft.calls.values()) or None,
        observation=Observation(results=tuple(draft.results)) if draft.results else None,
        metrics=draft.metrics,
        is_copied_context=True if draft.copied else None,
        extra=draft.extra or None,
    )


def _message(texts: list[Content]) -> Content:
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(text for text in texts if isinstance(text, str))
