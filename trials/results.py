"""A finished run as people and machines read it, and the exit code it gives."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from ..grader.exports import junit_xml, sarif, summary_markdown
from ..grader.html import report_html
from ..grader.report import print_run
from ..grader.scorecard import Scorecard
from ..grader.summary import RunSummary, summarize, summary_json
from .curves import curve_tables, write_wave_curves
from .poison_results import poison_tables
from .record import write_bytes
from .repo_results import cost_tables
from .running import RunResult

DONE, FELL_SHORT, MACHINERY = 0, 1, 3


def write_results(result: RunResult) -> RunSummary:
    """Write summary.json, summary.md, report.html, junit.xml and results.sarif into the run's folder.

    And curves.json, where a task asks in waves.
    """
    paths = result.paths
    tables = cost_tables(paths, result.scorecards) + poison_tables(result.scorecards) + curve_tables(result.scorecards)
    summary = summarize(paths.root.name, result.planned, result.scorecards, tables)
    for name, make in (
        ("summary.json", summary_json),
        ("summary.md", summary_markdown),
        ("report.html", report_html),
        ("junit.xml", junit_xml),
        ("results.sarif", sarif),
    ):
        data = make(summary)
        write_bytes(paths.export(name), data if isinstance(data, bytes) else data.encode("utf-8", "replace"))
    write_wave_curves(paths.root, result.scorecards)
    return summary


def print_results(result: RunResult, summary: RunSummary, out: Console) -> None:
    """The table, and where each scorecard is."""
    print_run(summary, out)
    out.print()
    for name in result.planned:
        if name in result.scorecards:
            out.print(str(result.paths.trial(name).scorecard), soft_wrap=True, markup=False)
    out.print(f"{result.paths.export('report.html')}", soft_wrap=True, markup=False)


def exit_code(cards: Iterable[Scorecard], pending: int, min_net: int | None) -> int:
    """3 if the machinery failed somewhere or a trial is missing, 1 if a gate fell short, else 0."""
    cards = list(cards)
    if pending or any(card.outcome == "machinery_failure" for card in cards):
        return MACHINERY
    counted = [card for card in cards if card.outcome != "refused"]
    if min_net is not None and any((card.retention.net if card.retention else 0) < min_net for card in counted):
        return FELL_SHORT
    return DONE
