"""What somebody expects of a run before it starts."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..sandbox.errors import InputError
from ..tiers.yamlfile import read_yaml
from .schema import PredictionForm, PredictionsForm


@dataclass(frozen=True, slots=True)
class Prediction:
    """How many bugs a cell of the matrix is expected to resolve; `agent` None means every agent."""

    task: str
    arm: str
    agent: str | None
    resolved: float
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Predictions:
    """A predictions file. `sha256` is of its bytes and belongs to a run's frozen identity."""

    author: str | None
    entries: tuple[Prediction, ...]
    sha256: str

    def of(self, task: str, arm: str, agent: str) -> Prediction | None:
        """The prediction for a cell; one that names the agent comes first."""
        fits = [one for one in self.entries if (one.task, one.arm) == (task, arm) and one.agent in (None, agent)]
        return max(fits, key=lambda one: one.agent is not None, default=None)

    def identity(self) -> dict[str, object]:
        """What run.json freezes: a changed prediction is another run."""
        return {
            "sha256": self.sha256,
            "predictions": [
                {"task": one.task, "arm": one.arm, "agent": one.agent, "resolved": one.resolved} for one in self.entries
            ],
        }


def thawed(sha256: str, forms: Sequence[PredictionForm]) -> Predictions:
    """Predictions as a run's folder holds them."""
    return Predictions(None, _entries(forms), sha256)


def _entries(forms: Sequence[PredictionForm]) -> tuple[Prediction, ...]:
    return tuple(Prediction(p.task, p.arm, p.agent, float(p.resolved), p.why) for p in forms)


def load_predictions(path: Path, cells: Collection[tuple[str, str, str]], totals: dict[str, int]) -> Predictions:
    """A predictions file for a run of these cells (task, arm, agent); `totals` are the bugs of each task.

    InputError for a prediction of a cell that will not run, or of more bugs than there are: neither could be scored.
    """
    form, source = read_yaml(path, PredictionsForm, path.name)
    for index, one in enumerate(form.predictions):
        if not any((task, arm) == (one.task, one.arm) and one.agent in (None, agent) for task, arm, agent in cells):
            named = " ".join(filter(None, (one.task, one.arm, one.agent)))
            raise source.error(("predictions", index), f"the run has no cell {named}")
        if one.resolved > totals[one.task]:
            raise source.error(("predictions", index, "resolved"), f"{one.task} has {totals[one.task]} bugs")
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path.name}: {error.strerror}") from error
    return Predictions(form.author, _entries(form.predictions), digest)
