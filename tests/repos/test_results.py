"""The table: predicted against actual, and cost beside Vanilla, with what is unknown left unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeover.repos.predictions import Predictions, load_predictions
from takeover.repos.rereads import Rereads, rereads, session_rereads
from takeover.repos.results import SessionCost, TrialCost, cells_of, markdown, table
from takeover.sandbox.errors import InputError
from takeover.sandbox.transcript.spans import Span

CELLS = {("click", "Vanilla", "a"), ("click", "State_MD_Only", "a")}
FILE = """\
schema_version: 1
author: Ida
predictions:
  - {task: click, arm: Vanilla, resolved: 1}
  - {task: click, arm: State_MD_Only, resolved: 5, why: it has notes}
  - {task: click, arm: State_MD_Only, agent: a, resolved: 3}
"""


def load(tmp_path: Path, text: str = FILE) -> Predictions:
    path = tmp_path / "predictions.yaml"
    path.write_text(text)
    return load_predictions(path, CELLS, {"click": 13})


def trial(arm: str, resolved: int, tokens: tuple[int | None, int | None], **more: object) -> TrialCost:
    sessions = tuple(SessionCost(10, count, 60.0) for count in tokens)
    return TrialCost("click", "0", arm, "a", resolved, resolved, 13, sessions, **more)


def test_predictions_stand_beside_what_came(tmp_path: Path) -> None:
    """The one that names the agent is the one that counts."""
    rows = table([trial("Vanilla", 1, (100, 100)), trial("State_MD_Only", 2, (400, 600))], load(tmp_path))
    assert [(row.predicted, row.error) for row in rows] == [(1.0, 0.0), (3.0, -1.0)]
    assert cells_of(rows[1])[6] == "3 (-1)"


def test_tokens_are_multiples_of_vanilla() -> None:
    """By session, in all, and for each bug resolved."""
    plain, noted = table([trial("Vanilla", 1, (100, 100)), trial("State_MD_Only", 2, (400, 600))])
    assert (plain.times_vanilla, noted.times_vanilla) == (1.0, 5.0)
    assert (noted.tokens, noted.total_tokens, noted.tokens_per_bug) == ((400.0, 600.0), 1000.0, 500.0)
    assert (noted.turns, noted.seconds) == ((10.0, 10.0), 120.0)


def test_the_unknown_is_not_zero() -> None:
    """One unmeasured session, or no bug resolved, leaves n/a."""
    unknown, nothing = table([trial("Vanilla", 1, (100, None)), trial("State_MD_Only", 0, (1, 1))])
    assert (unknown.total_tokens, unknown.tokens_per_bug) == (None, None)
    assert (nothing.times_vanilla, nothing.tokens_per_bug) == (None, None)
    assert cells_of(unknown)[8:12] == ("100+n/a", "n/a", "n/a", "n/a")


def test_repetitions_are_averaged() -> None:
    """A cell is the mean of its trials."""
    (row,) = table([trial("Vanilla", 1, (100, 100)), trial("Vanilla", 2, (200, 200))])
    assert (row.trials, row.resolved, row.total_tokens) == (2, 1.5, 300.0)
    assert cells_of(row)[4] == "1.5/13"


def test_the_markdown_has_every_column() -> None:
    """A row a line, pipes escaped."""
    lines = markdown(table([trial("a|b", 1, (1, 1), rereads=Rereads(5, 2, 40))])).splitlines()
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
    assert "2 (40 lines)" in lines[2]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("arm: Vanilla", "arm: Other", r"predictions\.yaml:4: predictions\.0: the run has no cell click Other"),
        ("resolved: 1}", "resolved: 14}", "click has 13 bugs"),
        ("resolved: 1}", "resolved: -1}", "resolved"),
        (", agent: a", "", "stands twice"),
    ],
)
def test_a_prediction_that_cannot_be_scored_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Before the run starts, with its line."""
    with pytest.raises(InputError, match=message):
        load(tmp_path, FILE.replace(old, new, 1))


def test_predictions_are_part_of_a_runs_identity(tmp_path: Path) -> None:
    """Every byte of the file, so that none is made afterwards."""
    first = load(tmp_path).identity()
    assert load(tmp_path).identity() == first
    assert load(tmp_path, FILE + "# later\n").identity() != first


def span(path: str, start: int | None = None, end: int | None = None, kind: str = "view") -> Span:
    return Span(path, start, end, kind, 1)


def test_rereads_are_looks_at_lines_seen_before() -> None:
    """Lines are counted once for each repeated look; edits are no looks, unseen lines no repeats."""
    before = [span("a", 1, 10), span("b"), span("c", 1, 5, "edit")]
    after = [span("a", 6, 15), span("a", 11, 20), span("b", 1, 3), span("c", 1, 5), span("a", 1, 9, "edit")]
    assert rereads(before, after, {"a": 20, "b": 4, "c": 9}) == Rereads(4, 2, 5 + 3)


def test_a_look_without_lines_is_at_the_whole_file() -> None:
    """Where its length is known; else only that it was repeated."""
    assert rereads([span("a")], [span("a")], {"a": 7}) == Rereads(1, 1, 7)
    assert rereads([span("a")], [span("a")], {}) == Rereads(1, 1, None)
    assert session_rereads([[span("a")]], {}) is None


def test_lines_of_files_that_are_gone_cost_nothing() -> None:
    """An agent may name ten million lines of thousands of files that nobody has."""
    before = [span(f"gone{number}", 1 + number, 10_000_000) for number in range(2000)]
    before += [span("gone0", first, first + 5) for first in range(1, 2000, 3)]

    assert rereads(before, before[:2000], {}).views == 2000
    assert rereads([span("a", 1, 3), span("a", 9, 9), span("a", 3, 5)], [span("a", 2, 20)], {}) == Rereads(1, 1, 5)
