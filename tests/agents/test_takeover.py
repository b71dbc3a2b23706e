"""Agents that nobody here wrote work unmodified in a sandbox, are cut off by their first edit, and are taken over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from agents_kit import (
    DATELESS,
    FIRST,
    LATE,
    NAMES,
    NOTE,
    NOTES,
    RECORDING,
    SECOND,
    SOURCE,
    TRACES,
    agent_params,
    changed,
    metas,
    on_another_day,
    other_than,
    said,
    seen,
    take_over,
    text_of,
)

from takeover.grader.scorecard import canonical_bytes
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.gateway.budget import Limits
from takeover.sandbox.images import RECIPES
from takeover.trials.agents import read_recipe, recipe_of
from takeover.trials.running import RunResult
from takeover.trials.signing import Signer

pytestmark = [pytest.mark.docker, pytest.mark.slow]

Take = Callable[[str, str], RunResult]


@pytest.fixture(scope="module")
def take(
    engine: DockerEngine, key: Signer, built: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> Take:
    """A trial of two agents, run once."""
    kept: dict[tuple[str, str], RunResult] = {}

    def run(giver: str, taker: str) -> RunResult:
        built(giver, taker)
        if (giver, taker) not in kept:
            folder = tmp_path_factory.mktemp(f"{giver}-{taker}")
            kept[giver, taker] = take_over(engine, folder, key, giver, taker)
        return kept[giver, taker]

    return run


@pytest.mark.parametrize("name", agent_params())
def test_an_agent_is_cut_off_by_its_first_edit(take: Take, name: str) -> None:
    """A call of a tool that its own model asked for edits a file; nothing comes after it, and nothing else was touched."""
    result = take(name, name)
    (card,) = result.scorecards.values()
    assert card.outcome == "graded", card.failure
    first = card.sessions[0]
    assert first.exit == "cutoff"
    assert first.cutoff is not None
    assert (first.cutoff.rule, first.cutoff.exact, first.cutoff.path) == ("first-edit:1", True, SOURCE)
    meta = metas(result)[0]
    assert changed(result, meta.start, first.snapshot) - TRACES.get(name, set()) == {NOTES, SOURCE}
    assert FIRST in text_of(result, first.snapshot, SOURCE)
    assert SOURCE in said(result, 1)
    assert LATE not in seen(result, 1)


@pytest.mark.parametrize("name", agent_params())
@pytest.mark.parametrize("which", ["itself", "another"])
def test_an_agent_takes_over(take: Take, name: str, which: str) -> None:
    """The second session reads what the first left on disk, goes on from its edit and ends by itself."""
    giver = name if which == "itself" else other_than(name)
    result = take(giver, name)
    (card,) = result.scorecards.values()
    assert card.outcome == "graded", card.failure
    assert card.agent == (name if which == "itself" else f"{giver}-to-{name}")
    assert card.sessions[0].exit == "cutoff"
    second = card.sessions[1]
    assert (second.exit, second.code) == ("exited", 0)
    assert NOTE.strip() in seen(result, 2)
    assert SECOND in text_of(result, second.snapshot, SOURCE)
    begun, ended = metas(result)
    traces = TRACES.get(name, set()) | TRACES.get(giver, set())
    assert changed(result, begun.start, second.snapshot) - traces == {NOTES, SOURCE}
    assert (ended.image != begun.image) == (giver != name)


@pytest.mark.parametrize("name", agent_params())
def test_the_tokens_of_an_agent_are_counted(take: Take, name: str) -> None:
    """Every answer that it got is known to the last token, and each request that offers tools was a turn."""
    result = take(name, name)
    (card,) = result.scorecards.values()
    counted = [meta.usage for meta in metas(result)]
    assert all(usage is not None and usage.tokens and usage.turns for usage in counted)
    assert card.tokens.provenance == "metered"
    assert card.tokens.total == sum(usage.tokens or 0 for usage in counted if usage is not None)


@pytest.mark.parametrize("name", agent_params())
def test_a_recording_can_be_played_on_another_day(
    take: Take, engine: DockerEngine, key: Signer, tmp_path: Path, name: str
) -> None:
    """What an agent puts into its prompts of day, clock and ids does not matter: its scorecard is the same to the byte."""
    recorded = take(name, name)
    recording = (recorded.paths.root.parent / RECORDING).read_text()
    other = on_another_day(recording)
    assert (other != recording) == (name not in DATELESS)
    (tmp_path / RECORDING).write_text(other)

    played = take_over(engine, tmp_path, key, name, name, cassette=tmp_path / RECORDING)

    (card,), (before,) = played.scorecards.values(), recorded.scorecards.values()
    assert card.outcome == "graded", card.failure
    assert canonical_bytes(card) == canonical_bytes(before)


@pytest.mark.parametrize("name", agent_params())
def test_an_agent_whose_budget_is_used_up_ends(
    engine: DockerEngine, key: Signer, built: Callable[..., None], tmp_path: Path, name: str
) -> None:
    """By itself and not by the wall: it takes the gateway's refusal for an end, in either session."""
    built(name)
    result = take_over(engine, tmp_path, key, name, name, limits=Limits(calls=1))
    (card,) = result.scorecards.values()
    assert card.outcome == "graded", card.failure
    assert [session.exit for session in card.sessions] == ["exited", "exited"]
    assert [meta.usage.calls for meta in metas(result) if meta.usage] == [1, 0]


@pytest.mark.parametrize("name", agent_params())
def test_an_image_carries_its_recipe(engine: DockerEngine, built: Callable[..., None], name: str) -> None:
    """What recipe.yaml says is what the trusted side reads from the image."""
    built(name)
    text = (RECIPES / "agents" / name / "recipe.yaml").read_text()
    assert recipe_of(engine.image(name)) == read_recipe(yaml.safe_load(text), name)


def test_every_agent_takes_over_from_another() -> None:
    """No agent is left out, and none is called another one."""
    assert {other_than(name) for name in NAMES} == set(NAMES)
    assert all(other_than(name) != name for name in NAMES)
