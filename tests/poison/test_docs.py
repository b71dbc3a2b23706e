"""docs/poison.md tells of everything that a reader of its results meets."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeover.poison.catalog import NAMED, grid
from takeover.poison.model import INJECTED, Channel, Kind, Landing, Mode, Position, Template
from takeover.poison.verdict import GateReport, Verdict
from takeover.tiers.skills import RECEIVER_ROLES
from takeover.trials.redteam_rates import GridResult

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "poison.md").read_text()
OBVIOUS = {"pill", "poison", "path", "reason", "evidence", "template", "channel", "kind", "landing", "goal", "twin"}
RATES = [rate.name for rate in GridResult("a", "t", "0", "x", [], 0).rates]
WORDS = [*Channel, *Kind, *Landing, *Mode, *Position, *Template, *INJECTED, *NAMED, *RECEIVER_ROLES, *RATES]
FIELDS = [*(set(Verdict.model_fields) - OBVIOUS), *GateReport.model_fields]


@pytest.mark.parametrize("word", sorted({str(word) for word in (*WORDS, *FIELDS)}))
def test_every_word_is_explained(word: str) -> None:
    """Each name that appears in a grid, a table or a scorecard stands on the page."""
    assert f"`{word}`" in PAGE


def test_the_page_counts_right() -> None:
    """The grid is as large as it says."""
    assert f"has {len(grid())} pills" in PAGE
