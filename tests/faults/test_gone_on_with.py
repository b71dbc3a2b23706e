"""A run that is gone on with: on another engine, and after the machinery failed."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from fakes import FakeEngine
from meddling import Meddled, carry_out, plan_for, scripted

from takeover.cli import main
from takeover.grader.scorecard import parse_scorecard
from takeover.sandbox.dsse import load_public_key, verify
from takeover.sandbox.engine import NO_LABELS, DockerEngine, EngineInfo
from takeover.sandbox.errors import InputError, SandboxDied, WorkspaceTooLarge
from takeover.sandbox.labels import TRIAL
from takeover.sandbox.limits import Limits
from takeover.sandbox.sandbox import Sandbox
from takeover.trials.record import RunPaths, TrialPaths
from takeover.trials.signing import SCORECARD_TYPE, Signer
from takeover.trials.surroundings import known_engine

BAD, GREEDY, FINE = scripted("bad", "true"), scripted("greedy", "true"), scripted("fine", "true")
THIRD = 3  # a trial opens two sandboxes for its agent and one to be graded in


class Partial(FakeEngine):
    """Sandboxes of one agent die, those of another leave too much, and it counts what was opened for whom."""

    def __init__(self) -> None:
        super().__init__()
        self.for_whom: list[str] = []

    def open(
        self, image: str, *, limits: Limits, labels: Mapping[str, str] = NO_LABELS
    ) -> contextlib.AbstractContextManager[Sandbox]:
        agent = labels[TRIAL].split(".")[2]
        self.for_whom.append(agent)
        if agent == "bad":
            raise SandboxDied("on purpose")
        if agent == "greedy":
            raise WorkspaceTooLarge("on purpose")
        return super().open(image, limits=limits, labels=labels)


def test_another_engine_is_noted_and_recorded(tmp_path: Path, key: Signer) -> None:
    """An engine that changed between two halves of a run is said to have, with what changed, and both are on record."""

    class Newer(FakeEngine):
        def info(self) -> EngineInfo:
            return replace(super().info(), version="29.0.1", kernel="6.12")

    plan = plan_for(FINE)
    noted = lambda seen: [text for text in seen.notes if "another engine" in text]
    _, first = carry_out(FakeEngine(), tmp_path / "r", plan, key)
    _, same = carry_out(FakeEngine(), tmp_path / "r", plan, key, resume=True)
    _, other = carry_out(Newer(), tmp_path / "r", plan, key, resume=True)
    _, again = carry_out(Newer(), tmp_path / "r", plan, key, resume=True)

    assert noted(first) == noted(same) == noted(again) == []
    (told,) = noted(other)
    assert told.startswith("another engine than before: version 1 -> 29.0.1, kernel 6.1 -> 6.12;")
    engines = json.loads((tmp_path / "r" / "engines.json").read_bytes())
    assert engines == [asdict(FakeEngine().info()), asdict(Newer().info())]


def test_a_larger_machine_is_recorded_and_no_reason_to_warn(tmp_path: Path) -> None:
    """Where the engine is, and on how many processors, is kept; it changes no verdict."""
    paths, info = RunPaths(tmp_path), FakeEngine().info()
    assert known_engine(paths, info) is None
    assert known_engine(paths, replace(info, url="tcp://elsewhere", cpus=64)) is None
    assert len(json.loads(paths.engines.read_bytes())) == 2


@pytest.mark.parametrize("text", ["[", "{}", '[{"name": "Docker"}]', "[3]"])
def test_a_record_of_engines_that_is_none(tmp_path: Path, text: str) -> None:
    """A damaged file is named, not overwritten."""
    (tmp_path / "engines.json").write_text(text)
    with pytest.raises(InputError, match=r"engines\.json"):
        known_engine(RunPaths(tmp_path), FakeEngine().info())
    assert (tmp_path / "engines.json").read_text() == text


def test_only_failures_of_the_machinery_are_tried_again(tmp_path: Path, key: Signer) -> None:
    """Not an agent's failure, not a verdict; without being asked for, nothing at all; and the old attempt stays."""
    plan, folder = plan_for(BAD, GREEDY, FINE), tmp_path / "r"
    first, _ = carry_out(Partial(), folder, plan, key)
    outcomes = {name.split(".")[2]: card.outcome for name, card in first.scorecards.items()}
    assert outcomes["bad"] == "machinery_failure"
    assert outcomes["greedy"] == "agent_failure"
    kept = {name: first.paths.trial(name).scorecard.read_bytes() for name in first.planned}

    plain = Partial()
    carry_out(plain, folder, plan, key, resume=True)
    assert plain.for_whom == []

    asked = Partial()
    second, seen = carry_out(asked, folder, plan, key, resume=True, retry_machinery=True)
    failed = {name for name, outcome in outcomes.items() if outcome == "machinery_failure"}
    assert set(asked.for_whom) == failed
    assert f"failures of the machinery that are tried again: {len(failed)}" in seen.notes
    assert list(second.scorecards) != []
    assert not second.pending
    bad = next(name for name in first.planned if ".bad." in name)
    attempts = [TrialPaths(path) for path in sorted(second.paths.trials.glob(f"{bad}.attempt-*"))]
    old = [one for one in attempts if one.scorecard.is_file() and one.scorecard.read_bytes() == kept[bad]]
    assert len(old) == 1
    public = load_public_key(second.paths.public_key)
    assert verify(old[0].signature.read_bytes(), public, payload_type=SCORECARD_TYPE).payload == kept[bad]
    greedy = next(name for name in first.planned if ".greedy." in name)
    assert second.paths.trial(greedy).scorecard.read_bytes() == kept[greedy]


@pytest.mark.docker
def test_what_was_paid_for_is_not_paid_again(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """The machinery failed while it graded: tried again, the sessions are those of before, and there is a verdict."""

    def fail(number: int, _image: str) -> None:
        # Tried twice in the first run; sessions are used again in the second attempt.
        if number >= THIRD:
            raise SandboxDied("on purpose")

    plan, folder = plan_for(FINE), tmp_path / "r"
    first, _ = carry_out(Meddled(engine, fail), folder, plan, key)
    (name,) = first.planned
    assert first.scorecards[name].outcome == "machinery_failure"
    opened: list[str] = []

    second, _ = carry_out(
        Meddled(engine, lambda _number, image: opened.append(image)),
        folder,
        plan,
        key,
        resume=True,
        retry_machinery=True,
    )
    card = parse_scorecard(second.paths.trial(name).scorecard.read_bytes())
    assert card.outcome == "graded"
    timing = json.loads(second.paths.trial(name).timing.read_bytes())
    assert [step.get("kept") for step in timing["steps"]] == [True, True, None]


def test_retry_is_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--retry-machinery without --resume says what is missing."""
    monkeypatch.chdir(tmp_path)
    words = ["run", "tier2_fintech", "--arm", "Vanilla", "--agent", "nop", "--retry-machinery"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "--resume" in done.output
