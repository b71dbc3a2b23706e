"""ATIF 1.8, the one form in which a session's transcript is kept, whoever wrote it.

The models are the edge: what they hold was checked, and nothing in them is changed afterwards.
Token counts follow one convention: `prompt_tokens` holds all input, `cached_tokens` is the part of it read from a cache.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from .text import clean_json

SCHEMA_VERSION: Literal["ATIF-v1.8"] = "ATIF-v1.8"
READABLE_VERSIONS = tuple(f"ATIF-v1.{minor}" for minor in range(9))
MAX_COUNT = 2**53

Source = Literal["system", "user", "agent"]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]
# JavaScript cuts emoji in half: lone surrogates reach us from every provider, and UTF-8 cannot carry them.
Text = Annotated[str, BeforeValidator(clean_json)]
Extra = Annotated[dict[str, Any], BeforeValidator(clean_json)]
Media = Literal[
    "image/jpeg", "image/png", "image/gif", "image/webp",
    "audio/wav", "audio/mpeg", "audio/mp4", "audio/aac", "audio/ogg", "audio/flac", "audio/webm", "audio/aiff",
]  # fmt: skip

_AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


class _Atif(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class MediaSource(_Atif):
    """Where an image or a sound is kept: a path beside the transcript, or a URL."""

    media_type: Media
    path: Text
    duration_sec: Money | None = None


class ContentPart(_Atif):
    """One part of a message that is more than text."""

    type: Literal["text", "image", "audio"]
    text: Text | None = None
    source: MediaSource | None = None

    @model_validator(mode="after")
    def _payload_fits(self) -> ContentPart:
        if self.type == "text":
            if self.text is None or self.source is not None:
                raise ValueError("a text part has `text` and no `source`")
        elif self.source is None or self.text is not None:
            raise ValueError(f"a part of type {self.type} has `source` and no `text`")
        elif not self.source.media_type.startswith(self.type):
            raise ValueError(f"a part of type {self.type} cannot hold {self.source.media_type}")
        return self


Parts = Annotated[tuple[ContentPart, ...], Field(strict=False)]
Content = Text | Parts


class ToolCall(_Atif):
    """One call of a tool; its result names it by `tool_call_id`."""

    tool_call_id: Text
    function_name: Text
    arguments: Extra
    extra: Extra | None = None


class SubagentRef(_Atif):
    """Where a delegated transcript is: embedded (`trajectory_id`) or in a file (`trajectory_path`)."""

    trajectory_id: Text | None = None
    trajectory_path: Text | None = None
    session_id: Text | None = None
    extra: Extra | None = None

    @model_validator(mode="after")
    def _resolvable(self) -> SubagentRef:
        if self.trajectory_id is None and self.trajectory_path is None:
            raise ValueError("set `trajectory_id` or `trajectory_path`")
        return self


class Result(_Atif):
    """What one call, or the environment by itself, answered."""

    source_call_id: Text | None = None
    content: Content | None = None
    subagent_trajectory_ref: Annotated[tuple[SubagentRef, ...], Field(strict=False)] | None = None
    extra: Extra | None = None


class Observation(_Atif):
    """All results that a step got."""

    results: Annotated[tuple[Result, ...], Field(strict=False)]


class Metrics(_Atif):
    """What one step cost: tokens, and US dollars where the source knew them."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    cost_usd: Money | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: Extra | None = None


class FinalMetrics(_Atif):
    """What the whole transcript cost."""

    total_prompt_tokens: Count | None = None
    total_completion_tokens: Count | None = None
    total_cached_tokens: Count | None = None
    total_cost_usd: Money | None = None
    total_steps: Count | None = None
    extra: Extra | None = None


class Step(_Atif):
    """A prompt, or one turn of the agent: what it said, what it called, what came back."""

    step_id: Annotated[int, Field(ge=1)]
    timestamp: Text | None = None
    source: Source
    model_name: Text | None = None
    reasoning_effort: Text | float | None = None
    message: Content
    reasoning_content: Text | None = None
    tool_calls: Annotated[tuple[ToolCall, ...], Field(strict=False)] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    llm_call_count: Count | None = None
    is_copied_context: bool | None = None
    extra: Extra | None = None

    @field_validator("timestamp")
    @classmethod
    def _iso(cls, value: str | None) -> str | None:
        if value is not None and not is_iso(value):
            raise ValueError("write it as ISO 8601, such as 2026-01-02T03:04:05Z")
        return value

    @model_validator(mode="after")
    def _fits_source(self) -> Step:
        if self.source != "agent":
            for name in _AGENT_ONLY:
                if getattr(self, name) is not None:
                    raise ValueError(f"`{name}` belongs to steps of the agent; this one is of the {self.source}")
        if self.llm_call_count == 0 and (self.metrics is not None or self.reasoning_content is not None):
            raise ValueError("a step without a model call has neither `metrics` nor `reasoning_content`")
        ids = {call.tool_call_id for call in self.tool_calls or ()}
        if len(ids) != len(self.tool_calls or ()):
            raise ValueError("two calls of this step have the same `tool_call_id`")
        for result in self.observation.results if self.observation else ():
            if result.source_call_id is not None and result.source_call_id not in ids:
                raise ValueError(f"result for {result.source_call_id[:60]!r}, which this step did not call")
        return self


class Agent(_Atif):
    """Who acted."""

    name: Text
    version: Text
    model_name: Text | None = None
    tool_definitions: list[Extra] | None = None
    extra: Extra | None = None


class Transcript(_Atif):
    """The whole of one session, in order."""

    schema_version: Literal["ATIF-v1.8"] = SCHEMA_VERSION
    session_id: Text | None = None
    trajectory_id: Text | None = None
    agent: Agent
    steps: Annotated[tuple[Step, ...], Field(strict=False, min_length=1)]
    notes: Text | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: Text | None = None
    subagent_trajectories: Annotated[tuple[Transcript, ...], Field(strict=False)] | None = None
    extra: Extra | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Transcript:
        for number, step in enumerate(self.steps, start=1):
            if step.step_id != number:
                raise ValueError(f"step_id {step.step_id} stands where {number} is due; number the steps from 1")
        ids = [sub.trajectory_id for sub in self.subagent_trajectories or ()]
        if None in ids or len(set(ids)) != len(ids):
            raise ValueError("every embedded trajectory needs a `trajectory_id` of its own")
        return self

    def to_json(self) -> dict[str, Any]:
        """The document as plain data, unset fields left out."""
        return self.model_dump(mode="json", exclude_none=True)


def is_iso(value: str) -> bool:
    """Whether a timestamp is ISO 8601."""
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def results_by_call(step: Step) -> dict[str | None, list[Result]]:
    """The results of a step by the call they answer; None for what answers none."""
    found: dict[str | None, list[Result]] = {}
    for result in step.observation.results if step.observation else ():
        found.setdefault(result.source_call_id, []).append(result)
    return found


def plain(content: Content | None) -> str:
    """The text of a message or a result; what is not text stands there as `[image]` or `[audio]`."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(part.text if part.text is not None else f"[{part.type}]" for part in content)


def totals(steps: tuple[Step, ...]) -> FinalMetrics | None:
    """The sums of the steps' own metrics, copied steps left out; nothing if no step has any."""
    own = [step.metrics for step in steps if step.metrics is not None and not step.is_copied_context]
    if not own:
        return None

    def added(name: str) -> int | None:
        known = [getattr(one, name) for one in own if getattr(one, name) is not None]
        return min(sum(known), MAX_COUNT) if known else None

    costs = [one.cost_usd for one in own if one.cost_usd is not None]
    return FinalMetrics(
        total_prompt_tokens=added("prompt_tokens"),
        total_completion_tokens=added("completion_tokens"),
        total_cached_tokens=added("cached_tokens"),
        total_cost_usd=float(sum(costs)) if costs else None,
        total_steps=len(steps),
    )
