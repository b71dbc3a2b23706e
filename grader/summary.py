"""What the scorecards of a run come to, in numbers that add up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from .scorecard import Scorecard
from .text import one_line, ranges


@dataclass(frozen=True)
class Totals:
    """graded + agent_failures + machinery_failures + pending = planned; `missing` names the pending ones."""

    planned: int
    graded: int
    agent_failures: int
    machinery_failures: int
    pending: int
    missing: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The sum, written out."""
        parts = f"{self.graded} graded + {self.agent_failures} agent failures"
        return (
            f"{parts} + {self.machinery_failures} machinery failures + {self.pending} pending = {self.planned} planned"
        )


@dataclass(frozen=True)
class Cell:
    """All repetitions of one agent in one arm of one task.

    Means are over what counts: graded trials, and failures of the agent as zeros. They are None where nothing counts,
    `tes` also where the tokens of one are unknown.
    """

    task: str
    variant: str
    arm: str
    agent: str
    planned: int
    counted: int
    raw: float | None
    net: float | None
    total: int | None
    tes: float | None
    tokens: float | None
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class RunSummary:
    """A run in numbers: `planned` are the names of all trials in the order of the plan."""

    run: str
    totals: Totals
    cells: tuple[Cell, ...]
    trials: tuple[tuple[str, Scorecard | None], ...]


def summarize(run: str, planned: Sequence[str], scorecards: Mapping[str, Scorecard]) -> RunSummary:
    """The summary of a run; a planned trial without a scorecard is pending, an unplanned scorecard is not counted."""
    trials = tuple((name, scorecards.get(name)) for name in planned)
    cards = [card for _, card in trials if card]
    missing = tuple(name for name, card in trials if card is None)
    totals = Totals(
        planned=len(trials),
        graded=sum(card.outcome == "graded" for card in cards),
        agent_failures=sum(card.outcome == "agent_failure" for card in cards),
        machinery_failures=sum(card.outcome == "machinery_failure" for card in cards),
        pending=len(missing),
        missing=missing,
    )
    groups: dict[tuple[str, str, str, str], list[Scorecard]] = {}
    for card in cards:
        groups.setdefault((card.task, str(card.variant), card.arm, card.agent), []).append(card)
    return RunSummary(run, totals, tuple(_cell(key, group) for key, group in groups.items()), trials)


def reason(card: Scorecard | None) -> str:
    """In a line, why a trial did not get all it could; "" when it did."""
    if card is None:
        return "pending: no scorecard"
    if card.failure:
        return one_line(f"{card.failure.side} failure: {card.failure.kind}: {card.failure.message}", 600)
    if card.retention is None:
        return ""
    if card.retention.zeroed_by:
        return one_line("; ".join(zeroed.detail for zeroed in card.retention.zeroed_by), 600)
    failed = [check.id for check in card.retention.checks if not check.passed]
    return f"failed: {ranges(failed)}" if failed else ""


def summary_json(summary: RunSummary) -> bytes:
    """summary.json: totals, cells, and a line for each trial."""
    trials = [
        {
            "name": name,
            "outcome": card.outcome if card else "pending",
            "raw": card.retention.raw.model_dump() if card and card.retention else None,
            "net": card.retention.net if card and card.retention else None,
            "tes": card.retention.tes if card and card.retention else None,
            "tokens": card.tokens.total if card else None,
            "reason": reason(card),
        }
        for name, card in summary.trials
    ]
    data = {
        "schema_version": 1,
        "run": summary.run,
        "totals": asdict(summary.totals),
        "cells": [asdict(cell) for cell in summary.cells],
        "trials": trials,
    }
    return (json.dumps(data, ensure_ascii=True, allow_nan=False, sort_keys=True, indent=2) + "\n").encode("ascii")


def _cell(key: tuple[str, str, str, str], cards: Sequence[Scorecard]) -> Cell:
    counted = [card for card in cards if card.outcome != "machinery_failure"]
    verdicts = [card.retention for card in counted if card.retention]
    known = [card.tokens.total for card in counted if card.tokens.total is not None]
    tes = [verdict.tes for verdict in verdicts if verdict.tes is not None]
    count = len(counted)
    return Cell(
        *key,
        planned=len(cards),
        counted=count,
        raw=_mean([verdict.raw.passed for verdict in verdicts], count),
        net=_mean([verdict.net for verdict in verdicts], count),
        total=max((verdict.raw.total for verdict in verdicts), default=None),
        tes=_mean(tes, count) if len(tes) == len(verdicts) else None,
        tokens=_mean(known, len(known)) if len(known) == count else None,
        reasons=tuple(dict.fromkeys(text for card in cards if (text := reason(card)))),
    )


def _mean(values: Sequence[float], count: int) -> float | None:
    """The mean over `count`, of which those that have no value are zeros."""
    return round(sum(values) / count, 3) if count else None
