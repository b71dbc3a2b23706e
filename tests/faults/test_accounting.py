"""Broken environments counted as results, and trials that vanish from the report: here the totals always add up."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import FakeEngine
from meddling import Meddled, carry_out, plan_for, scripted
from proxies import unix_proxy

from takeover.grader.summary import RunSummary
from takeover.sandbox import errors, labels
from takeover.sandbox.dockerapi import connect
from takeover.sandbox.endpoint import Endpoint
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import FailureClass, MachineryError
from takeover.sandbox.wiresandbox import Deadlines
from takeover.trials.failures import FAILURES
from takeover.trials.record import RunPaths
from takeover.trials.results import exit_code, write_results
from takeover.trials.running import RunResult
from takeover.trials.signing import Signer

NOTHING = scripted("idle", "true")
# A trial opens two sandboxes for its agent and one to be graded in.
FIRST_OF_SECOND = 4


def total_of(result: RunResult) -> RunSummary:
    """The summary of a run that was written down, after checking that its numbers add up everywhere."""
    summary = write_results(result)
    totals = json.loads(result.paths.export("summary.json").read_bytes())["totals"]
    parts = ("graded", "agent_failures", "machinery_failures", "pending")
    assert sum(totals[part] for part in parts) == totals["planned"] == len(result.planned)
    assert totals["pending"] == len(result.pending)
    for name in result.planned:
        for export in ("summary.json", "junit.xml", "results.sarif", "summary.md"):
            if name in result.pending:
                assert name in result.paths.export(export).read_text().replace("\\", ""), export
    return summary


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, MachineryError)]
)
def test_each_failure_is_counted_on_its_own_side(tmp_path: Path, key: Signer, kind: type[MachineryError]) -> None:
    """A failure of the machinery is never a zero, one that the agent brings about always is, and all are written down."""

    class Failing(FakeEngine):
        def check(self, operation: str) -> None:
            if operation == "run":
                raise kind("on purpose")

    result, _ = carry_out(Failing(), tmp_path / "r", plan_for(NOTHING, repeat=2), key)
    policy = FAILURES[kind.failure]
    (cell,) = total_of(result).cells

    assert {card.failure.kind for card in result.scorecards.values() if card.failure} == {kind.failure.value}
    assert cell.net == (0.0 if policy.counts else None)
    assert exit_code(result.scorecards.values(), 0, None) == (3 if policy.side == "machinery" else 0)
    kept = len(list((tmp_path / "r" / "trials").glob("*.attempt-*")))
    assert kept == (len(result.scorecards) if policy.retry else 0)


def test_an_error_of_ours_is_a_failure_of_one_trial(tmp_path: Path, key: Signer) -> None:
    """Whatever is raised in a trial, the input's fault or a bug, is recorded there with its traceback."""
    for error in (errors.InputError("odd"), ZeroDivisionError("odd")):

        def agent(_box: object, error: Exception = error) -> None:
            raise error

        folder = tmp_path / type(error).__name__
        result, _ = carry_out(FakeEngine(agent), folder, plan_for(NOTHING), key)
        (card,) = result.scorecards.values()

        assert card.failure is not None
        assert (card.outcome, card.failure.kind) == ("machinery_failure", FailureClass.INTERNAL.value)
        assert type(error).__name__ in next(folder.rglob("error.log")).read_text()


def test_many_trials_at_once(tmp_path: Path, key: Signer) -> None:
    """Thirty-two threads, each opening sandboxes ahead, end; no trial is lost and no sandbox stays open."""

    class Broken(FakeEngine):
        def check(self, operation: str) -> None:
            if operation == "export":
                raise errors.EngineUnavailable("no more")

    engine = Broken()
    result, seen = carry_out(engine, tmp_path / "r", plan_for(NOTHING, repeat=40), key, parallel=32)

    assert sorted(seen.names) == sorted(result.planned)
    assert total_of(result).totals.machinery_failures == 40
    assert engine.alive == 0


@pytest.fixture
def agent_image(engine: DockerEngine, image: str) -> Iterator[str]:
    """An agent's image that can be lost."""
    name = f"takeover-test-lost:{secrets.token_hex(4)}"
    container = engine.client.create_container(image, labels=labels.labels({}, engine.run))["Id"]
    try:
        repository, tag = name.split(":")
        engine.client.commit(container, repository=repository, tag=tag, conf={"Env": [f"X={tag}"]})
    finally:
        engine.client.remove_container(container)
    yield name
    with contextlib.suppress(Exception):
        engine.client.remove_image(name, force=True)


@pytest.mark.docker
def test_an_image_that_is_deleted_in_the_middle(
    engine: DockerEngine, agent_image: str, tmp_path: Path, key: Signer
) -> None:
    """The first trial keeps its verdict, the second has none and says why; the run goes on and ends with 3."""

    def delete(number: int, _image: str) -> None:
        if number == FIRST_OF_SECOND:
            engine.client.remove_image(agent_image, force=True)

    plan = plan_for(scripted("lost", "true", agent_image), repeat=2)
    result, _ = carry_out(Meddled(engine, delete), tmp_path / f"image-{secrets.token_hex(4)}", plan, key, parallel=1)
    first, second = (result.scorecards[name] for name in result.planned)

    assert first.outcome == "graded"
    assert second.failure is not None
    assert (second.outcome, second.failure.kind) == ("machinery_failure", "image_unfit")
    assert total_of(result).totals.pending == 0
    assert exit_code(result.scorecards.values(), 0, None) == 3


@contextlib.contextmanager
def behind_a_proxy(engine: DockerEngine, folder: Path) -> Iterator[tuple[DockerEngine, object]]:
    path = folder / "engine.sock"
    with unix_proxy(engine.endpoint.url.removeprefix("unix://"), path) as proxy:
        endpoint = Endpoint(f"unix://{path}", "test", named=True)
        deadlines = Deadlines(ready=5, answer=5, transfer=5, grace=5, goodbye=2)
        with contextlib.closing(connect(endpoint, 2)) as client:
            yield DockerEngine(client, endpoint, run=engine.run, deadlines=deadlines), proxy


@pytest.mark.docker
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_engine_that_vanishes_in_the_middle(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """What was graded stays; the trial under way failed by the machinery; the rest stays pending and can be run later."""
    run = f"vanished-{secrets.token_hex(4)}"
    with behind_a_proxy(engine, tmp_path) as (leaving, proxy):

        def vanish(number: int, _image: str) -> None:
            if number == FIRST_OF_SECOND:
                proxy.close()  # type: ignore[attr-defined]

        plan = plan_for(NOTHING, repeat=4)
        result, seen = carry_out(Meddled(leaving, vanish), tmp_path / run, plan, key, parallel=1)
    totals = total_of(result).totals

    assert result.scorecards[result.planned[0]].outcome == "graded"
    assert (totals.graded, totals.agent_failures) == (1, 0)
    assert totals.machinery_failures + totals.pending == 3
    assert totals.pending >= 1
    assert any("engine is gone" in note for note in seen.notes)
    assert exit_code(result.scorecards.values(), len(result.pending), None) == 3

    again, _ = carry_out(engine, tmp_path / run, plan, key, resume=True)
    assert again.pending == ()
    assert total_of(again).totals.graded == 1 + totals.pending
    assert engine.client.containers(all=True, filters={"label": [f"takeover.run={run}"]}) == []


@pytest.mark.docker
def test_an_engine_that_is_stuck(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """A client that waits in vain has learned nothing about the agent: no zero, and the trial was tried twice."""
    run = RunPaths(tmp_path / f"stuck-{secrets.token_hex(4)}")
    with behind_a_proxy(engine, tmp_path) as (slow, proxy):
        proxy.stall = b"/containers/create"  # type: ignore[attr-defined]
        result, _ = carry_out(slow, run.root, plan_for(NOTHING), key)
    (card,) = result.scorecards.values()
    (cell,) = total_of(result).cells

    assert card.failure is not None
    assert (card.outcome, card.failure.kind) == ("machinery_failure", "wire_timeout")
    assert (cell.net, cell.counted) == (None, 0)
    assert len(list(run.trials.glob("*.attempt-1"))) == 1
    assert engine.client.containers(all=True, filters={"label": [f"takeover.run={run.root.name}"]}) == []
