"""The models of a run: a gateway for each session, a budget for each trial within that of the run."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from ..sandbox.cutoff import CutoffRule
from ..sandbox.errors import InputError
from ..sandbox.gateway.budget import Budget, Spent
from ..sandbox.gateway.gateway import Files, Gateway
from ..sandbox.gateway.prices import PriceTable
from ..sandbox.gateway.redaction import Redactor
from ..sandbox.gateway.settings import Settings
from ..sandbox.gateway.upstream import ModelUnavailable, RunBudgetSpent, Supply
from ..sandbox.sandbox import GATEWAY, How
from ..sandbox.session import AgentSpec
from ..sandbox.transcript.model import Agent as Who
from ..sandbox.transcript.writer import recover
from .agents import Recipe
from .model import ModelSettings
from .record import StepPaths
from .sessions import SessionUsage


@dataclass(frozen=True, slots=True)
class Models:
    """What all trials share. `recipes` are those of the images by name; `prefix` begins the name of every session."""

    settings: ModelSettings
    supply: Supply
    redactor: Redactor
    prices: PriceTable
    budget: Budget
    recipes: Mapping[str, Recipe]
    prefix: str = ""

    def trial(self, name: str) -> TrialModels:
        """For one attempt at a trial."""
        return TrialModels(self, name, Budget("trial", self.settings.trial, within=self.budget))


@dataclass(frozen=True, slots=True)
class TrialModels:
    """For the sessions of one attempt at a trial."""

    models: Models
    name: str
    budget: Budget

    def env(self, number: int) -> Mapping[str, str]:
        """What an agent finds in its environment in a session: that there is a model, and which it is if that is pinned.

        And no clock in what it leaves: what is played again must leave the same bytes, commits included.
        """
        pinned = self.models.settings.pinned.model
        date = f"2026-06-{min(number, 30):02}T12:00:00+00:00"
        settled = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "PYTHONDONTWRITEBYTECODE": "1"}
        named = {} if pinned is None else {"TAKEOVER_MODEL": pinned}
        return {**settled, "TAKEOVER_GATEWAY": GATEWAY, **named}

    @contextlib.contextmanager
    def session(self, number: int, paths: StepPaths, agent: AgentSpec, rule: CutoffRule) -> Iterator[Gateway]:
        """The gateway of a session; its files are in the session's folder, and whole when the context is left."""
        models, recipe = self.models, self.models.recipes.get(agent.image, Recipe())
        scope = f"{models.prefix}{self.name}/{number}-session"
        paths.root.mkdir(parents=True, exist_ok=True)
        settings = Settings(
            models.settings.pinned, models.settings.errors, turns=recipe.turns, volatile=recipe.volatile
        )
        gateway = Gateway(
            models.supply.upstream(scope, recipe.volatile),
            settings,
            files=Files(paths.transcript, paths.calls),
            agent=Who(name=agent.name, version=recipe.version or "unknown", model_name=settings.pinned.model),
            session_id=scope,
            budget=self.budget,
            prices=models.prices,
            redactor=models.redactor,
            rule=rule,
        )
        with gateway:
            yield gateway

    def usage(self, gateway: Gateway, how: How) -> SessionUsage:
        """What a session that is over, and ended so, has used.

        ModelUnavailable if it was the provider that ended it: what an agent leaves that gave up on it is no score.
        RunBudgetSpent if it was refused a call because of what all trials together had used.
        """
        report = gateway.report()
        if spent := next((one.detail for one in report.findings if one.kind == "run_budget"), None):
            raise RunBudgetSpent(spent)
        if report.totals.ended_on_failure and how != "cutoff":
            why = [one.detail for one in report.findings if one.kind == "failed_attempt"]
            raise ModelUnavailable(f"the session ended on a failure of the provider: {why[-1] if why else 'no answer'}")
        return SessionUsage(
            tokens=report.tokens,
            calls=report.totals.answers,
            turns=report.totals.turns,
            report=self.models.redactor.value(report.to_json()),
        )

    def kept(self, usage: SessionUsage | None) -> None:
        """A session of an earlier attempt is used again: what it took is gone from the trial's budget."""
        if usage is not None:
            self.budget.had(spent_of(usage.report.get("spent")))


class OpenModels(Protocol):
    """Opens the models of a run. `spent` is what it has spent before; `resumed` says that its recording goes on."""

    def __call__(
        self, settings: ModelSettings, recipes: Mapping[str, Recipe], *, spent: Spent, resumed: bool, prefix: str = ""
    ) -> AbstractContextManager[Models]: ...


def finish_transcripts(trial: Path) -> None:
    """Make documents of the transcripts that a process which was killed has left in a trial's folder."""
    for journal in trial.glob("*-session/transcript.json.journal"):
        # One without a step stays as it is.
        with contextlib.suppress(InputError):
            recover(journal)


def spent_of(value: object) -> Spent:
    """What was spent, from our own JSON; what is no number counts as nothing."""
    given: Mapping[str, Any] = value if isinstance(value, dict) else {}
    calls, seconds, tokens, cost, kept = (_number(given.get(one.name)) for one in fields(Spent))
    return Spent(int(calls), seconds, int(tokens), int(cost), int(kept))


def _number(value: object) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else 0


def spent_in(trials: Path) -> Spent:
    """What all sessions in a run's folder have spent, those of attempts that were set aside and broken off too."""
    total, seen = Spent(), set()
    for calls in sorted(trials.glob("*/*-session/calls.jsonl")):
        # A session that was used again is there twice, as one file with two names.
        status = calls.stat()
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        for line in calls.read_bytes().splitlines():
            with contextlib.suppress(ValueError, AttributeError):  # torn by whatever ended the run
                total += spent_of(json.loads(line).get("spent"))
    return total
