"""Scorecards and runs on a terminal: rich tables, plain text where there is no terminal to be rich on."""

from __future__ import annotations

import os
import sys
from typing import IO

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from .scorecard import Check, Retention, Scorecard, Session
from .summary import Cell, RunSummary, Table, limit_text, reason
from .text import one_line, short

PLAIN_WIDTH = 100


def console(file: IO[str] | None = None) -> Console:
    """A console on standard output (or `file`): colours and lines only on a terminal that has them.

    NO_COLOR and TERM=dumb are kept; without a terminal the width is COLUMNS or 100, so that logs are readable.
    """
    stream = file or sys.stdout
    dumb = not stream.isatty() or os.environ.get("TERM", "") in ("dumb", "unknown")
    width = None
    if dumb:
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() and int(columns) > 0 else PLAIN_WIDTH
    return Console(file=stream, width=width, color_system=None if dumb else "auto", highlight=False, emoji=False)


def print_scorecard(card: Scorecard, out: Console) -> None:
    """One trial: the scores, why points are missing, and each check with its evidence."""
    out.print(Text(one_line(card.name), style="bold"), soft_wrap=True)
    for count, session in enumerate(card.sessions, 1):
        out.print(Text(f"session {count}: {session_text(session)}"), soft_wrap=True)
        if session.notes_use:
            out.print(Text(f"  {limit_text(session.notes_use)}"), soft_wrap=True)
    if card.failure:
        out.print(Text(one_line(reason(card)), style="red"), soft_wrap=True)
    if card.retention:
        _print_retention(card, card.retention, out)


def print_run(summary: RunSummary, out: Console) -> None:
    """A run: a line for each agent and arm, and totals that add up."""
    table = _table(out, "agent", "arm")
    for title in ("raw", "net", "TES", "tokens"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("why", overflow="fold", ratio=1)
    many_tasks = len({(cell.task, cell.variant) for cell in summary.cells}) > 1
    for cell in summary.cells:
        agent = f"{cell.agent} ({cell.task}@{cell.variant})" if many_tasks else cell.agent
        agent += f" x{cell.planned}" if cell.planned > 1 else ""
        why = short("; ".join(cell.reasons), 300)
        table.add_row(_text(agent), _text(cell.arm), *_scores(cell), _text(why), style=_style(cell))
    for name in summary.totals.missing:
        table.add_row(_text(name), "", "-", "-", "-", "-", "pending: no scorecard", style="yellow")
    out.print(table)
    out.print(Text(summary.totals.sentence), soft_wrap=True)
    for more in summary.tables:
        _print_table(more, out)


def _print_table(table: Table, out: Console) -> None:
    """Too wide for most terminals, so each row is one for each heading, and a cell for each of the table's rows."""
    out.print()
    out.print(Text(one_line(table.title), style="bold"), soft_wrap=True)
    if table.upright:
        shown = _table(out, *table.headings)
        for cells in table.rows:
            shown.add_row(*map(_text, cells))
        out.print(shown)
        return
    rows = [[one_line(cell) for cell in column] for column in zip(table.headings, *table.rows, strict=True)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        out.print(Text(line.rstrip()), soft_wrap=True)


def session_text(session: Session) -> str:
    """How a session ended, in words."""
    memory = ", out of memory" if session.oom else ""
    if session.cutoff:
        precise = "exactly" if session.cutoff.exact else "approximately"
        at = f" at {session.cutoff.path}" if session.cutoff.path else ""
        return one_line(f"cut off {precise} by {session.cutoff.rule}{at}", 200) + memory
    if session.exit == "exited":
        code = f"signal {session.signal}" if session.signal else f"code {session.code}"
        return f"exited with {code}{memory}"
    return ("stopped" if session.exit == "stopped" else "out of time") + memory


def number(value: float | None) -> str:
    """A score without needless digits; n/a where there is none."""
    return "n/a" if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")


def _print_retention(card: Scorecard, verdict: Retention, out: Console) -> None:
    known = card.tokens.total is not None
    tokens = f"{number(card.tokens.total)} tokens ({card.tokens.provenance})" if known else "tokens unknown"
    out.print(
        Text.assemble(
            (f"raw {verdict.raw.passed}/{verdict.raw.total}   ", ""),
            (f"net {verdict.net}/{verdict.raw.total}", "bold red" if verdict.zeroed_by else "bold green"),
            (
                f"   TES {number(verdict.tes)}   baseline {verdict.baseline.passed}/{verdict.baseline.total}   {tokens}",
                "",
            ),
        ),
        soft_wrap=True,
    )
    for zeroed in verdict.zeroed_by:
        out.print(Text(f"net is 0: {one_line(zeroed.detail, 600)}", style="red"), soft_wrap=True)
    table = _table(out, "check", "")
    table.add_column("evidence", overflow="fold", ratio=1)
    shown = [check for check in verdict.checks if check.kind == "requirement" or not check.passed]
    for check in shown:
        table.add_row(_text(check.id), *_check(check))
    out.print(table)
    for note in verdict.notes:
        where = f"{note.path}:{note.line}: " if note.line else f"{note.path}: " if note.path else ""
        out.print(Text(f"note: {note.kind}: {one_line(where + note.detail, 300)}", style="yellow"), soft_wrap=True)


def _text(text: str) -> Text:
    """Text of whatever origin as a cell: no markup, no control characters."""
    return Text(one_line(text))


def _check(check: Check) -> tuple[Text, Text]:
    mark = Text("pass", style="green") if check.passed else Text("FAIL", style="bold red")
    return mark, Text("" if check.passed else one_line(check.evidence))


def _table(out: Console, *columns: str) -> RichTable:
    """An empty table in the manner that the console can show."""
    rich = out.is_terminal and out.color_system is not None and not out.options.ascii_only
    table = RichTable(box=box.SIMPLE_HEAD if rich else None, expand=False, pad_edge=False, header_style="bold")
    for title in columns:
        table.add_column(title, overflow="fold", max_width=40)
    return table


def _scores(cell: Cell) -> tuple[str, str, str, str]:
    def of_total(value: float | None) -> str:
        return "-" if value is None or cell.total is None else f"{number(value)}/{cell.total}"

    return of_total(cell.raw), of_total(cell.net), number(cell.tes), number(cell.tokens)


def _style(cell: Cell) -> str:
    if cell.counted == 0:
        return "yellow"
    return "green" if cell.total and cell.net == cell.total else ""
