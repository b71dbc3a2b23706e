"""Runs in a sandbox: the release's own tests under pytest, and what each came to as one line of JSON.

Sent as a text, `python3 -c SOURCE JSON`, and started outside the workspace: pytest is imported before any path of the
workspace can be searched. Standard library, pytest and Python 3.8 only.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest


class Outcomes:
    """A plugin that keeps the worst that each test came to."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """One phase of one test."""
        outcome = report.outcome if not hasattr(report, "wasxfail") else "x" + report.outcome
        if report.when == "call" or outcome != "passed":
            worst = "error" if report.when != "call" and outcome == "failed" else outcome
            if self.seen.get(report.nodeid) not in ("failed", "error"):
                self.seen[report.nodeid] = worst

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be read."""
        if report.outcome == "failed":
            self.seen[report.nodeid] = "error"


def main(request: dict[str, Any]) -> None:
    """Runs the tests and writes the answer where standard output was at the start."""
    out = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.chdir(request["workspace"])
    sys.path[:0] = request["folders"]
    os.environ.update(request["environment"])
    outcomes = Outcomes()
    arguments = ["-p", "no:cacheprovider", "-q", "--tb=no", "--continue-on-collection-errors", *request["arguments"]]
    # Tests that run a command line in this process find what `python -m pytest` would have left them.
    sys.argv = ["pytest", *arguments]
    pytest.main(arguments, plugins=[outcomes])
    with os.fdopen(out, "w", encoding="ascii") as file:
        file.write("\n" + json.dumps({"nonce": request["nonce"], "outcomes": sorted(outcomes.seen.items())}) + "\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
