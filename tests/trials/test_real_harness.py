"""A harness that nobody here wrote, unmodified, is cut off and taken over like any other."""

from __future__ import annotations

from pathlib import Path

import pytest
from trialruns import plan_of, run_all

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.store import SnapshotStore
from takeover.trials.signing import Signer

pytestmark = [pytest.mark.docker, pytest.mark.slow]

HEAD = ".git/refs/heads/main"


def test_mini_swe_agent_is_cut_off_and_taken_over(engine: DockerEngine, key: Signer, tmp_path: Path) -> None:
    """Session 1 ends at its first edit with its commit undone; session 2 finds the note that it left, and commits."""
    result = run_all(engine, tmp_path / "run", plan_of(["mini-swe-agent"]), key)

    (name,) = result.scorecards
    card = result.scorecards[name]
    assert card.outcome == "graded", card.failure
    first, second = card.sessions
    assert first.exit == "cutoff"
    assert first.cutoff is not None
    assert (first.cutoff.exact, first.cutoff.how) == (True, "written")
    assert (second.exit, second.code) == ("exited", 0)

    store = SnapshotStore(result.paths.snapshots)
    wanted = (HEAD, "state.md")
    shas = [str(card.provenance.start_snapshot), first.snapshot, second.snapshot]
    start, cut, end = (store.read_files(sha.removeprefix("sha256:"), lambda item: item.path in wanted) for sha in shas)
    assert cut[HEAD] == start[HEAD]
    assert end[HEAD] != start[HEAD]
    assert b"### R1" in cut["state.md"]
    assert end["state.md"].startswith(cut["state.md"])
    assert "COMPLETE_TASK" in (result.paths.trial(name).step(2, "session").output).read_text(errors="replace")
