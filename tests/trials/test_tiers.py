"""Every tier measures what it says: agents with known scores, over tasks, arms and variants."""

from __future__ import annotations

import pytest
from trialruns import run_all

from takeover.sandbox.engine import DockerEngine
from takeover.tiers.arms import load_arm
from takeover.tiers.load import list_tasks, load_task
from takeover.trials.agents import resolve_agent
from takeover.trials.plan import Plan, make_plan
from takeover.trials.running import RunResult
from takeover.trials.signing import Signer
from takeover.trials.walk import session_steps

pytestmark = [pytest.mark.docker, pytest.mark.slow]

TASKS = tuple(one.id for one in list_tasks())
# Arm and variant; together they reach every shipped kind of arm and a variant that nobody has published.
CELLS = (("Vanilla", "0"), ("Tuned_Reference", "0"), ("State_MD_Only", "sample"))
NOTES = {"Tuned_Reference", "State_MD_Only"}
AGENTS = ("oracle", "note-taker", "amnesiac", "nop")


def plan() -> Plan:
    cells = []
    for name in TASKS:
        for arm, variant in CELLS:
            task = load_task(name, variant)
            cells.append((task, load_arm(arm, task)))
    return make_plan(cells, [resolve_agent(agent) for agent in AGENTS])


@pytest.fixture(scope="module")
def tiers(engine: DockerEngine, key: Signer, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """All of them, run once."""
    return run_all(engine, tmp_path_factory.mktemp("tiers") / "run", plan(), key, parallel=4)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(("arm", "variant"), CELLS)
@pytest.mark.parametrize("task", TASKS)
def test_a_tier_measures_what_it_says(tiers: RunResult, task: str, arm: str, variant: str, agent: str) -> None:
    """Oracle all, note-taker all where the arm gives it notes, amnesiac what its edits met, nop nothing."""
    place = task if variant == "0" else f"{task}@{variant}"
    card = tiers.scorecards[f"{place}.{arm}.{agent}.1"]
    assert card.outcome == "graded", card.failure
    verdict = card.retention
    assert verdict is not None
    cuts = sum(step.cutoff != "none" for step in session_steps(load_task(task)))
    most = {"oracle": verdict.raw.total, "amnesiac": cuts, "nop": 0}
    most["note-taker"] = verdict.raw.total if arm in NOTES else cuts

    if agent == "nop":
        # Where the agent has to build the baseline first, doing nothing leaves that undone as well.
        assert (verdict.raw.passed, verdict.net) == (0, 0)
        return
    assert verdict.zeroed_by == []
    assert verdict.net == verdict.raw.passed
    if most[agent] == verdict.raw.total:
        assert verdict.net == verdict.raw.total
    else:
        assert 0 < verdict.net <= most[agent]
    assert all(one.cutoff and one.cutoff.exact for one in card.sessions if one.exit == "cutoff")


def test_the_wording_of_rule_4_decides_over_the_first_wave(
    engine: DockerEngine, key: Signer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An agent that takes the arm at its word loses earlier waves under ONLY, and keeps all under the in-place rule."""
    task = load_task("tier4_library")
    arms = ("State_MD_Rule4_Only_New", "State_MD_In_Place")
    cells = [(task, load_arm(arm, task)) for arm in arms]

    result = run_all(
        engine, tmp_path_factory.mktemp("wording") / "run", make_plan(cells, [resolve_agent("literalist")]), key
    )

    kept = {card.arm: card.retention.net for card in result.scorecards.values() if card.retention}
    assert kept["State_MD_In_Place"] == 36
    assert kept["State_MD_Rule4_Only_New"] < 36
