"""How much is kept as a function of something: of the point at which session 1 was cut, or of the wave that asked.

curves.json in a run's folder holds them. docs/leaderboard.md says how to read them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..grader.report import number
from ..grader.scorecard import COUNTED, Scorecard
from ..grader.summary import Table
from ..grader.text import path_text
from ..sandbox.errors import InputError
from ..tiers.load import load_task
from ..tiers.task import Task
from .record import write_bytes

FILE = "curves.json"
TITLE = "Net by wave, and the area under it"
FORMULA = (
    "share = net / requirements at each of n points; "
    "area = sum of (share[i] + share[i+1]) / 2 over neighbours, divided by n - 1; the share itself where n is 1"
)

Shown = Annotated[str, BeforeValidator(lambda value: path_text(value) if isinstance(value, str) else value)]
Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]
Waves = Callable[[Scorecard], Sequence[Sequence[str]] | None]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Point(_Part):
    """What is kept at one point: means over `counted` of `trials`, None where none counts.

    `at` is the number of the edit at which session 1 was to be cut, or of the wave; `cut` says in how many trials the
    cut came. `run` is the folder of the trials, below that of the curve.
    """

    at: Annotated[int, Field(ge=1)]
    total: Count | None
    raw: Amount | None
    net: Amount | None
    share: Annotated[float, Field(ge=0, le=1)] | None
    trials: Count
    counted: Count
    cut: Count | None = None
    run: Shown = "."


class Curve(_Part):
    """The points of one agent in one arm of one task, in order, and the area under them (1 is all, everywhere).

    `uncut` is the point at which session 1 ended by itself before it was to be cut; it is not part of the area.
    """

    kind: Literal["cutoff", "wave"]
    task: Shown
    variant: Shown
    arm: Shown
    agent: Shown
    points: list[Point]
    uncut: Point | None = None
    area: Annotated[float, Field(ge=0, le=1)] | None

    @property
    def name(self) -> str:
        """Whose curve it is."""
        task = self.task if self.variant == "0" else f"{self.task}@{self.variant}"
        return f"{task} {self.arm} {self.agent}"


class Curves(_Part):
    """curves.json."""

    schema_version: Literal[1] = 1
    run: Shown
    formula: str = FORMULA
    curves: list[Curve]


def area(shares: Sequence[float | None]) -> float | None:
    """The area under equally spaced points, scaled to 0 .. 1; None without points or with one that has no value."""
    known = [share for share in shares if share is not None]
    if not known or len(known) != len(shares):
        return None
    if len(known) == 1:
        return round(known[0], 4)
    pairs = pairwise(known)
    return round(sum((first + second) / 2 for first, second in pairs) / (len(known) - 1), 4)


def point(
    at: int,
    cards: Sequence[Scorecard],
    kept: Callable[[Scorecard], tuple[int, int, int]],
    *,
    cut: int | None = None,
    run: str = ".",
) -> Point:
    """A point from the scorecards of one cell. `kept` gives raw, net and total of a graded one.

    A failure of the agent counts as 0, one of the machinery does not count.
    """
    counted = [card for card in cards if card.outcome in COUNTED]
    scores = [kept(card) for card in counted if card.retention is not None]
    total = max((total for _, _, total in scores), default=None)
    raw, net = (_mean([score[index] for score in scores], len(counted)) for index in (0, 1))
    share = None if net is None else 0.0 if not net else round(net / total, 4) if total else None
    return Point(
        at=at, total=total, raw=raw, net=net, share=share, trials=len(cards), counted=len(counted), cut=cut, run=run
    )


def whole(card: Scorecard) -> tuple[int, int, int]:
    """Raw, net and total of a graded scorecard."""
    assert card.retention is not None
    return card.retention.raw.passed, card.retention.net, card.retention.raw.total


def by_cell(cards: Sequence[Scorecard]) -> dict[tuple[str, str, str, str], list[Scorecard]]:
    """Scorecards by task, variant, arm and agent."""
    groups: dict[tuple[str, str, str, str], list[Scorecard]] = {}
    for card in cards:
        groups.setdefault((card.task, str(card.variant), card.condition, card.agent), []).append(card)
    return groups


def wave_curves(cards: Sequence[Scorecard], waves: Waves | None = None) -> list[Curve]:
    """For each cell of a task that asks in waves: how much of each wave is kept at the end, in its latest form."""
    found = []
    known = waves or Known()
    for (task, variant, arm, agent), group in by_cell(cards).items():
        parts = known(group[0])
        if parts is None or len(parts) < 2:
            continue
        points = [point(number, group, _of(frozenset(part))) for number, part in enumerate(parts, 1)]
        shares = [one.share for one in points]
        found.append(
            Curve(kind="wave", task=task, variant=variant, arm=arm, agent=agent, points=points, area=area(shares))
        )
    return found


class Known:
    """The waves of the tasks that this toolkit has, as they were when a scorecard was made."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, str], Task | None] = {}

    def __call__(self, card: Scorecard) -> Sequence[Sequence[str]] | None:
        """The requirements by wave; None for a task that is not known or has changed since."""
        key = (card.task, str(card.variant))
        if key not in self._tasks:
            try:
                self._tasks[key] = load_task(*key)
            except InputError:
                self._tasks[key] = None
        task = self._tasks[key]
        return None if task is None or task.sha256 != card.provenance.task_sha256 else task.waves


def curves_json(curves: Curves) -> bytes:
    """The bytes of curves.json."""
    data = curves.model_dump(mode="json")
    return (json.dumps(data, ensure_ascii=True, allow_nan=False, sort_keys=True, indent=2) + "\n").encode("ascii")


def parse_curves(data: bytes, name: str) -> Curves:
    """Curves from their bytes; InputError with the field that is wrong. `name` is the file, for the message."""
    try:
        return Curves.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "document"
        raise InputError(f"{name}: {where}: {first['msg']}") from error


def write_wave_curves(root: Path, cards: Mapping[str, Scorecard]) -> Path | None:
    """Write curves.json into a run's folder if one of its tasks asks in waves; where it is, or None."""
    curves = wave_curves(list(cards.values()))
    if not curves:
        return None
    path = root / FILE
    write_bytes(path, curves_json(Curves(run=root.name, curves=curves)))
    return path


def curve_tables(cards: Mapping[str, Scorecard], waves: Waves | None = None) -> tuple[Table, ...]:
    """The table of a run whose tasks ask in waves: what is kept of each, and the area; none for any other."""
    curves = wave_curves(list(cards.values()), waves)
    if not curves:
        return ()
    longest = max(len(curve.points) for curve in curves)
    headings = ("agent", "arm", *(f"wave {count}" for count in range(1, longest + 1)), "area")
    rows = tuple(
        (
            curve.agent,
            curve.arm if curve.variant == "0" else f"{curve.arm} ({curve.task}@{curve.variant})",
            *(f"{number(one.net)}/{one.total}" for one in curve.points),
            *[""] * (longest - len(curve.points)),
            number(curve.area),
        )
        for curve in curves
    )
    data = tuple(curve.model_dump(mode="json") for curve in curves)
    return (Table("curves", TITLE, headings, rows, data, upright=True),)


def _of(part: frozenset[str]) -> Callable[[Scorecard], tuple[int, int, int]]:
    def kept(card: Scorecard) -> tuple[int, int, int]:
        assert card.retention is not None
        passed = sum(check.passed for check in card.retention.checks if check.id in part)
        return passed, 0 if card.retention.zeroed_by else passed, len(part)

    return kept


def _mean(values: Sequence[int], count: int) -> float | None:
    return round(sum(values) / count, 3) if count else None
