"""What models cost: summed over sessions, read back from a run's folder, and never taken for more than it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from takeover.grader.scorecard import Session
from takeover.sandbox.errors import FailureClass
from takeover.sandbox.gateway.budget import Spent
from takeover.trials.failures import FAILURES
from takeover.trials.models import finish_transcripts, spent_in, spent_of
from takeover.trials.record import StepPaths
from takeover.trials.sessions import SessionMeta, SessionUsage, read_meta, used, write_meta

SESSION = Session(exit="exited", code=0, snapshot="sha256:0")


def meta(tokens: int | None, *, model: bool = True) -> SessionMeta:
    usage = SessionUsage(tokens=tokens, calls=2, turns=1, report={"spent": {"calls": 2}}) if model else None
    return SessionMeta(start="sha256:1", image="sha256:2", guest={}, omitted=[], session=SESSION, usage=usage)


@pytest.mark.parametrize(
    ("metas", "declared", "total", "provenance"),
    [
        ([meta(5), meta(6)], None, 11, "metered"),
        ([meta(5), meta(6)], 99, 11, "metered"),
        ([meta(5), meta(None)], None, None, "unknown"),
        ([meta(5), meta(None)], 99, 99, "declared"),
        ([meta(5), meta(0, model=False)], None, None, "unknown"),
        ([meta(0)], None, 0, "metered"),
        ([], None, None, "unknown"),
        ([], 99, 99, "declared"),
    ],
)
def test_tokens_of_a_trial(metas: list[SessionMeta], declared: int | None, total: int | None, provenance: str) -> None:
    """Counted if every session was, else as declared, else unknown; never a part for the whole."""
    tokens = used(metas, declared)
    assert (tokens.total, tokens.provenance) == (total, provenance)


def test_usage_is_kept_with_the_session(tmp_path: Path) -> None:
    """As it was; a record of before there were models reads as one without."""
    step = StepPaths(tmp_path / "1-session")
    write_meta(step, meta(5))
    assert read_meta(step) == meta(5)
    old = json.loads(step.meta.read_bytes())
    del old["usage"]
    step.meta.write_text(json.dumps(old))
    assert read_meta(step).usage is None


def test_what_a_run_has_spent(tmp_path: Path) -> None:
    """The sum over all attempts; a session that was used again counts once, and a torn line does not."""
    line = {"spent": {"calls": 1, "seconds": 0.5, "tokens": 10, "cost": 7, "kept": 1}}
    one = tmp_path / "a.1.attempt-1" / "1-session" / "calls.jsonl"
    two = tmp_path / "a.1" / "1-session" / "calls.jsonl"
    three = tmp_path / "a.1" / "2-session" / "calls.jsonl"
    for path in (one, two, three):
        path.parent.mkdir(parents=True)
    one.write_text(json.dumps(line) + "\n" + json.dumps({"operation": "count"}) + "\n")
    two.hardlink_to(one)
    three.write_text(json.dumps(line) + "\n" + json.dumps(line) + "\n" + json.dumps(line)[:20])
    assert spent_in(tmp_path) == Spent(3, 1.5, 30, 21, 3)


@pytest.mark.parametrize(
    "value", [None, [], "x", {}, {"calls": "9"}, {"calls": True}, {"tokens": -5}, {"seconds": None}, {"other": 1}]
)
def test_what_is_no_count_is_nothing(value: object) -> None:
    """A damaged record never gives budget back, and breaks nothing."""
    assert spent_of(value) == Spent()


def test_journals_without_a_step_stay(tmp_path: Path) -> None:
    """There is no document to be made of them."""
    journal = tmp_path / "1-session" / "transcript.json.journal"
    journal.parent.mkdir()
    journal.write_text("")
    finish_transcripts(tmp_path)
    assert journal.exists()


def test_failures_of_models_in_the_table() -> None:
    """A model that is gone may come back; a cassette knows no more the next time. Neither is the agent's."""
    gone, unknown = FAILURES[FailureClass.MODEL_UNAVAILABLE], FAILURES[FailureClass.UNKNOWN_REQUEST]
    assert (gone.side, gone.retry, gone.grade, gone.counts) == ("machinery", True, False, False)
    assert (unknown.side, unknown.retry, unknown.grade, unknown.counts) == ("machinery", False, False, False)
