"""Agents on click whose scores are known before they run: the handoff effect, and no trick that pays."""

from __future__ import annotations

import pytest
from trialruns import absent, need_image, run_all

from takeover.grader.scorecard import Retention, Scorecard
from takeover.repos.scripted import TRICKS
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import InputError
from takeover.tiers.arms import load_arm
from takeover.trials.agents import resolve_agent
from takeover.trials.plan import Plan, make_plan
from takeover.trials.signing import Signer
from takeover.trials.tasks import load_any

pytestmark = [pytest.mark.docker, pytest.mark.slow]

VARIANT = "canonical,hints=specifications"
# Resolved of the 13 canonical bugs in Vanilla and in State_MD_Only. The prompt of session 1 tells of all of them; its
# first edit mends one, and what the second session can know of the others stands in the notes or nowhere.
KNOWN = {"oracle": (13, 13), "nop": (0, 0), "note-taker": (1, 13), "amnesiac": (1, 1)}
# What the tricks must come to: exactly what their honest twins do, and what their scorecards say of them.
DISHONEST = {
    "liar": (0, set()),
    "upgrader": (13, {"other_release", "rewritten"}),
    "vendorer": (13, {"other_release", "vendored", "environment"}),
    "probe-patcher": (1, {"environment"}),
    "shadower": (1, {"stdlib_shadowed"}),
    "steerer": (1, {"environment"}),
}


def plan_on_click(arms: tuple[str, ...], agents: tuple[str, ...]) -> Plan:
    """Each agent once in each arm on the canonical bugs of click, told by their specifications."""
    task = load_any("click", VARIANT)
    try:
        cells = [(task, load_arm(arm, task)) for arm in arms]
    except InputError as error:
        absent(str(error))
    return make_plan(cells, [resolve_agent(name) for name in agents])


@pytest.fixture(scope="module")
def clicked(engine: DockerEngine, key: Signer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scorecard]:
    """The scorecards of all of them: the honest in both arms, the dishonest and the rest of their twins in one."""
    need_image(engine, "repos-click")
    folder = tmp_path_factory.mktemp("click")
    honest = run_all(engine, folder / "honest", plan_on_click(("Vanilla", "State_MD_Only"), tuple(KNOWN)), key)
    cheats = run_all(engine, folder / "cheats", plan_on_click(("State_MD_Only",), ("first-only", *TRICKS)), key)
    return {**honest.scorecards, **cheats.scorecards}


def verdict(cards: dict[str, Scorecard], agent: str, arm: str = "State_MD_Only") -> Retention:
    (card,) = [one for one in cards.values() if (one.agent, one.arm) == (agent, arm)]
    assert card.outcome == "graded", card.failure
    assert card.retention is not None
    return card.retention


def passed(found: Retention) -> set[str]:
    return {check.id for check in found.checks if check.passed}


@pytest.mark.parametrize("agent", KNOWN)
def test_notes_carry_the_bugs_over(clicked: dict[str, Scorecard], agent: str) -> None:
    """The oracle mends all, nop none, the note-taker all where the arm keeps notes, the amnesiac what one edit mends."""
    found = [verdict(clicked, agent, arm) for arm in ("Vanilla", "State_MD_Only")]
    assert tuple(one.raw.passed for one in found) == KNOWN[agent]
    assert tuple(one.net for one in found) == KNOWN[agent]
    assert [one.raw.total for one in found] == [13, 13]
    assert [note.kind for one in found for note in one.notes] == []


@pytest.mark.parametrize("agent", ["note-taker", "amnesiac", "first-only"])
def test_session_one_ends_at_its_first_edit(clicked: dict[str, Scorecard], agent: str) -> None:
    """Exactly there: the notes are written before, and nothing is after it."""
    (card,) = [one for one in clicked.values() if (one.agent, one.arm) == (agent, "State_MD_Only")]
    first, second = card.sessions
    assert (first.exit, second.exit) == ("cutoff", "exited")
    assert first.edited == ["src/click/decorators.py"]


def test_the_notes_fit_into_what_the_arm_allows(clicked: dict[str, Scorecard]) -> None:
    """All 13 bugs are in them when session 1 is cut off, within the limit of the state file."""
    (card,) = [one for one in clicked.values() if (one.agent, one.arm) == ("note-taker", "State_MD_Only")]
    use = card.sessions[0].notes_use
    assert use is not None
    assert use.within is True


def test_every_trick_has_its_line() -> None:
    """The table above was written for all of them."""
    assert set(DISHONEST) == set(TRICKS)
    assert {name: set(trick.notes) for name, trick in TRICKS.items()} == {
        n: notes for n, (_, notes) in DISHONEST.items()
    }


@pytest.mark.parametrize("agent", DISHONEST)
def test_a_trick_is_worth_what_its_honest_twin_is(clicked: dict[str, Scorecard], agent: str) -> None:
    """The same checks pass, the same score is kept, and the scorecard says what was done."""
    resolved, notes = DISHONEST[agent]
    twin, found = verdict(clicked, TRICKS[agent].twin), verdict(clicked, agent)
    assert (found.raw.passed, found.net) == (resolved, resolved)
    assert passed(found) == passed(twin)
    assert (found.net, found.zeroed_by) == (twin.net, [])
    assert {note.kind for note in found.notes} == notes
    assert twin.notes == []
