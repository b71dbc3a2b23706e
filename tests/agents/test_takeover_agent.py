"""The built-in receiver in a sandbox: in the formats that its recipe does not take by itself, and when its budget ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from agents_kit import (
    EDIT,
    FIRST,
    GIVING,
    MODEL,
    NOTE,
    NOTES,
    SECOND,
    SOURCE,
    TAKING,
    changed,
    metas,
    said,
    seen,
    text_of,
)
from modelkit import model_plan, run_model, script_file

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.gateway.budget import Limits
from takeover.sandbox.gateway.settings import Pinned
from takeover.trials.agents import resolve_agent
from takeover.trials.model import ModelSettings
from takeover.trials.signing import Signer

pytestmark = [pytest.mark.docker, pytest.mark.slow]

NAME = "takeover-agent"
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}


@pytest.mark.parametrize(("form", "stream"), [("responses", "1"), ("messages", "1"), ("messages", "0")])
def test_the_format_is_chosen_by_the_environment(
    engine: DockerEngine, key: Signer, built: Callable[..., None], tmp_path: Path, form: str, stream: str
) -> None:
    """It edits, is cut off by that, and takes over; the answers came in the format that was asked for."""
    built(NAME)
    agent = resolve_agent(NAME, {"TAKEOVER_AGENT_FORMAT": form, "TAKEOVER_AGENT_STREAM": stream})
    script = script_file(tmp_path / "script.yaml", GIVING, TAKING)
    model = ModelSettings(source="script", file=script, pinned=Pinned(model=MODEL), record=tmp_path / "calls.jsonl")

    result = run_model(engine, tmp_path / "run", model_plan(model, agent, arm="Vanilla"), key)

    (card,) = result.scorecards.values()
    assert card.outcome == "graded", card.failure
    first, second = card.sessions
    assert (first.exit, first.cutoff and first.cutoff.path) == ("cutoff", SOURCE)
    assert (second.exit, second.code) == ("exited", 0)
    assert FIRST in text_of(result, first.snapshot, SOURCE)
    assert SECOND in text_of(result, second.snapshot, SOURCE)
    assert SOURCE in said(result, 1)
    assert NOTE.strip() in seen(result, 2)
    begun, ended = metas(result)
    assert changed(result, begun.start, second.snapshot) == {NOTES, SOURCE}
    assert ended.usage is not None
    assert ended.usage.turns == len(TAKING)
    recording = (tmp_path / "calls.jsonl").read_text()
    assert [other for other, path in PATHS.items() if path in recording] == [form]


def test_it_stops_when_its_budget_is_spent(
    engine: DockerEngine, key: Signer, built: Callable[..., None], tmp_path: Path
) -> None:
    """It reads of the 404 at once and ends; what it had done until then is graded."""
    built(NAME)
    script = script_file(tmp_path / "script.yaml", [EDIT], TAKING)
    model = ModelSettings(source="script", file=script, pinned=Pinned(model=MODEL))
    model = replace(model, trial=Limits(calls=3))

    result = run_model(engine, tmp_path / "run", model_plan(model, resolve_agent(NAME), arm="Vanilla"), key)

    (card,) = result.scorecards.values()
    assert card.outcome == "graded", card.failure
    assert (card.sessions[1].exit, card.sessions[1].code) == ("exited", 1)
    (name,) = result.planned
    assert "stopped: no further calls (404)" in result.paths.trial(name).step(2, "session").output.read_text()
