"""What the scorecards of a run come to, in numbers that add up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from .scorecard import COUNTED, NotesUse, Scorecard
from .text import one_line, path_text, ranges

# What an agent did on its way; the other notes are about what could not be read.
_CONDUCT = frozenset({"tampered", "other_release", "vendored", "rewritten", "stdlib_shadowed", "environment"})


@dataclass(frozen=True)
class Totals:
    """graded + agent_failures + machinery_failures + refused + pending = planned; `missing` names the pending ones.

    `refused`: what was to be planted had no place.
    """

    planned: int
    graded: int
    agent_failures: int
    machinery_failures: int
    pending: int
    missing: tuple[str, ...] = ()
    refused: int = 0

    @property
    def sentence(self) -> str:
        """The sum, written out."""
        parts = f"{self.graded} graded + {self.agent_failures} agent failures"
        parts += f" + {self.machinery_failures} machinery failures"
        parts += f" + {self.refused} refused" if self.refused else ""
        return f"{parts} + {self.pending} pending = {self.planned} planned"


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
class Table:
    """A table that some runs have beside that of their cells; `data` is what summary.json holds of it under `key`.

    `upright`: it is narrow and long, so a terminal shows it as it is.
    """

    key: str
    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    data: tuple[Mapping[str, object], ...] = ()
    upright: bool = False


@dataclass(frozen=True)
class RunSummary:
    """A run in numbers: `planned` are the names of all trials in the order of the plan."""

    run: str
    totals: Totals
    cells: tuple[Cell, ...]
    trials: tuple[tuple[str, Scorecard | None], ...]
    tables: tuple[Table, ...] = ()


def summarize(
    run: str, planned: Sequence[str], scorecards: Mapping[str, Scorecard], tables: Sequence[Table] = ()
) -> RunSummary:
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
        refused=sum(card.outcome == "refused" for card in cards),
    )
    groups: dict[tuple[str, str, str, str], list[Scorecard]] = {}
    for card in cards:
        groups.setdefault((card.task, str(card.variant), card.condition, card.agent), []).append(card)
    cells = tuple(_cell(key, group) for key, group in groups.items())
    return RunSummary(run, totals, cells, trials, tuple(tables))


def reason(card: Scorecard | None) -> str:
    """In a line, why a trial did not get all it could; "" when it did."""
    if card is None:
        return "pending: no scorecard"
    if card.failure and card.failure.side == "poison":
        return one_line(f"refused: {card.failure.message}", 600)
    if card.failure:
        return one_line(f"{card.failure.side} failure: {card.failure.kind}: {card.failure.message}", 600)
    if card.retention is None:
        return ""
    if card.retention.zeroed_by:
        return one_line("; ".join(zeroed.detail for zeroed in card.retention.zeroed_by), 600)
    failed = [check.id for check in card.retention.checks if not check.passed]
    return f"failed: {ranges(failed)}" if failed else ""


def limit_text(use: NotesUse | None) -> str:
    """How much of their limit notes took, in words."""
    if use is None:
        return ""
    if use.tokens is None:
        return path_text(f"{use.file}: not counted: {use.problem}")
    over = "" if use.within else ", above its limit"
    return path_text(f"{use.file}: {use.tokens:,} of {use.limit:,} tokens ({use.tokenizer}){over}")


def breaches(card: Scorecard) -> list[str]:
    """Limits of notes that a trial did not keep, which costs nothing."""
    uses = [session.notes_use for session in card.sessions if session.notes_use and session.notes_use.within is False]
    return [limit_text(use) for use in uses]


def conduct(card: Scorecard) -> str:
    """In a line, what a trial did to come by its points that is worth a look, and costs none; "" for nothing."""
    notes = card.retention.notes if card.retention else ()
    kinds = dict.fromkeys(note.kind for note in notes if note.kind in _CONDUCT)
    return f"noted: {', '.join(kinds)}" if kinds else ""


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
        **{table.key: [dict(row) for row in table.data] for table in summary.tables},
    }
    return (json.dumps(data, ensure_ascii=True, allow_nan=False, sort_keys=True, indent=2) + "\n").encode("ascii")


def _cell(key: tuple[str, str, str, str], cards: Sequence[Scorecard]) -> Cell:
    counted = [card for card in cards if card.outcome in COUNTED]
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
        reasons=tuple(
            dict.fromkeys(text for card in cards for text in (reason(card), *breaches(card), conduct(card)) if text)
        ),
    )


def _mean(values: Sequence[float], count: int) -> float | None:
    """The mean over `count`, of which those that have no value are zeros."""
    return round(sum(values) / count, 3) if count else None
