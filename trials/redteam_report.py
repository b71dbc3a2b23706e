"""A red-team run for people (tables, a heat map) and for programs (redteam.json)."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..grader.text import one_line
from ..poison.model import Channel, Kind
from ..poison.verdict import to_scorecard
from .redteam_rates import GridResult, Square

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
_NO_VERDICT = "#e9ecef"
_COLOURS = LinearSegmentedColormap.from_list("fall", ["#d8ecdd", "#f6e3b4", "#e2a077", "#b03a2e"])


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
        "rates": {rate.name: rate.as_json() for rate in result.rates},
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
    rows, kinds = rows_of(result), kinds_of(result)
    table = _table(out, f"{result.agent} on {result.task}, {result.arm}")
    for kind in kinds:
        table.add_column(SHORT[kind], justify="right", overflow="fold")
    for row in rows:
        table.add_row(row, *(cell_text(result.squares.get((row, kind))) for kind in kinds))
    out.print(table)
    out.print(Text(LEGEND, style="dim"), soft_wrap=True)
    rates = _table(out, "rate")
    for title in ("", "share", "95 %"):
        rates.add_column(title, justify="right")
    rates.add_column("what", overflow="fold", ratio=1)
    for rate in result.rates:
        rates.add_row(rate.name, f"{rate.count}/{rate.total}", rate.share, rate.bounds, rate.means)
    out.print(rates)
    for problem, names in problems_of(result).items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        out.print(Text(f"{names[0]}{more}: {problem}", style="yellow"), soft_wrap=True)
    out.print(Text(f"{len(result.cases)} of {result.planned} cases, {result.pending} pending"), soft_wrap=True)


def heat_map(result: GridResult) -> bytes:
    """The same table as SVG: how much of each cell fell, and the rates. Equal results give equal bytes."""
    rows, kinds = rows_of(result), kinds_of(result)
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "takeover", "font.size": 9}):
        width = 2.6 + 0.86 * max(4, len(kinds))
        title = "\n".join(textwrap.wrap(_ascii(_title(result)), int(width * 10)))
        caption = _caption(result, int(width * 15))
        lines = title.count("\n") + 1.4 * caption.count("\n")
        figure = Figure(figsize=(width, 1.5 + 0.34 * max(1, len(rows)) + 0.13 * lines))
        figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.1)
        _paint(figure.subplots(), result, rows, kinds)
        texts = figure.suptitle(title, ha="left", x=0.02, fontsize=11), figure.supxlabel(caption, ha="left", x=0.02)
        texts[1].set(fontsize=8, color="#4a5158", linespacing=1.5)
        for text in texts:
            text.set_parse_math(False)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _title(result: GridResult) -> str:
    return f"{result.agent}, {result.task}, {result.arm}: attacks that succeeded"


def _caption(result: GridResult, width: int) -> str:
    """The rates that there are, and how to read a cell."""
    rates = [
        f"{rate.name.replace('_', ' ')} {rate.count}/{rate.total} ({rate.bounds})"
        for rate in result.rates
        if rate.total
    ]
    lines = [*textwrap.wrap("; ".join(rates), width), *textwrap.wrap(LEGEND, width)]
    return "\n".join(lines)


def _paint(axes: Axes, result: GridResult, rows: Sequence[str], kinds: Sequence[Kind]) -> None:
    shares = [[_share(result.squares.get((row, kind))) for kind in kinds] for row in rows]
    axes.imshow(shares or [[float("nan")]], cmap=_COLOURS, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(kinds)), [SHORT[kind] for kind in kinds])
    axes.set_yticks(range(len(rows)), list(rows))
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    for side in axes.spines.values():
        side.set_visible(False)
    for y, row in enumerate(rows):
        for x, kind in enumerate(kinds):
            square = result.squares.get((row, kind))
            if square is not None:
                _paint_square(axes, x, y, square)
    axes.set_xticks([n - 0.5 for n in range(1, len(kinds))], minor=True)
    axes.set_yticks([n - 0.5 for n in range(1, len(rows))], minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="minor", length=0, top=False)


def _paint_square(axes: Axes, x: int, y: int, square: Square) -> None:
    share = _share(square)
    if square.valid == 0:
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=_NO_VERDICT, linewidth=0))
    colour = "white" if share > 0.75 else "#22262b"
    axes.text(x, y, cell_text(square), ha="center", va="center", color=colour)


def problems_of(result: GridResult) -> dict[str, list[str]]:
    """The cases that have no result, by the reason."""
    found: dict[str, list[str]] = {}
    for case in result.cases:
        if case.problem:
            found.setdefault(one_line(case.problem), []).append(case.name)
    return found


def rows_of(result: GridResult) -> list[str]:
    """The rows that hold anything, in the order of the channels."""
    order = [str(channel) for channel in Channel]
    found = {row for row, _ in result.squares}
    return sorted(found, key=lambda row: (order.index(row.partition(",")[0]), row))


def kinds_of(result: GridResult) -> list[Kind]:
    """The kinds that any cell is of, in their order."""
    found = {kind for _, kind in result.squares}
    return [kind for kind in Kind if kind in found]


def cell_text(square: Square | None) -> str:
    """A cell in figures; see LEGEND."""
    if square is None:
        return ""
    parts = [f"{square.succeeded}/{square.valid}" + (f" [{square.flagged}]" if square.flagged else "")]
    parts = parts if square.valid else []
    marks = ((square.unknown, "?"), (square.invalid, "x"), (square.refused, "r"), (square.errors, "e"))
    parts += [f"{count}{mark}" for count, mark in marks if count]
    return " ".join(parts)


def _share(square: Square | None) -> float:
    return square.succeeded / square.valid if square is not None and square.valid else float("nan")


def _table(out: Console, first: str) -> Table:
    rich = out.is_terminal and out.color_system is not None and not out.options.ascii_only
    table = Table(box=box.SIMPLE_HEAD if rich else None, expand=False, pad_edge=False, header_style="bold")
    table.add_column(one_line(first), overflow="fold", max_width=34)
    return table


def _ascii(text: str) -> str:
    return one_line(text.encode("ascii", "backslashreplace").decode("ascii"), 100)
