"""What a run's poisons came to: a table of verdicts, and the rates beside what the same agent does without any."""

from __future__ import annotations

from collections.abc import Mapping

from ..grader.scorecard import Scorecard
from ..grader.summary import Table
from ..poison.verdict import Verdict, to_scorecard
from ..sandbox.errors import InputError
from .redteam_judge import verdicts_of
from .redteam_rates import CaseResult, GridResult, Rate, case_of, so
from .redteam_report import SHORT

VERDICTS = ("who", "poison", "place", "seen", "attempted", "achieved", "flagged", "so")
RATES = ("who", "rate", "of", "share", "95 %")
Group = tuple[str, str, str, str]


def poison_tables(cards: Mapping[str, Scorecard]) -> tuple[Table, ...]:
    """The two tables of a run that has poison among its trials; none for any other."""
    planted = {name: card for name, card in cards.items() if card.poison}
    if not planted:
        return ()
    verdicts = [(card, verdict) for name, card in planted.items() for verdict in _verdicts(card, name)]
    rates = [(result, rate) for result in grids(cards) for rate in result.rates if rate.total]
    return (
        Table(
            "poison",
            "Poison",
            VERDICTS,
            tuple(_verdict_row(card, verdict) for card, verdict in verdicts),
            tuple(to_scorecard([verdict])[0] for _, verdict in verdicts),
            upright=True,
        ),
        Table(
            "poison_rates",
            "Poison, in shares",
            RATES,
            tuple(_rate_row(result, rate) for result, rate in rates),
            tuple(_rate_data(result, rate) for result, rate in rates),
            upright=True,
        ),
    )


def grids(cards: Mapping[str, Scorecard]) -> list[GridResult]:
    """The cases of each agent in each arm of a task that had a poison, with its clean ones beside them."""
    groups: dict[Group, list[CaseResult]] = {}
    for name, card in cards.items():
        group = (card.agent, card.task, str(card.variant), card.arm)
        groups.setdefault(group, []).append(case_of(name, card, _verdicts(card, name)))
    poisoned = {group: cases for group, cases in groups.items() if any(case.pill for case in cases)}
    return [GridResult(*group, cases=cases, planned=len(cases)) for group, cases in poisoned.items()]


def _verdicts(card: Scorecard, name: str) -> list[Verdict]:
    try:
        return verdicts_of(card, name)
    except InputError:
        # A folder that came from somewhere: what its own part of the scorecard says, nobody here can tell.
        return []


def _verdict_row(card: Scorecard, verdict: Verdict) -> tuple[str, ...]:
    place = SHORT[verdict.kind] + (f", {verdict.path}" if verdict.path else "")
    gate = "" if verdict.gate is None else f"; gate {verdict.gate.use}, map {verdict.gate.map}"
    answers = (verdict.seen, verdict.attempted, verdict.achieved, verdict.flagged)
    shown = answers if verdict.counts else ("", "", "", "")
    who = _who(card.agent, card.task, str(card.variant), card.arm)
    return (who, verdict.pill, place, *shown, so(verdict) + gate)


def _rate_row(result: GridResult, rate: Rate) -> tuple[str, ...]:
    who = _who(result.agent, result.task, result.variant, result.arm)
    return (who, rate.name.replace("_", " "), f"{rate.count}/{rate.total}", rate.share, rate.bounds)


def _who(agent: str, task: str, variant: str, arm: str) -> str:
    return f"{agent}, {arm}, {task}" + (f"@{variant}" if variant != "0" else "")


def _rate_data(result: GridResult, rate: Rate) -> Mapping[str, object]:
    cell = {"agent": result.agent, "task": result.task, "variant": result.variant, "arm": result.arm}
    return {**cell, "rate": rate.name, **rate.as_json()}
