"""A red-team run for people (tables, a heat map) and for programs (redteam.json)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..grader.text import one_line
from ..poison.model import Channel, Kind
from ..poison.verdict import to_scorecard
from .record import RunPaths, write_bytes, write_json
from .redteam_rates import GridResult, Rate, Square

SHORT = {
    Kind.REGRESSION: "regression",
    Kind.BOUNDARY: "boundary",
    Kind.WEAK_TEST: "weak test",
    Kind.FALSE_COMPLETION: "completion",
    Kind.DROPPED_CONSTRAINT: "dropped",
    Kind.STALE_OVER_NEW: "stale",
    Kind.REVOKED_OVER_CURRENT: "revoked",
    Kind.AUTHORITY: "authority",
    Kind.INJECTION: "injection",
    Kind.DENIAL: "denial",
}
LEGEND = (
    "each cell: attacks that succeeded of those that could be seen, and in brackets how many were flagged; "
    "?: not known, x: not to be seen, r: refused, e: error"
)
# From held to fallen; the palest end is still told from an empty cell.
_COLOURS = LinearSegmentedColormap.from_list("fall", ["#d8ecdd", "#f6e3b4", "#e2a077", "#b03a2e"])


def write_grid(result: GridResult, paths: RunPaths) -> None:
    """Write redteam.json and redteam.svg into the run's folder."""
    write_json(paths.export("redteam.json"), grid_json(result))
    write_bytes(paths.export("redteam.svg"), heat_map(result))


def grid_json(result: GridResult) -> dict[str, Any]:
    """The result as data: rates with their intervals, squares, and every case with its verdicts."""
    return {
        "schema_version": 1,
        "agent": result.agent,
        "task": result.task,
        "variant": result.variant,
        "arm": result.arm,
        "planned": result.planned,
        "pending": result.pending,
        "rates": {rate.name: _rate(rate) for rate in result.rates},
        "squares": [
            {"row": row, "kind": str(kind), **{name: getattr(square, name) for name in Square.__slots__}}
            for (row, kind), square in sorted(result.squares.items())
        ],
        "cases": [
            {
                "name": case.name,
                "pill": case.pill,
                "twin": case.twin,
                "task_done": case.done,
                "raw": case.raw,
                "problem": one_line(case.problem),
                "poison": to_scorecard(case.verdicts),
            }
            for case in result.cases
        ],
    }


def print_grid(result: GridResult, out: Console) -> None:
    """Channels by kinds, the rates below, and the totals."""
    rows, kinds = _rows(result), _kinds(result)
    table = _table(out, f"{result.agent} on {result.task}, {result.arm}")
    for kind in kinds:
        table.add_column(SHORT[kind], justify="right", overflow="fold")
    for row in rows:
        table.add_row(row, *(_cell(result.squares.get((row, kind))) for kind in kinds))
    out.print(table)
    out.print(Text(LEGEND, style="dim"), soft_wrap=True)
    rates = _table(out, "rate")
    for title in ("", "share", "95 %"):
        rates.add_column(title, justify="right")
    rates.add_column("what", overflow="fold", ratio=1)
    for rate in result.rates:
        interval = rate.interval
        share = "n/a" if interval is None else f"{interval.estimate:.0%}"
        bounds = "" if interval is None else f"{interval.low:.0%} to {interval.high:.0%}"
        rates.add_row(rate.name, f"{rate.count}/{rate.total}", share, bounds, rate.means)
    out.print(rates)
    failed = [case for case in result.cases if case.problem]
    for case in failed:
        out.print(Text(f"{case.name}: {one_line(case.problem)}", style="yellow"), soft_wrap=True)
    out.print(Text(f"{len(result.cases)} of {result.planned} cases, {result.pending} pending"), soft_wrap=True)


def heat_map(result: GridResult) -> bytes:
    """The same table as SVG: how much of each cell fell. Equal results give equal bytes."""
    rows, kinds = _rows(result), _kinds(result)
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "takeover", "font.size": 9}):
        height = 1.6 + 0.34 * max(1, len(rows))
        figure = Figure(figsize=(2.6 + 0.86 * max(1, len(kinds)), height), layout="constrained")
        _paint(figure.subplots(), result, rows, kinds)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _paint(axes: Axes, result: GridResult, rows: Sequence[str], kinds: Sequence[Kind]) -> None:
    shares = [[_share(result.squares.get((row, kind))) for kind in kinds] for row in rows]
    axes.imshow(shares or [[float("nan")]], cmap=_COLOURS, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(kinds)), [SHORT[kind] for kind in kinds], rotation=30, ha="left")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xticks([n - 0.5 for n in range(1, len(kinds))], minor=True)
    axes.set_yticks([n - 0.5 for n in range(1, len(rows))], minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="minor", length=0, top=False)
    for y, row in enumerate(rows):
        for x, kind in enumerate(kinds):
            square = result.squares.get((row, kind))
            if square is not None:
                dark = _share(square) > 0.75
                axes.text(x, y, _cell(square), ha="center", va="center", color="white" if dark else "#22262b")
    title = axes.set_title(_ascii(f"{result.agent}, {result.task}, {result.arm}: attacks that succeeded"), loc="left")
    title.set_parse_math(False)


def _rows(result: GridResult) -> list[str]:
    """The rows that hold anything, in the order of the channels."""
    order = [str(channel) for channel in Channel]
    found = {row for row, _ in result.squares}
    return sorted(found, key=lambda row: (order.index(row.partition(",")[0]), row))


def _kinds(result: GridResult) -> list[Kind]:
    found = {kind for _, kind in result.squares}
    return [kind for kind in Kind if kind in found]


def _cell(square: Square | None) -> str:
    if square is None:
        return ""
    parts = [f"{square.succeeded}/{square.valid}" + (f" [{square.flagged}]" if square.flagged else "")]
    parts = parts if square.valid else []
    marks = ((square.unknown, "?"), (square.invalid, "x"), (square.refused, "r"), (square.errors, "e"))
    parts += [f"{count}{mark}" for count, mark in marks if count]
    return " ".join(parts)


def _share(square: Square | None) -> float:
    return square.succeeded / square.valid if square is not None and square.valid else float("nan")


def _rate(rate: Rate) -> dict[str, Any]:
    interval = rate.interval
    bounds = None if interval is None else [round(interval.low, 6), round(interval.high, 6)]
    return {
        "count": rate.count,
        "total": rate.total,
        "share": None if interval is None else round(interval.estimate, 6),
        "interval": bounds,
        "means": rate.means,
    }


def _table(out: Console, first: str) -> Table:
    rich = out.is_terminal and out.color_system is not None and not out.options.ascii_only
    table = Table(box=box.SIMPLE_HEAD if rich else None, expand=False, pad_edge=False, header_style="bold")
    table.add_column(one_line(first), overflow="fold", max_width=34)
    return table


def _ascii(text: str) -> str:
    return one_line(text.encode("ascii", "backslashreplace").decode("ascii"), 100)
