"""Real codebases as tasks of a run: how the command line names them, what freezes them, who works on them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from takeover.repos.load import load_repo_task, repo_folders
from takeover.repos.probes import HINTS
from takeover.sandbox.errors import InputError
from takeover.tiers.arms import Arm
from takeover.tiers.load import load_task
from takeover.trials.agents import resolve_agent
from takeover.trials.plan import Plan, differences, make_plan, predicted
from takeover.trials.tasks import Choice, codebase, load_any, load_chosen, tier_task

VANILLA = Arm("Vanilla", "", {}, None, None, "0" * 64)


def plan_of(task: str, *agents: str, variant: str = "0") -> Plan:
    return make_plan([(load_any(task, variant), VANILLA)], [resolve_agent(name) for name in agents])


@pytest.mark.parametrize("ref", ["click", "repos/click", repo_folders()["click"]])
def test_a_codebase_is_named_by_name_or_folder(ref: str | Path) -> None:
    """Beside the tasks of the tiers, by one loader; nothing is fetched for it."""
    task = load_any(ref)
    assert (task.id, task.codebase, len(task.requirements)) == ("click", True, 13)
    assert codebase(task) is task
    assert not load_any("tier2_fintech").codebase


def test_an_unknown_task_lists_both_kinds() -> None:
    """In one line and a hint."""
    with pytest.raises(InputError, match="no task 'nothing-such'") as caught:
        load_any("nothing-such")
    assert "tier2_fintech" in str(caught.value.hint)
    assert "repos/click" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("choice", "variant"),
    [
        (Choice(), "0"),
        (Choice(bugs="canonical"), "0"),
        (Choice(bugs="all"), "all"),
        (Choice(hints="areas"), "canonical,hints=areas"),
        (Choice(bugs="area:core", hints="specifications"), "area:core,hints=specifications"),
        (Choice(variant="all,hints=areas"), "all,hints=areas"),
    ],
)
def test_the_selection_is_the_variant(choice: Choice, variant: str) -> None:
    """What --bugs and --hints say is what a scorecard keeps, and it loads the same task again."""
    task = load_chosen("repos/click", choice)
    assert task.variant == variant
    assert load_any("click", task.variant).sha256 == task.sha256


@pytest.mark.parametrize(
    ("ref", "choice", "message"),
    [
        ("tier2_fintech", Choice(bugs="all"), "--bugs: tier2_fintech is no codebase"),
        ("tier2_fintech", Choice(hints="areas"), "--hints: tier2_fintech is no codebase"),
        ("repos/click", Choice(variant="7"), "--variant 7: repos/click has bugs and no seeds"),
        ("repos/click", Choice(variant="all", bugs="all"), "--variant: says the same"),
        ("repos/click", Choice(bugs="nothing-such"), "names no bug"),
    ],
)
def test_a_choice_that_does_not_fit_is_refused(ref: str, choice: Choice, message: str) -> None:
    """Before anything is loaded or fetched."""
    with pytest.raises(InputError, match=message):
        load_chosen(ref, choice)


def test_only_agents_that_know_codebases_are_let_in() -> None:
    """At planning; and the other way round nothing changes."""
    assert [trial.agent.name for trial in plan_of("click", "nop", "some-image:1").trials] == ["nop", "some-image-1"]
    with pytest.raises(InputError, match="literalist: does not know codebases") as caught:
        plan_of("click", "literalist")
    assert "oracle, nop" in str(caught.value.hint)
    with pytest.raises(InputError, match="upgrader: knows codebases, not tier2_fintech"):
        plan_of("tier2_fintech", "upgrader")


def test_what_is_planted_needs_a_task_of_the_tiers() -> None:
    """A real codebase is refused by name."""
    assert tier_task(load_task("tier2_fintech"), "x").id == "tier2_fintech"
    with pytest.raises(InputError, match="click: the red team is for tasks of the tiers"):
        tier_task(load_any("click"), "the red team")


@pytest.mark.parametrize("hints", HINTS)
def test_the_name_of_a_trial_is_a_folder(hints: str) -> None:
    """Whatever was selected."""
    trial = plan_of("click", "nop", variant=load_chosen("click", Choice(bugs="all", hints=hints)).variant).trials[0]
    assert re.fullmatch(r"[A-Za-z0-9@._-]+", trial.name)


def test_any_number_of_ids_makes_a_name() -> None:
    """Every bug but one by its id: the name is short, and not that of another selection."""
    ids = [bug.id for bug in load_repo_task("click", "all").bugs]
    first, second = (
        plan_of("click", "nop", variant=load_chosen("click", Choice(bugs=",".join(some))).variant).trials[0]
        for some in (ids[:-1], [*ids[:-2], ids[-1]])
    )
    assert len(first.task.requirements) == len(ids) - 1
    assert first.name != second.name
    assert len(first.name) < 100


def predictions(tmp_path: Path, resolved: int) -> Path:
    path = tmp_path / f"{resolved}.yaml"
    path.write_text(f"schema_version: 1\npredictions:\n  - {{task: click, arm: Vanilla, resolved: {resolved}}}\n")
    return path


def test_predictions_are_frozen_with_the_run(tmp_path: Path) -> None:
    """Another number, or none, is another run; a cell that will not run is refused."""
    plan = plan_of("click", "nop")
    frozen = predicted(plan, predictions(tmp_path, 1)).identity({}, "")
    assert differences(frozen, predicted(plan, predictions(tmp_path, 1)).identity({}, "")) == []
    for other in (plan, predicted(plan, predictions(tmp_path, 2))):
        assert differences(frozen, other.identity({}, "")) == ["predictions"]
    with pytest.raises(InputError, match="click has 13 bugs"):
        predicted(plan, predictions(tmp_path, 14))
    with pytest.raises(InputError, match="the run has no cell click Vanilla"):
        predicted(plan_of("tier2_fintech", "nop"), predictions(tmp_path, 1))


def test_a_run_says_which_of_its_tasks_are_codebases() -> None:
    """So that its folder alone gives the table."""
    tasks = [plan_of(name, "nop").identity({}, "")["tasks"] for name in ("click", "tier2_fintech")]
    assert [row[0].get("codebase") for row in tasks if isinstance(row, list)] == [True, None]
