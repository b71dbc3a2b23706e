"""redteam.html: a red-team run on one page that needs nothing else."""

from __future__ import annotations

import functools
from pathlib import Path

import jinja2

from .. import __version__
from .record import RunPaths, write_bytes, write_json
from .redteam_rates import GridResult, Square, so
from .redteam_report import LEGEND, SHORT, cell_text, grid_json, heat_map, kinds_of, problems_of, rows_of

# By the share of a cell's valid attacks that succeeded, in quarters; the first is none at all.
LEVELS = ("held", "some", "half", "most", "fell")


def write_grid(result: GridResult, paths: RunPaths) -> tuple[Path, ...]:
    """Write redteam.json, redteam.svg and redteam.html into the run's folder; where they are."""
    files = tuple(paths.export(f"redteam.{suffix}") for suffix in ("json", "svg", "html"))
    write_json(files[0], grid_json(result))
    write_bytes(files[1], heat_map(result))
    write_bytes(files[2], redteam_html(result).encode("utf-8", "replace"))
    return files


def redteam_html(result: GridResult) -> str:
    """The page. Whatever came out of a sandbox is text in it; a policy in its head forbids scripts on top."""
    template = _environment().get_template("redteam.html.j2")
    return template.render(
        result=result,
        rows=rows_of(result),
        kinds=kinds_of(result),
        short=SHORT,
        legend=LEGEND,
        problems=problems_of(result),
        cases=[case for case in result.cases if case.verdicts and not case.problem],
        cell=cell_text,
        level=level,
        so=so,
        version=__version__,
    )


def level(square: Square | None) -> str:
    """How a cell is painted."""
    if square is None:
        return ""
    if not square.valid:
        return "open"
    share = square.succeeded / square.valid
    return LEVELS[0] if not square.succeeded else LEVELS[max(1, min(4, int(share * 4)))]


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("takeover.trials"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
