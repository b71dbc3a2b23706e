"""Models that fail: the machinery's, tried once more, paid for once, and never in anybody's score."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from modelkit import SOURCE, commands, http_agent, model_plan, run_model, serving

from takeover.grader.summary import summarize
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.gateway.budget import Limits
from takeover.sandbox.gateway.settings import ErrorPolicy
from takeover.sandbox.store import SnapshotStore
from takeover.trials.agents import Agent
from takeover.trials.model import ModelSettings
from takeover.trials.results import exit_code
from takeover.trials.running import RunResult
from takeover.trials.signing import Signer

pytestmark = [pytest.mark.docker]

KEY = "sk-test-0123456789abcdefghij"
WORK = commands("echo '# n' > state.md", "echo 'x = 1' > extra.py", "echo 'x = 1' > never.py")
QUIET = Agent(name="quiet", image="sandbox", command=("sh", "-c", "echo 'x = 1' > quiet.py"))


def upstream(url: str, **more: Any) -> ModelSettings:
    return ModelSettings(source="upstream", upstream=url, **more)


def attempts(result: RunResult, name: str) -> list[Path]:
    return sorted(result.paths.trials.glob(f"{name}.attempt-*"))


def test_a_key_that_is_refused(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """Both attempts fail, at once; who needed no model is graded; the totals of the run still add up."""
    with serving(lambda request, headers: (401, {"error": {"message": "no"}})) as url:
        result = run_model(engine, tmp_path / "run", model_plan(upstream(url), http_agent(), QUIET), key)
    failing, quiet = result.planned
    card = result.scorecards[failing]
    assert card.outcome == "machinery_failure"
    assert card.failure is not None
    assert (card.failure.kind, card.failure.side) == ("model_unavailable", "machinery")
    assert "refuses the key" in card.failure.message
    assert len(attempts(result, failing)) == 1
    assert result.scorecards[quiet].outcome == "graded"
    assert result.scorecards[quiet].tokens.total == 0
    totals = summarize("r", result.planned, result.scorecards).totals
    assert (totals.graded, totals.agent_failures, totals.machinery_failures, totals.pending) == (1, 0, 1, 0)
    assert exit_code(result.scorecards.values(), 0, None) == 3


def test_a_provider_that_comes_back(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """The trial is tried once more: what is recorded of its first session is used again, and paid for once."""
    lock, state = threading.Lock(), {"calls": 0, "down": 0}

    def respond(request: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        with lock:
            state["calls"] += 1
            second = "from the state in which you find it" in request["messages"][0]["content"]
            if second and state["down"] == 0:
                state["down"] = 1
                return 401, {"error": {"message": "no"}}
        return 200, WORK(request)

    with serving(respond) as url:
        result = run_model(engine, tmp_path / "run", model_plan(upstream(url)), key)
    (name,) = result.planned
    card = result.scorecards[name]
    assert card.outcome == "graded", card.failure
    trial = result.paths.trial(name)
    first, kept = trial.step(1, "session"), attempts(result, name)[0] / "1-session"
    assert first.meta.read_bytes() == (kept / "meta.json").read_bytes()
    assert first.transcript.read_bytes() == (kept / "transcript.json").read_bytes()
    assert first.calls.samefile(kept / "calls.jsonl")
    assert card.tokens.total == 110 * (2 + 4)
    assert state["calls"] == 2 + 1 + 4
    assert json.loads(trial.timing.read_bytes())["attempts"] == 2


@pytest.mark.parametrize(("policy", "attempts_"), [("pass", 2), ("retry", 1)])
def test_errors_of_the_provider_are_no_score(
    engine: DockerEngine, tmp_path: Path, key: Signer, policy: ErrorPolicy, attempts_: int
) -> None:
    """A provider that is overloaded once. With `pass` the agent sees it and gives up: that is no result, and the trial
    is tried again. With `retry` it never knows."""
    seen: set[str] = set()

    def respond(request: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        turn = json.dumps(request["messages"])
        if turn not in seen:
            seen.add(turn)
            return 529, {"error": {"message": "overloaded"}}
        return 200, commands()(request)

    with serving(respond) as url:
        result = run_model(engine, tmp_path / "run", model_plan(upstream(url, errors=policy)), key)
    card = result.scorecards[result.planned[0]]
    if policy == "retry":
        assert card.outcome == "graded", card.failure
        assert [session.code for session in card.sessions] == [0, 0]
        assert card.tokens.total == 220
        return
    # Session 1 fell in the first attempt, session 2 in the second.
    assert card.outcome == "machinery_failure"
    assert card.failure is not None
    assert (card.failure.kind, "status 529" in card.failure.message) == ("model_unavailable", True)
    assert len(attempts(result, result.planned[0])) == attempts_ - 1
    codes = [step.read_text() for step in sorted(result.paths.trials.glob("*/*-session/output.log"))]
    assert sum("status 529" in code for code in codes) == 2


def test_an_agent_that_tries_again_itself(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """An error that it saw and got over costs it nothing."""
    seen: set[str] = set()

    def respond(request: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        turn = json.dumps(request["messages"])
        if turn not in seen:
            seen.add(turn)
            return 503, {"error": {"message": "busy"}}
        return 200, commands()(request)

    source = SOURCE.replace(
        "    except urllib.error.HTTPError as error:\n",
        "    except urllib.error.HTTPError as error:\n        if error.code == 503: continue\n",
    )
    with serving(respond) as url:
        result = run_model(engine, tmp_path / "run", model_plan(upstream(url), http_agent(source=source)), key)
    card = result.scorecards[result.planned[0]]
    assert card.outcome == "graded", card.failure
    assert card.tokens.total == 220


def test_a_key_is_nowhere_in_the_run(
    engine: DockerEngine, tmp_path: Path, key: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that repeats the key it was given, in answers, errors and calls: no file of the run and no cassette has
    it, in any form, nor does what the agent left."""
    monkeypatch.setenv("TAKEOVER_UPSTREAM_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY + "-openai")
    sent: list[str] = []

    def respond(request: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        sent.append(headers["authorization"])
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        if turn == 2:
            return 400, {"error": {"message": f"the key {KEY} is odd"}}
        return 200, commands(f"echo '{KEY}' > state.md; env", f"echo '{KEY}'", say=f"Your key is {KEY}.")(request)

    cassette = tmp_path / "run" / "cassette.jsonl"
    (tmp_path / "run").mkdir()
    with serving(respond) as url:
        plan = model_plan(upstream(url, record=cassette))
        result = run_model(engine, tmp_path / "run", plan, key)
    assert set(sent) == {f"Bearer {KEY}"}
    card = result.scorecards[result.planned[0]]
    assert card.outcome == "graded", card.failure
    output = result.paths.trial(result.planned[0]).step(1, "session").output.read_text()
    assert "Your key is [redacted]" in output
    assert "the key [redacted] is odd" in output
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(files) > 10
    found = {path.name: content for path in files if KEY.encode() in (content := path.read_bytes())}
    assert found == {}
    left = SnapshotStore(result.paths.snapshots).read_files(
        card.sessions[1].snapshot.removeprefix("sha256:"), lambda item: item.path == "state.md"
    )
    assert left == {"state.md": b"[redacted]\n"}


def test_the_budget_of_the_run(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """The trial that finds it used up has no verdict, and those after it stay pending: none of them is a score."""
    agents = [http_agent(name=name) for name in ("one", "two", "three")]
    with serving(lambda request, headers: (200, commands()(request))) as url:
        plan = model_plan(upstream(url, run=Limits(calls=3)), *agents)
        result = run_model(engine, tmp_path / "run", plan, key, parallel=1)
    first, second, third = result.planned
    assert result.scorecards[first].outcome == "graded"
    failure = result.scorecards[second].failure
    assert failure is not None
    assert (failure.kind, failure.side) == ("run_budget", "machinery")
    assert failure.message == "the run's budget of calls is used up"
    assert result.pending == (third,)
    assert exit_code(result.scorecards.values(), len(result.pending), None) == 3
