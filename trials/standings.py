"""The rows of the leaderboard: what the reference document records, and what the runs in a folder came to.

A run's folder may be broken or somebody else's. What cannot be read is listed with the reason; nothing of it is fatal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..grader.scorecard import Scorecard, parse_scorecard
from ..grader.summary import Cell, RunSummary, summarize
from ..grader.text import one_line, path_text
from ..sandbox.dsse import load_public_key, verify
from ..sandbox.errors import InputError
from ..tiers.load import list_tasks
from .cells import MAX_JSON, check_inside
from .curves import FILE, Curve, by_cell, parse_curves, wave_curves
from .identity import RunIdentity, read_identity
from .published import Published, PublishedRow, PublishedTable
from .record import RunPaths
from .signing import SCORECARD_TYPE

BASE_ARM = "Vanilla"
PUBLISHED = "published"
MAX_TRIALS = 100_000

_TIER = re.compile(r"tier([1-4])_")

Span = tuple[float, float]
Group = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the leaderboard. Scores are spans, low and high, which are mostly one number; None is not known.

    `kept` is a published score of which the source does not say whether it is raw or net. `cost` is a multiple of
    Vanilla's tokens. `trials` are the folders behind a cell of a run. `letters` are notes of the source.
    """

    source: str
    arm: str
    agent: str
    tier: int | None = None
    task: str = ""
    condition: str = ""
    raw: Span | None = None
    net: Span | None = None
    kept: Span | None = None
    total: int | None = None
    tes: float | None = None
    tokens: float | None = None
    provenance: str = ""
    cost: Span | None = None
    runs: int | None = None
    letters: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    trials: tuple[str, ...] = ()
    folder: Path | None = None

    @property
    def published(self) -> bool:
        """Whether the row comes from the reference document."""
        return self.folder is None


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that belong side by side."""

    id: str
    title: str
    rows: tuple[Row, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A run's folder as far as it could be read. `problems` say of a trial why it cannot be read or believed."""

    name: str
    folder: Path
    summary: RunSummary
    settings: str = ""
    problems: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CurveSet:
    """The curves of a run or of a sweep."""

    name: str
    folder: Path
    curves: tuple[Curve, ...]


@dataclass(slots=True)
class Board:
    """Everything that the leaderboard shows; `unreadable` pairs a folder with the reason."""

    published: Published
    sections: list[Section] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    curves: list[CurveSet] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)


def find_runs(folder: Path) -> list[Path]:
    """The folders that may be runs or sweeps: `folder` itself if it is one, else what it holds.

    A folder that does not exist holds none; InputError for anything else that is no folder.
    """
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise InputError(f"--runs {folder}: not a folder")
    if RunPaths(folder).identity.is_file():
        return [folder]
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def read_board(folders: Sequence[Path], published: Published) -> Board:
    """The board over these folders."""
    board = Board(published)
    for folder in folders:
        _read_folder(folder, board)
    rows = [row for run in board.runs for row in run_rows(run)]
    tiers = {task.id: task.tier for task in list_tasks()}
    placed: dict[str, list[Row]] = {}
    for row in rows:
        tier = tiers.get(row.task.partition("@")[0]) or _named_tier(row.task)
        placed.setdefault(f"tier{tier}" if tier else "other", []).append(replace(row, tier=tier))
    for table in published.tables:
        own = [published_row(table, row) for row in table.rows]
        board.sections.append(Section(table.id, table.title, (*own, *placed.pop(table.id, [])), tuple(table.remarks)))
    board.sections += [Section(key, "Other tasks", tuple(rest)) for key, rest in placed.items()]
    return board


def published_row(table: PublishedTable, row: PublishedRow) -> Row:
    """A row of the reference document."""
    notes = [row.remark] if row.remark else []
    if row.predicted is not None:
        notes.append(f"predicted {row.predicted}")
    if row.runs is not None:
        notes.append(f"{row.runs} runs")
    return Row(
        source=PUBLISHED,
        arm=row.arm or "",
        agent=row.agent or "",
        tier=table.tier,
        task=table.task or "",
        condition=row.condition or "",
        raw=_span(row.raw),
        net=_span(row.net),
        kept=_span(row.kept),
        total=table.of,
        cost=_span(row.cost),
        runs=row.runs,
        letters=tuple(row.notes),
        notes=tuple(notes),
    )


def run_rows(run: Run) -> list[Row]:
    """A row for each cell of a run."""
    cards = {name: card for name, card in run.summary.trials if card is not None}
    trials: dict[Group, list[str]] = {}
    for name, card in cards.items():
        trials.setdefault((card.task, str(card.variant), card.condition, card.agent), []).append(name)
    sources = {
        group: "+".join(sorted({card.tokens.provenance for card in members}))
        for group, members in by_cell(list(cards.values())).items()
    }
    cells = {(cell.task, cell.variant, cell.arm, cell.agent): cell for cell in run.summary.cells}
    return [
        Row(
            source=run.name,
            arm=path_text(cell.arm),
            agent=path_text(cell.agent),
            task=path_text(cell.task if cell.variant == "0" else f"{cell.task}@{cell.variant}"),
            raw=_span(cell.raw),
            net=_span(cell.net),
            total=cell.total,
            tes=cell.tes,
            tokens=cell.tokens,
            provenance=sources[key],
            cost=cost(key, cells, sources),
            runs=cell.planned,
            notes=_notes(run, cell, {name: cards[name] for name in trials[key]}),
            trials=tuple(trials[key]),
            folder=run.folder,
        )
        for key, cell in cells.items()
    ]


def cost(key: Group, cells: Mapping[Group, Cell], sources: Mapping[Group, str]) -> Span | None:
    """A cell's tokens as a multiple of Vanilla's for the same task and agent of the run; None where it is not known.

    Numbers from two sources, such as metered and declared, are not compared.
    """
    base = (key[0], key[1], BASE_ARM, key[3])
    if base not in cells or sources[key] != sources[base]:
        return None
    own, other = cells[key].tokens, cells[base].tokens
    return None if own is None or not other else _span(round(own / other, 2))


def _read_folder(folder: Path, board: Board) -> None:
    paths = RunPaths(folder)
    try:
        if not paths.identity.exists() and (folder / FILE).exists():
            board.curves.append(CurveSet(path_text(folder.name), folder, _stored_curves(folder)))
            return
        run = read_run(folder)
        board.runs.append(run)
        stored = (folder / FILE).exists()
        cards = [card for _, card in run.summary.trials if card is not None]
        if curves := _stored_curves(folder) if stored else tuple(wave_curves(cards)):
            board.curves.append(CurveSet(run.name, folder, curves))
    except InputError as error:
        board.unreadable.append((path_text(str(folder)), path_text(str(error))))
    except OSError as error:
        board.unreadable.append((path_text(str(folder)), path_text(error.strerror or str(error))))


def read_run(folder: Path) -> Run:
    """A run from its folder; InputError if it is not one. A trial that cannot be read becomes a problem of the run."""
    paths = RunPaths(folder)
    check_inside(paths.identity, folder, MAX_JSON)
    identity = read_identity(paths.identity)
    names = identity.trials
    if len(names) > MAX_TRIALS:
        raise InputError(f"{paths.identity}: trials: more than {MAX_TRIALS:,}")
    cards: dict[str, Scorecard] = {}
    problems: list[tuple[str, str]] = []
    for name in dict.fromkeys(names):
        file = paths.trial(name).scorecard
        if file.exists():
            try:
                check_inside(file, folder, MAX_JSON)
                cards[name] = parse_scorecard(file.read_bytes(), f"{name}/{file.name}")
                if problem := _signature_problem(paths, name):
                    problems.append((name, problem))
            except (InputError, OSError) as error:
                problems.append((name, f"unreadable: {path_text(str(error))}"))
    summary = summarize(path_text(folder.resolve().name), list(dict.fromkeys(names)), cards)
    return Run(summary.run, folder, summary, _settings(identity), tuple(problems))


def _signature_problem(paths: RunPaths, name: str) -> str:
    """Why a scorecard may not be the one that was signed with the run's key; "" if it is."""
    trial = paths.trial(name)
    try:
        for file in (paths.public_key, trial.signature):
            check_inside(file, paths.root, MAX_JSON)
        key = load_public_key(paths.public_key)
    except InputError as error:
        return f"its signature cannot be checked: {path_text(str(error))}"
    result = verify(trial.signature.read_bytes(), key, payload_type=SCORECARD_TYPE)
    if not result:
        return f"its signature does not hold: {path_text(result.detail)}"
    return "" if result.payload == trial.scorecard.read_bytes() else "its signature is over another scorecard"


def _stored_curves(folder: Path) -> tuple[Curve, ...]:
    path = folder / FILE
    check_inside(path, folder, MAX_JSON)
    return tuple(parse_curves(path.read_bytes(), str(path)).curves)


def _settings(identity: RunIdentity) -> str:
    """The settings of a run that are not the default."""
    settings = identity.settings.model_dump(exclude_none=True)
    return path_text(one_line(", ".join(f"{key} {value}" for key, value in settings.items()), 200))


def _notes(run: Run, cell: Cell, cards: Mapping[str, Scorecard]) -> tuple[str, ...]:
    notes = [problem for name, problem in run.problems if name in cards]
    notes += [f"settings: {run.settings}"] if run.settings else []
    if cell.counted != cell.planned:
        notes.append(f"{cell.counted} of {cell.planned} count")
    elif cell.planned > 1:
        notes.append(f"mean of {cell.planned}")
    return (*notes, *(path_text(reason) for reason in cell.reasons))


def _named_tier(task: str) -> int | None:
    match = _TIER.match(task)
    return int(match[1]) if match else None


def _span(value: float | list[int] | list[float] | None) -> Span | None:
    if value is None:
        return None
    return (value[0], value[1]) if isinstance(value, list) else (value, value)
