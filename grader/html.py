"""report.html: a run on one page that needs nothing else, to be opened from a disk or a CI artifact."""

from __future__ import annotations

import functools

import jinja2

from .. import __version__
from .report import number, session_text
from .summary import RunSummary, limit_text, reason


def report_html(summary: RunSummary) -> str:
    """The page. Whatever came out of a sandbox is text in it; a policy in its head forbids scripts on top."""
    template = _environment().get_template("report.html.j2")
    words = {"reason": reason, "session_text": session_text, "limit_text": limit_text}
    return template.render(summary=summary, version=__version__, **words)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("takeover.grader"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment
