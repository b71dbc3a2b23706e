"""Runs whose agents talk to a model: counted, recorded, played again, cut off, and graded as any other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from modelkit import commands, http_agent, model_plan, run_model, script_file, serving

from takeover.sandbox.cutoff import parse
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.gateway.budget import Limits
from takeover.sandbox.gateway.settings import Pinned
from takeover.sandbox.transcript.sniff import import_file
from takeover.trials.model import ModelSettings
from takeover.trials.record import set_aside
from takeover.trials.regrade import regrade
from takeover.trials.results import exit_code
from takeover.trials.running import RunResult
from takeover.trials.signing import Signer

pytestmark = [pytest.mark.docker]

FIRST: list[dict[str, Any]] = [
    {"say": "Notes first.", "write": {"path": "state.md", "content": "# Notes\n"}},
    {"shell": "git add -A && git commit -qm Notes && git status && sleep 1.1 && git log --format=%ci -1"},
    {"write": {"path": "extra.py", "content": "x = 1\n"}},
    {"write": {"path": "never.py", "content": "x = 1\n"}},
]
SECOND: list[dict[str, Any]] = [
    {"read": "state.md"},
    {"write": {"path": "more.py", "content": "y = 2\n"}},
    {"shell": "git add -A && git commit -qm More && git status --short"},
    {"finish": "Done."},
]


def meta(result: RunResult, number: int, name: str | None = None) -> dict[str, Any]:
    trial = result.paths.trial(name or result.planned[0])
    found: dict[str, Any] = json.loads(trial.step(number, "session").meta.read_bytes())
    return found


def scripted(tmp_path: Path, *sessions: list[dict[str, Any]], **more: Any) -> ModelSettings:
    return ModelSettings(source="script", file=script_file(tmp_path / "script.yaml", *sessions), **more)


@pytest.fixture(scope="module")
def recorded(engine: DockerEngine, key: Signer, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunResult, Path]:
    """A run of two agents with a scripted model, and the cassette of it."""
    folder = tmp_path_factory.mktemp("recorded")
    cassette = folder / "calls.jsonl.zst"
    model = scripted(folder, FIRST, SECOND, record=cassette, pinned=Pinned(model="m-1"))
    plan = model_plan(model, http_agent(), http_agent("other"))
    return run_model(engine, folder / "run", plan, key), cassette


def test_a_script_answers(recorded: tuple[RunResult, Path]) -> None:
    """An agent that knows nothing of us works, is cut off by its edit and taken over; its tokens are counted."""
    result, _ = recorded
    card = result.scorecards[result.planned[0]]
    assert card.outcome == "graded", card.failure
    assert [session.exit for session in card.sessions] == ["cutoff", "exited"]
    assert card.sessions[0].cutoff is not None
    assert card.sessions[0].cutoff.path == "extra.py"
    uses = [meta(result, number)["usage"] for number in (1, 2)]
    assert [use["turns"] for use in uses] == [3, 4]
    assert card.tokens.provenance == "metered"
    assert card.tokens.total == sum(use["tokens"] for use in uses) > 0
    assert card.retention is not None
    assert card.retention.tes == 0


def test_what_is_written_down(recorded: tuple[RunResult, Path]) -> None:
    """A transcript and a line for each call in each session's folder; the pinned model is the agent's to know."""
    result, _ = recorded
    step = result.paths.trial(result.planned[0]).step(1, "session")
    transcript, _ = import_file(step.transcript)
    assert (transcript.agent.name, transcript.agent.model_name) == ("http", "m-1")
    assert transcript.session_id == f"{result.planned[0]}/1-session"
    assert [call.function_name for one in transcript.steps for call in one.tool_calls or ()] == ["bash"] * 3
    calls = [json.loads(line) for line in step.calls.read_bytes().splitlines()]
    assert [(call["asked"], call["answered"], call["turn"]) for call in calls] == [("m-1", "m-1", True)] * 3
    identity = json.loads(result.paths.identity.read_bytes())["settings"]["model"]
    assert identity["source"] == "script"
    assert re.fullmatch("[0-9a-f]{64}", identity["file_sha256"])
    assert identity["pinned"]["model"] == "m-1"


def test_a_cassette_gives_the_same_scorecards(
    recorded: tuple[RunResult, Path], engine: DockerEngine, tmp_path: Path, key: Signer
) -> None:
    """Played again, without the script, every scorecard is the same byte for byte, though the agent commits what it
    does; and so it is graded again."""
    result, cassette = recorded
    model = ModelSettings(source="replay", file=cassette, pinned=Pinned(model="m-1"))
    again = run_model(engine, tmp_path / "run", model_plan(model, http_agent(), http_agent("other")), key)
    assert again.planned == result.planned
    for name in result.planned:
        assert again.paths.trial(name).scorecard.read_bytes() == result.paths.trial(name).scorecard.read_bytes()
        graded = regrade(again.paths, name, engine)
        assert graded is not None
        assert graded.how == "same"


def test_a_cassette_that_does_not_know_what_is_asked(
    recorded: tuple[RunResult, Path], engine: DockerEngine, tmp_path: Path, key: Signer
) -> None:
    """One other prompt, and the trial fails as the machinery's, at once, with the nearest request and the difference."""
    _, cassette = recorded
    model = ModelSettings(source="replay", file=cassette, pinned=Pinned(model="m-1"))
    plan = model_plan(model, http_agent(), http_agent("other"), arm="Vanilla")
    first = "messages = [{" + '"role": "user", "content": os.environ["TAKEOVER_PROMPT"].replace("the", "this", 1)}]'
    source = re.sub(r"messages = \[.*\]", lambda _: first, str(http_agent().command[2]))  # type: ignore[index]
    plan = model_plan(model, http_agent(source=source), http_agent("other"))
    result = run_model(engine, tmp_path / "run", plan, key)
    changed, same = (result.scorecards[name] for name in result.planned)
    assert same.outcome == "graded"
    assert changed.outcome == "machinery_failure"
    assert changed.failure is not None
    assert changed.failure.kind == "unknown_request"
    assert "nearest is number 1" in changed.failure.message
    assert re.search(r"\$\.messages\[0\]\.content was '.*the.*' and is '.*this.*'", changed.failure.message)
    assert exit_code(result.scorecards.values(), 0, None) == 3
    # Known not to be any better the second time, it is not tried again.
    assert not list(result.paths.trials.glob("*.attempt-*"))


def test_cut_by_turns(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """A rule of the gateway replaces the script's, and only where the script cuts."""
    plan = model_plan(scripted(tmp_path, FIRST, SECOND), cutoff=parse("turns:1"))
    result = run_model(engine, tmp_path / "run", plan, key)
    card = result.scorecards[result.planned[0]]
    assert [session.exit for session in card.sessions] == ["cutoff", "exited"]
    cutoff = card.sessions[0].cutoff
    assert cutoff is not None
    assert (cutoff.rule, cutoff.exact, cutoff.how) == ("turns:1", True, "request")
    assert card.sessions[0].edited == []  # the notes are no source; the second turn never came
    assert [meta(result, number)["usage"]["turns"] for number in (1, 2)] == [1, 4]


def test_what_is_not_metered(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """One answer without usage, and the tokens of the trial are unknown and TES is n/a; unless they are declared."""
    second = [{"read": "state.md", "usage": "none"}, {"finish": "Done."}]
    model = scripted(tmp_path, FIRST, second)
    unknown = run_model(engine, tmp_path / "one", model_plan(model), key)
    card = unknown.scorecards[unknown.planned[0]]
    assert (card.tokens.total, card.tokens.provenance) == (None, "unknown")
    assert card.retention is not None
    assert card.retention.tes is None
    declared = run_model(engine, tmp_path / "two", model_plan(model, declared_tokens=77), key)
    tokens = declared.scorecards[declared.planned[0]].tokens
    assert (tokens.total, tokens.provenance) == (77, "declared")
    for result in (unknown, declared):
        graded = regrade(result.paths, result.planned[0], engine)
        assert graded is not None
        assert graded.how == "same"


def test_a_budget_that_is_used_up_is_the_agents(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """The call beyond it gets a 404, the agent stops, what it left is graded; other trials have budgets of their own."""
    model = scripted(tmp_path, SECOND, SECOND, trial=Limits(calls=5))
    plan = model_plan(model, http_agent(), http_agent("other"), cutoff=parse("none"))
    result = run_model(engine, tmp_path / "run", plan, key)
    for name in result.planned:
        card = result.scorecards[name]
        assert card.outcome == "graded", card.failure
        assert [(session.exit, session.code) for session in card.sessions] == [("exited", 0), ("exited", 5)]
        report = meta(result, 2, name)["usage"]["report"]
        assert ["budget", "the trial's budget of calls is used up", 1] in report["findings"]
    output = result.paths.trial(result.planned[0]).step(2, "session").output.read_text()
    assert "status 404" in output
    assert "model_not_found" in output


def test_the_budget_of_the_run(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """All trials draw on it, and a run that goes on does not get it anew."""
    model = scripted(tmp_path, SECOND, SECOND, run=Limits(calls=10))
    plan = model_plan(model, http_agent(), http_agent("other"), cutoff=parse("none"))
    result = run_model(engine, tmp_path / "run", plan, key, parallel=1)
    first, other = result.planned
    assert [session.code for session in result.scorecards[first].sessions] == [0, 0]
    set_aside(result.paths.trial(other))
    resumed = run_model(engine, tmp_path / "run", plan, key, parallel=1, resume=True)
    for once in (result, resumed):
        failure = once.scorecards[other].failure
        assert failure is not None
        assert failure.kind == "run_budget"
    assert result.paths.trial(other).step(1, "session").calls.read_bytes() == b""


def test_a_server_answers(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """--upstream: the pinned settings go to it, and none of the agent's own key."""
    seen: list[tuple[dict[str, Any], dict[str, str]]] = []
    answer = commands("echo '# n' > state.md", "echo 'x = 1' > extra.py")

    def respond(request: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        seen.append((request, headers))
        return 200, answer(request)

    with serving(respond) as url:
        model = ModelSettings(source="upstream", upstream=url, pinned=Pinned("m-2", temperature=0.5, output_cap=100))
        result = run_model(engine, tmp_path / "run", model_plan(model), key)
    card = result.scorecards[result.planned[0]]
    assert (card.tokens.total, card.tokens.provenance) == (5 * 110, "metered")
    assert {(one["model"], one["temperature"]) for one, _ in seen} == {("m-2", 0.5)}
    assert all(100 in (one.get("max_tokens"), one.get("max_completion_tokens")) for one, _ in seen)
    assert not any("authorization" in headers for _, headers in seen)
