"""The table of a run on real codebases: resolved, predicted, turns, tokens, and what they cost beside Vanilla."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from .predictions import Predictions
from .rereads import Rereads

VANILLA = "Vanilla"
UNKNOWN = "n/a"
HEADINGS = (
    "Task",
    "Arm",
    "Agent",
    "Trials",
    "Resolved",
    "Net",
    "Predicted",
    "Turns (S1+S2)",
    "Tokens (S1+S2)",
    "Total tokens",
    "vs Vanilla",
    "Tokens per bug",
    "Wall time",
    "Re-reads",
)


@dataclass(frozen=True, slots=True)
class SessionCost:
    """What a session took; None where nobody measured it. Tokens as the scorecard's provenance counts them."""

    turns: int | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TrialCost:
    """One trial with a verdict: `resolved` hidden checks of `total` passed, `net` counts 0 where the rest broke.

    `told` are the tokens of all sessions as the scorecard has them; those of a session may be unknown all the same.
    """

    task: str
    variant: str
    arm: str
    agent: str
    resolved: int
    net: int
    total: int
    sessions: tuple[SessionCost, ...]
    rereads: Rereads | None = None
    told: int | None = None

    @property
    def tokens(self) -> float | None:
        """Of all sessions; unknown if one of them is, and nobody told."""
        counted = _sum(session.tokens for session in self.sessions)
        return self.told if counted is None else counted


@dataclass(frozen=True, slots=True)
class Row:
    """One cell: means over its trials; None where a trial's number is unknown.

    `times_vanilla` is tokens as a multiple of the same agent's Vanilla on the same task; `error` is resolved less
    predicted; `tokens_per_bug` is None where nothing was resolved.
    """

    task: str
    variant: str
    arm: str
    agent: str
    trials: int
    resolved: float
    net: float
    total: int
    predicted: float | None
    turns: tuple[float | None, ...]
    tokens: tuple[float | None, ...]
    total_tokens: float | None
    times_vanilla: float | None
    tokens_per_bug: float | None
    seconds: float | None
    repeated_views: float | None
    repeated_lines: float | None

    @property
    def error(self) -> float | None:
        """How far the prediction was off; above 0, more was resolved than expected."""
        return None if self.predicted is None else self.resolved - self.predicted


def table(trials: Sequence[TrialCost], predictions: Predictions | None = None) -> list[Row]:
    """One row for each cell, in the order in which they first come."""
    cells: dict[tuple[str, str, str, str], list[TrialCost]] = {}
    for trial in trials:
        cells.setdefault((trial.task, trial.variant, trial.arm, trial.agent), []).append(trial)
    rows = []
    for (task, variant, arm, agent), group in cells.items():
        plain = cells.get((task, variant, VANILLA, agent), [])
        said = predictions.of(task, arm, agent) if predictions else None
        rows.append(_row(group, plain, None if said is None else said.resolved))
    return rows


def _row(group: Sequence[TrialCost], vanilla: Sequence[TrialCost], predicted: float | None) -> Row:
    first = group[0]
    tokens, plain = _mean(one.tokens for one in group), _mean(one.tokens for one in vanilla)
    resolved = fmean(one.resolved for one in group)
    count = max(len(one.sessions) for one in group)
    by_session = [[one.sessions[n] if n < len(one.sessions) else SessionCost() for one in group] for n in range(count)]
    reread = [one.rereads for one in group]
    return Row(
        task=first.task,
        variant=first.variant,
        arm=first.arm,
        agent=first.agent,
        trials=len(group),
        resolved=resolved,
        net=fmean(one.net for one in group),
        total=first.total,
        predicted=predicted,
        turns=tuple(_mean(session.turns for session in sessions) for sessions in by_session),
        tokens=tuple(_mean(session.tokens for session in sessions) for sessions in by_session),
        total_tokens=tokens,
        times_vanilla=None if tokens is None or not plain else tokens / plain,
        tokens_per_bug=None if tokens is None or not resolved else tokens / resolved,
        seconds=_mean(_sum(session.seconds for session in one.sessions) for one in group),
        repeated_views=_mean(None if one is None else one.repeated for one in reread),
        repeated_lines=_mean(None if one is None else one.lines for one in reread),
    )


def cells_of(row: Row) -> tuple[str, ...]:
    """The row as `HEADINGS` has it; what is unknown reads n/a, never 0."""
    task = row.task if row.variant == "0" else f"{row.task}@{row.variant}"
    predicted = UNKNOWN if row.error is None else f"{_number(row.predicted)} ({row.error:+g})"
    return (
        task,
        row.arm,
        row.agent,
        str(row.trials),
        f"{_number(row.resolved)}/{row.total}",
        _number(row.net),
        predicted,
        "+".join(map(_number, row.turns)) or UNKNOWN,
        "+".join(map(_number, row.tokens)) or UNKNOWN,
        _number(row.total_tokens),
        UNKNOWN if row.times_vanilla is None else f"{row.times_vanilla:.2f}x",
        _number(row.tokens_per_bug),
        UNKNOWN if row.seconds is None else f"{row.seconds:.0f} s",
        UNKNOWN
        if row.repeated_views is None
        else f"{_number(row.repeated_views)} ({_number(row.repeated_lines)} lines)",
    )


def markdown(rows: Iterable[Row]) -> str:
    """The table for a report."""
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *map(cells_of, rows)]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _number(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.2f}".rstrip("0")


def _mean(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return fmean(one for one in known if one is not None) if known and None not in known else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return sum(one for one in known if one is not None) if known and None not in known else None
