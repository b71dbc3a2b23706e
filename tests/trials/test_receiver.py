"""Another agent may take over: what it inherits is the first one's disk, and what it makes of that is its own."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from trialruns import TASK, run_all

from takeover.cli import main
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import InputError
from takeover.tiers.arms import load_arm
from takeover.tiers.load import load_task
from takeover.trials.agents import resolve_agent
from takeover.trials.plan import Plan, make_plan
from takeover.trials.regrade import regrade
from takeover.trials.running import RunResult
from takeover.trials.sessions import read_meta
from takeover.trials.signing import Signer


def plan_of_pairs(givers: list[str], takers: list[str]) -> Plan:
    task = load_task(TASK, "0")
    cells = [(task, load_arm("State_MD_Only", task))]
    return make_plan(cells, [resolve_agent(one) for one in givers], receivers=[resolve_agent(one) for one in takers])


def test_both_agents_are_part_of_a_trial() -> None:
    """Its name says who gave and who took; only the first session is the giver's; the run's identity holds both."""
    plan = plan_of_pairs(["note-taker"], ["amnesiac", "oracle"])

    assert [spec.name for spec in plan.trials] == [
        f"{TASK}.State_MD_Only.note-taker-to-amnesiac.1",
        f"{TASK}.State_MD_Only.note-taker-to-oracle.1",
    ]
    assert [plan.trials[0].agent_of(number).name for number in (1, 2, 3)] == ["note-taker", "amnesiac", "amnesiac"]
    agents = plan.identity({}, "")["agents"]
    assert isinstance(agents, list)
    assert sorted(one["name"] for one in agents) == ["amnesiac", "note-taker", "oracle"]


def test_a_trial_without_a_receiver_is_one_agents() -> None:
    """Every session is its, and its name alone is in the trial's."""
    task = load_task(TASK, "0")
    (spec,) = make_plan([(task, load_arm("Vanilla", task))], [resolve_agent("nop")]).trials

    assert (spec.agent_name, spec.agent_of(1), spec.agent_of(2)) == ("nop", spec.agent, spec.agent)
    assert spec.name == f"{TASK}.Vanilla.nop.1"


def test_two_pairs_of_one_name_are_refused() -> None:
    """`a-to-b` may be an image as well as a pair."""
    with pytest.raises(InputError, match="two trials would be called"):
        plan_of_pairs(["nop"], ["oracle", "oracle"])


def test_a_receiver_that_cannot_be_is_refused() -> None:
    """Before anything is run."""
    done = CliRunner().invoke(main, ["run", TASK, "--arm", "Vanilla", "--agent", "nop", "--receiver", "!"])
    assert done.exit_code == 2


@pytest.fixture(scope="module")
def pairs(engine: DockerEngine, key: Signer, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """One who leaves notes and one who does not, each taken over by one who knows what is there, and by one who knows all."""
    plan = plan_of_pairs(["note-taker", "amnesiac"], ["amnesiac", "oracle"])
    return run_all(engine, tmp_path_factory.mktemp("pairs") / "run", plan, key, parallel=4)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize(
    ("giver", "taker", "net"),
    [
        ("note-taker", "amnesiac", 8),
        ("note-taker", "oracle", 8),
        ("amnesiac", "amnesiac", 1),
        ("amnesiac", "oracle", 8),
    ],
)
def test_the_verdict_is_that_of_both(pairs: RunResult, giver: str, taker: str, net: int) -> None:
    """The same receiver keeps all or one requirement, as its predecessor left notes or not."""
    card = pairs.scorecards[f"{TASK}.State_MD_Only.{giver}-to-{taker}.1"]
    assert card.retention is not None, card.failure
    assert card.agent == f"{giver}-to-{taker}"
    assert card.retention.net == net
    assert [session.exit for session in card.sessions] == ["cutoff", "exited"]


@pytest.mark.docker
@pytest.mark.slow
def test_a_pair_is_graded_again_as_it_was(pairs: RunResult, engine: DockerEngine) -> None:
    """From the run's folder alone."""
    again = regrade(pairs.paths, f"{TASK}.State_MD_Only.note-taker-to-amnesiac.1", engine)
    assert again is not None
    assert again.how == "same"
    trial = pairs.paths.trial(again.name)
    assert read_meta(trial.step(2, "session")).start == read_meta(trial.step(1, "session")).session.snapshot
