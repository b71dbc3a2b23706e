"""The recorded tables beside the runs in a folder: as a table, Markdown, JSON or a page in which each cell opens."""

from __future__ import annotations

import base64
import functools
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal, cast, get_args

import jinja2
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .. import __version__
from ..grader.report import console, number
from ..grader.text import one_line, short
from ..sandbox.errors import InputError
from .cells import Opener, TrialView
from .curves import FORMULA, Curve
from .published import load_published
from .record import RunPaths, write_bytes
from .standings import Board, Row, Span, find_runs, read_board
from .sweep import curve_line

Format = Literal["table", "markdown", "json", "html"]
Views = Mapping[tuple[Path, str], TrialView]

HEADINGS = ("source", "arm", "agent", "raw", "net", "TES", "tokens", "cost", "notes")
NUMBERS = frozenset({"raw", "net", "TES", "tokens", "cost"})
UNSAID = "cost: tokens as a multiple of Vanilla's; ?: the source does not say whether it is raw or net; -: it does not state this; n/a: not known."
# A page or JSON document stops to open cells beyond this many characters; their paths are given all the same.
MAX_OPENED = 48_000_000
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!&$@])")


def leaderboard(runs: Sequence[Path], form: str) -> str:
    """The leaderboard over these run folders (see `standings.find_runs`) as text in one of the formats."""
    known = _format(form)
    board = read_board(runs, load_published())
    if known == "table":
        out = console(io.StringIO())
        print_board(board, out)
        return cast(io.StringIO, out.file).getvalue()
    return {"markdown": markdown, "json": board_json, "html": board_html}[known](board)


def leaderboard_command(form: str, runs: Path, out: Path | None) -> int:
    """Print the leaderboard over the runs in a folder, or write it to a file; always 0, InputError for bad options."""
    known = _format(form)
    folders = find_runs(runs)
    if out is not None:
        write_bytes(out, leaderboard(folders, form).encode("utf-8"))
        console().print(str(out), markup=False, soft_wrap=True)
    elif known == "table":
        print_board(read_board(folders, load_published()), console())
    else:
        console().file.write(leaderboard(folders, form))
    return 0


def print_board(board: Board, out: Console) -> None:
    """The board on a terminal."""
    rich = out.is_terminal and out.color_system is not None and not out.options.ascii_only
    for section in board.sections:
        out.print(Text(one_line(section.title), style="bold"), soft_wrap=True)
        for remark in section.remarks:
            out.print(Text(one_line(remark, 1000), style="dim"))
        table = Table(box=box.SIMPLE_HEAD if rich else None, pad_edge=False, header_style="bold")
        for heading in HEADINGS:
            flexible, number_column = heading == "notes", heading in NUMBERS
            table.add_column(
                heading,
                justify="right" if number_column else "left",
                no_wrap=number_column,
                overflow="fold",
                ratio=1 if flexible else None,
                min_width=15 if heading == "arm" else None,
                max_width=None if flexible or number_column else 24,
            )
        for row in section.rows:
            table.add_row(*(Text(one_line(text)) for text in columns(row)), style="dim" if row.published else "")
        if section.rows:
            out.print(table)
        for path in (path for row in section.rows for path in opens(row)):
            out.print(Text(f"open {path}", style="dim"), soft_wrap=True)
        out.print()
    for line in _after(board):
        out.print(Text(line), soft_wrap=True)


def markdown(board: Board) -> str:
    """The board for a pull request or a wiki."""
    lines = ["# Leaderboard", ""]
    for section in board.sections:
        lines += [f"## {_md(section.title)}", "", *(f"{_md(remark)}  " for remark in section.remarks)]
        if section.rows:
            rule = "|".join("--:" if heading in NUMBERS else "---" for heading in HEADINGS)
            lines += ["", f"| {' | '.join(HEADINGS)} |", f"|{rule}|"]
            lines += [f"| {' | '.join(map(_md, columns(row)))} |" for row in section.rows]
            lines += ["", *(f"- open {_md(path)}" for row in section.rows for path in opens(row))]
        lines.append("")
    return "\n".join([*lines, *(f"- {_md(line)}" for line in _after(board)), ""])


def board_json(board: Board) -> str:
    """The board with everything that opens, for other programs."""
    views = open_cells(board)
    published = board.published
    data = {
        "schema_version": 1,
        "published": {"source": published.source, "remarks": published.remarks, "notes": published.notes},
        "sections": [
            {
                "id": section.id,
                "title": section.title,
                "remarks": section.remarks,
                "rows": [_row_json(row, views) for row in section.rows],
            }
            for section in board.sections
        ],
        "runs": [
            {
                "name": run.name,
                "folder": str(run.folder),
                "settings": run.settings,
                "totals": asdict(run.summary.totals),
                "problems": [{"trial": trial, "problem": problem} for trial, problem in run.problems],
            }
            for run in board.runs
        ],
        "curves": [
            {
                "name": one.name,
                "folder": str(one.folder),
                "curves": [curve.model_dump(mode="json") for curve in one.curves],
            }
            for one in board.curves
        ],
        "area": FORMULA,
        "unreadable": [{"folder": folder, "reason": reason} for folder, reason in board.unreadable],
    }
    return json.dumps(data, ensure_ascii=True, allow_nan=False, sort_keys=True, indent=2) + "\n"


def board_html(board: Board) -> str:
    """The board as one page that needs nothing else. What came out of a sandbox is text in it, scripts are forbidden."""
    return (
        _environment()
        .get_template("leaderboard.html.j2")
        .render(
            board=board,
            views=open_cells(board),
            columns=columns,
            headings=HEADINGS,
            numbers=NUMBERS,
            legend=UNSAID,
            formula=FORMULA,
            pictures={one.folder: _picture(one.curves) for one in board.curves},
            curve_line=curve_line,
            version=__version__,
        )
    )


def open_cells(board: Board) -> Views:
    """What opens for the trials of the board, until the page would become too large."""
    left = MAX_OPENED
    views: dict[tuple[Path, str], TrialView] = {}
    for run in board.runs:
        opener = Opener(RunPaths(run.folder))
        for name, card in run.summary.trials:
            if card is None:
                continue
            if left <= 0:
                where = str(opener.run.trial(name).root)
                views[run.folder, name] = TrialView(name, where, problem="not opened: the page is full")
                continue
            view = views[run.folder, name] = opener.trial(name)
            left -= len(json.dumps(asdict(view)))
    return views


def columns(row: Row) -> tuple[str, ...]:
    """A row as text, in the order of HEADINGS."""
    unknown = "-" if row.published else "n/a"
    net = f"{_of(row.kept, row.total)}?" if row.kept else _of(row.net, row.total)
    tokens = unknown if row.tokens is None else f"{number(row.tokens)} {row.provenance}"
    source = row.source if row.published or not row.task else f"{row.source}: {row.task}"
    arm = ", ".join(filter(None, (row.arm, row.condition))) or "-"
    notes = [*(f"note {letter}" for letter in row.letters), *row.notes]
    return (
        source,
        arm,
        row.agent or "-",
        _of(row.raw, row.total),
        net,
        unknown if row.tes is None else number(row.tes),
        tokens,
        unknown if row.cost is None else _cost(row.cost),
        "; ".join(notes),
    )


def opens(row: Row) -> list[str]:
    """The folders that a row's cell opens to."""
    return [] if row.folder is None else [str(row.folder / "trials" / name) for name in row.trials]


def _after(board: Board) -> list[str]:
    """What stands below the tables, a line each."""
    published = board.published
    lines = [f"note {letter}: {text}" for letter, text in published.notes.items()]
    lines += [f"{published.source}: {remark}" for remark in published.remarks]
    lines.append(f"{published.source} is what source `published` stands for. {UNSAID}")
    for run in board.runs:
        lines.append(f"run {run.name}: {run.summary.totals.sentence}")
        lines += [f"run {run.name}: {trial}: {problem}" for trial, problem in run.problems]
    lines += [f"curve of {one.name}: {curve_line(curve)}" for one in board.curves for curve in one.curves]
    lines += [f"unreadable: {folder}: {reason}" for folder, reason in board.unreadable]
    return [one_line(line, 2000) for line in lines]


def _row_json(row: Row, views: Views) -> dict[str, object]:
    data: dict[str, object] = {
        key: value for key, value in asdict(row).items() if key not in ("trials", "folder", "letters")
    }
    for key in ("raw", "net", "kept", "cost"):
        span = getattr(row, key)
        data[key] = None if span is None else span[0] if span[0] == span[1] else list(span)
    data["published"] = row.published
    data["published_notes"] = row.letters
    data["folder"] = None if row.folder is None else str(row.folder)
    data["trials"] = [] if row.folder is None else [asdict(views[row.folder, name]) for name in row.trials]
    return data


def _format(form: str) -> Format:
    if form not in get_args(Format):
        raise InputError(f"--format {form!r}: one of {', '.join(get_args(Format))}")
    return cast(Format, form)


def _of(span: Span | None, total: int | None) -> str:
    return "-" if span is None or total is None else f"{_span(span)}/{total}"


def _span(span: Span) -> str:
    low, high = map(number, span)
    return low if low == high else f"{low}-{high}"


def _cost(span: Span) -> str:
    low, high = (f"{value:,.2f}".removesuffix("0") for value in span)
    return f"{low}x" if low == high else f"{low}-{high}x"


def _md(text: str) -> str:
    """Text that stays text in Markdown."""
    return _MARKDOWN.sub(r"\\\1", one_line(text, 2000))


def _picture(curves: Sequence[Curve]) -> str:
    # matplotlib takes longer to import than everything else here, and most boards have no curve to draw.
    from .plot import curves_svg

    return "data:image/svg+xml;base64," + base64.b64encode(curves_svg(curves)).decode("ascii") if curves else ""


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("takeover.trials"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["short"] = short
    return environment
