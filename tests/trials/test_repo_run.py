"""A real run on isort: all or nothing, graded again to the same bytes, and frozen with what its grading needs."""

from __future__ import annotations

import json

import pytest
from trialruns import absent, need_image, run_all

from takeover.repos.visible import ID
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import InputError
from takeover.tiers.arms import load_arm
from takeover.trials.agents import resolve_agent
from takeover.trials.plan import make_plan
from takeover.trials.regrade import regrade
from takeover.trials.results import write_results
from takeover.trials.running import RunResult
from takeover.trials.signing import Signer
from takeover.trials.tasks import load_any

pytestmark = [pytest.mark.docker, pytest.mark.slow]

RESOLVED = {"oracle": 11, "nop": 0}


@pytest.fixture(scope="module")
def sorted_out(engine: DockerEngine, key: Signer, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """Oracle and nop on the canonical bugs of isort."""
    task = load_any("repos/isort")
    need_image(engine, "repos-isort")
    try:
        arm = load_arm("Vanilla", task)
    except InputError as error:
        absent(str(error))
    plan = make_plan([(task, arm)], [resolve_agent(name) for name in RESOLVED])
    return run_all(engine, tmp_path_factory.mktemp("isort") / "run", plan, key)


@pytest.mark.parametrize("agent", RESOLVED)
def test_the_oracle_resolves_all_and_nop_none(sorted_out: RunResult, agent: str) -> None:
    """Of the canonical set, with the release's own tests green and nothing to remark."""
    verdict = sorted_out.scorecards[f"isort.Vanilla.{agent}.1"].retention
    assert verdict is not None
    assert (verdict.raw.passed, verdict.raw.total, verdict.net) == (RESOLVED[agent], 11, RESOLVED[agent])
    assert [check.id for check in verdict.checks if check.kind == "baseline" and check.passed] == [ID]
    assert (verdict.protected_edited, verdict.notes, verdict.zeroed_by) == ([], [], [])


def test_grading_again_gives_the_same_bytes(sorted_out: RunResult, engine: DockerEngine) -> None:
    """By the task's name and the variant in the scorecard alone."""
    again = regrade(sorted_out.paths, "isort.Vanilla.oracle.1", engine)
    assert again is not None
    assert again.how == "same"


def test_the_run_froze_what_its_grading_needs(sorted_out: RunResult) -> None:
    """The image of the release's own tests, beside the sandbox's."""
    identity = json.loads(sorted_out.paths.identity.read_bytes())
    assert set(identity["images"]) == {"sandbox", "repos-isort"}
    assert identity["tasks"][0]["codebase"] is True


def test_its_summary_tells_what_it_cost(sorted_out: RunResult) -> None:
    """Seconds are known; tokens nobody counted."""
    (table,) = write_results(sorted_out).tables
    rows = {row["agent"]: row for row in table.data}
    assert [rows[agent]["resolved"] for agent in RESOLVED] == [11.0, 0.0]
    assert all(row["seconds"] is not None and row["total_tokens"] is None for row in table.data)
