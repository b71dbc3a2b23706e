"""Measure everything once, print a table, write bench/latest.json."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from takeover.sandbox.engine import DockerEngine

from .containers import sandbox_rows, trial_rows
from .cutoffs import cutoff_rows
from .memory import memory_rows
from .pure import help_row, statistics_rows
from .repos import repo_rows
from .rows import Row
from .tools import gateway_row, tree_rows

LATEST = Path(__file__).with_name("latest.json")
PARTS = ("pure", "tools", "memory", "sandbox", "trial", "repos", "cutoff")


@click.command()
@click.option("--rounds", default=15, show_default=True, help="Measurements of each kind; the median counts.")
@click.option(
    "--cuts", default=1000, show_default=True, help="Sessions to cut off, with the barrier and again without."
)
@click.option("--only", multiple=True, type=click.Choice(PARTS), help="Measure these parts; nothing is written then.")
def main(rounds: int, cuts: int, only: tuple[str, ...]) -> None:
    """Measure, print, write."""
    engine = DockerEngine.from_env(run=f"bench-{int(time.time())}")
    console = Console()
    rows = []
    for row in _rows(engine, rounds, cuts, only or PARTS):
        rows.append(row)
        console.print(f"{row.name}: {row.value:.4g} {row.unit}", highlight=False)
    console.print(_table(rows))
    if not only:
        info = engine.info()
        machine = {
            "python": platform.python_version(),
            "kernel": info.kernel,
            "cpus": info.cpus,
            "engine": info.version,
        }
        measured = [{**asdict(row), "ratio": row.ratio, "held": row.held} for row in rows]
        LATEST.write_text(json.dumps({"machine": machine, "rows": measured}, indent=1, sort_keys=True) + "\n")


def _rows(engine: DockerEngine, rounds: int, cuts: int, parts: tuple[str, ...]) -> Iterator[Row]:
    if "pure" in parts:
        yield help_row(rounds)
        yield from statistics_rows()
    if "tools" in parts:
        yield from tree_rows(rounds)
        yield gateway_row()
    if "memory" in parts:
        yield from memory_rows()
    if "sandbox" in parts:
        yield from sandbox_rows(engine, rounds)
    if "trial" in parts:
        yield from trial_rows(engine, rounds)
    if "repos" in parts:
        yield from repo_rows(engine, max(3, rounds // 3))
    if "cutoff" in parts:
        yield from cutoff_rows(engine, cuts)


def _table(rows: list[Row]) -> Table:
    table = Table(box=None, header_style="bold")
    for title in ("measured", "value", "floor", "ratio", "target", ""):
        table.add_column(title, justify="left" if title in ("measured", "") else "right")
    for row in rows:
        held = {None: "", True: "held", False: "NOT HELD"}[row.held]
        table.add_row(
            row.name,
            f"{row.value:.4g} {row.unit}",
            "" if row.floor is None else f"{row.floor:.4g}",
            "" if row.ratio is None else f"{row.ratio:.2f}",
            "" if row.target is None else f"{row.target:g}",
            f"{held}  {row.note}".strip(),
        )
    return table


if __name__ == "__main__":
    main()
