"""Agents whose scores are known before they run, as real processes in real sandboxes."""

from __future__ import annotations

import hashlib

import pytest
import zstandard

from takeover.grader.scorecard import Scorecard, canonical_bytes
from takeover.sandbox.dsse import load_public_key, verify
from takeover.sandbox.engine import DockerEngine
from takeover.tiers.cheats import CHEATS
from takeover.trials.regrade import regrade
from takeover.trials.running import RunResult
from takeover.trials.signing import SCORECARD_TYPE

pytestmark = [pytest.mark.docker, pytest.mark.slow]

# raw = net of each agent in Vanilla, AGENTS_MD_Only, State_MD_Only. The first edit meets one requirement, so one
# survives without notes; the others were in the prompt of session 1 alone.
KNOWN = {
    "oracle": (8, 8, 8),
    "nop": (0, 0, 0),
    "liar": (0, 0, 0),
    "note-taker": (1, 1, 8),
    "amnesiac": (1, 1, 1),
    "first-only": (1, 1, 1),
}


def card(result: RunResult, agent: str, arm: str = "State_MD_Only") -> Scorecard:
    return result.scorecards[f"tier2_fintech.{arm}.{agent}.1"]


@pytest.mark.parametrize("agent", KNOWN)
def test_a_known_agent_gets_its_known_score(honest: RunResult, agent: str) -> None:
    """Oracle all, nop and liar nothing, note-taker all where the arm gives it notes, amnesiac its one edit."""
    scores = []
    for arm in ("Vanilla", "AGENTS_MD_Only", "State_MD_Only"):
        found = card(honest, agent, arm)
        assert found.outcome == "graded"
        assert found.retention is not None
        assert found.retention.raw.passed == found.retention.net
        assert found.retention.baseline.passed == found.retention.baseline.total
        scores.append(found.retention.net)

    assert KNOWN[agent] == tuple(scores)


def test_session_one_ends_at_its_first_edit(honest: RunResult) -> None:
    """Every agent that edits is cut exactly at the edit of ledger/rules.py; one that never edits exits by itself."""
    for name, found in honest.scorecards.items():
        first, second = found.sessions
        if found.agent in ("nop", "liar"):
            assert (first.exit, first.code) == ("exited", 0), name
            continue
        assert first.exit == "cutoff", name
        assert first.cutoff is not None
        assert (first.cutoff.path, first.cutoff.exact, first.cutoff.late) == ("ledger/rules.py", True, []), name
        assert first.edited == ["ledger/rules.py"], name
        assert second.exit == "exited", name


def test_a_snapshot_is_named_by_its_bytes(honest: RunResult) -> None:
    """Anybody can prove a snapshot's name with zstd and sha256sum."""
    files = sorted(honest.paths.snapshots.iterdir())
    assert files
    for file in files:
        with file.open("rb") as packed, zstandard.ZstdDecompressor().stream_reader(packed) as plain:
            digest = hashlib.sha256(plain.read()).hexdigest()
        assert file.name == f"{digest}.tar.zst"


def test_a_scorecard_is_signed_over_its_exact_bytes(honest: RunResult) -> None:
    """The signature holds for the file as it is and for no other."""
    public = load_public_key(honest.paths.public_key)
    trial = honest.paths.trial("tier2_fintech.State_MD_Only.note-taker.1")
    data, envelope = trial.scorecard.read_bytes(), trial.signature.read_bytes()

    assert verify(envelope, public, payload_type=SCORECARD_TYPE).payload == data
    assert not verify(envelope.replace(b"e", b"f", 1), public, payload_type=SCORECARD_TYPE)


@pytest.mark.parametrize("agent", ["note-taker", "amnesiac"])
def test_grading_again_gives_the_same_bytes(honest: RunResult, engine: DockerEngine, agent: str) -> None:
    """A verdict is derived from the run's folder again, byte for byte, without the agent."""
    name = f"tier2_fintech.State_MD_Only.{agent}.1"

    again = regrade(honest.paths, name, engine)

    assert again is not None
    assert again.how == "same"
    assert canonical_bytes(again.scorecard) == honest.paths.trial(name).scorecard.read_bytes()


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_gets_what_its_honest_twin_gets(dishonest: RunResult, cheat: str) -> None:
    """No attack on the grader earns a point, hides a breach, or turns a verdict into a failure of the machinery."""
    kind = CHEATS[cheat]
    twin, found = card(dishonest, kind.base).retention, card(dishonest, cheat)
    assert found.outcome == "graded", found.failure
    verdict = found.retention
    assert twin is not None
    assert verdict is not None
    passed = {check.id for check in verdict.checks if check.passed}
    honest = {check.id for check in twin.checks if check.passed}
    reasons = [zeroed.reason for zeroed in verdict.zeroed_by]

    assert verdict.raw.passed <= twin.raw.passed
    match kind.expected:
        case "twin":
            assert (passed, verdict.net, reasons) == (honest, twin.net, [])
        case "at-most-twin":
            assert passed <= honest
            assert verdict.net <= twin.net
        case "zero":
            assert verdict.net == 0
            assert reasons
        case reason:
            assert verdict.net == 0
            assert reasons == [reason]
