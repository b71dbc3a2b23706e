"""A real server's streams, missing usage and errors pass through the gateway. Nothing here is scripted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from gateway_kit import bridge
from modelkit import model_plan, run_model

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.gateway.budget import Limits
from takeover.sandbox.gateway.gateway import Gateway
from takeover.sandbox.gateway.settings import Pinned
from takeover.sandbox.gateway.supply import Source, open_supply
from takeover.sandbox.gateway.volatile import NOTHING_VOLATILE
from takeover.trials.agents import resolve_agent
from takeover.trials.model import ModelSettings
from takeover.trials.running import RunResult
from takeover.trials.signing import Signer

pytestmark = [pytest.mark.model, pytest.mark.slow]

MODEL = "smollm2-135m"
# What a model of this size writes is of no use to anybody: a few words do.
CAP = 48


@contextmanager
def through_gateway(url: str) -> Iterator[tuple[Gateway, openai.OpenAI]]:
    """A client whose requests go through a gateway to a server."""
    with (
        open_supply(Source(upstream=url), {}) as (supply, _),
        Gateway(supply.upstream("s", NOTHING_VOLATILE)) as gateway,
        bridge(gateway) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key="x", max_retries=0) as client,
    ):
        yield gateway, client


def run_of(
    engine: DockerEngine, folder: Path, key: Signer, url: str, agent: str, env: dict[str, str], calls: int | None = None
) -> RunResult:
    """A trial of an agent with the model, in real sandboxes; `calls` are all that it gets."""
    pinned = Pinned(model=MODEL, temperature=0, output_cap=CAP, policy="strict")
    model = ModelSettings(source="upstream", upstream=url, pinned=pinned, trial=Limits(calls=calls))
    return run_model(engine, folder / "run", model_plan(model, resolve_agent(agent, env)), key)


def session(result: RunResult, number: int) -> tuple[dict[str, Any], list[str], str]:
    """What was used, what the model said, and what the agent printed."""
    (name,) = result.planned
    paths = result.paths.trial(name).step(number, "session")
    usage: dict[str, Any] = json.loads(paths.meta.read_bytes())["usage"]
    steps = json.loads(paths.transcript.read_bytes())["steps"]
    return usage, [step["message"] for step in steps if step["source"] == "agent"], paths.output.read_text()


def went_on_without_tools(result: RunResult) -> None:
    """The trial is graded, and nothing was met: a model of this size calls no tool."""
    (card,) = result.scorecards.values()
    assert card.outcome == "graded", card.failure
    assert card.retention.raw.passed == 0
    assert [one.exit for one in card.sessions] == ["exited", "exited"]


def reached_the_agent(said: list[str], output: str) -> bool:
    """Whether an agent printed what its model is on record to have said."""
    printed = " ".join(output.split())
    return bool(said) and all(" ".join(words.split())[:20] in printed for words in said)


@pytest.mark.docker
def test_streams_without_usage(engine: DockerEngine, key: Signer, server: Any, tmp_path: Path) -> None:
    """The model's words reach the agent; nobody knows how many tokens they took, so the trial is unmetered."""
    result = run_of(engine, tmp_path, key, server.url, "takeover-agent", {})

    went_on_without_tools(result)
    for number in (1, 2):
        usage, said, output = session(result, number)
        assert reached_the_agent(said, output)
        assert "3 answers in a row without a call" in output
        assert (usage["turns"], usage["tokens"], usage["report"]["failure"]) == (3, None, None)
    (card,) = result.scorecards.values()
    assert (card.tokens.total, card.retention.tes) == (None, None)


@pytest.mark.docker
@pytest.mark.parametrize(("agent", "env"), [("takeover-agent", {"TAKEOVER_AGENT_STREAM": "0"}), ("mini-swe-agent", {})])
def test_whole_answers_until_the_budget_is_spent(
    engine: DockerEngine, key: Signer, server: Any, tmp_path: Path, agent: str, env: dict[str, str]
) -> None:
    """Their tokens are counted as the server tells them; the third call is a 404, which ends the agent."""
    result = run_of(engine, tmp_path, key, server.url, agent, env, calls=2)

    went_on_without_tools(result)
    usage, said, output = session(result, 1)
    assert said
    # Of an answer without a call mini-swe-agent prints only that it was none.
    assert reached_the_agent(said, output) or agent == "mini-swe-agent"
    assert "budget for this session is used up" in " ".join(output.split())
    assert (usage["turns"], usage["report"]["failure"]) == (2, None)
    assert 0 < usage["report"]["totals"]["counted"]["completion"] <= 2 * CAP
    (card,) = result.scorecards.values()
    assert card.tokens.provenance == "metered"
    assert card.tokens.total == usage["tokens"] > 1000


@pytest.mark.docker
def test_what_it_does_not_serve_ends_the_agent(engine: DockerEngine, key: Signer, server: Any, tmp_path: Path) -> None:
    """It knows no Responses: its own 404 reaches the agent, which stops, and the trial is graded for what was done."""
    result = run_of(engine, tmp_path, key, server.url, "takeover-agent", {"TAKEOVER_AGENT_FORMAT": "responses"})

    (card,) = result.scorecards.values()
    assert card.outcome == "graded", card.failure
    assert [(one.exit, one.code) for one in card.sessions] == [("exited", 1)] * 2
    usage, said, output = session(result, 1)
    assert (usage["turns"], said) == (0, [])
    assert "stopped: no further calls (404)" in output


def test_a_stream_passes_as_it_comes(server: Any) -> None:
    """The same words as without the gateway, in as many chunks; the usage that was asked for did not come."""
    request: Any = {"model": MODEL, "max_tokens": 24, "temperature": 0, "stream": True}
    request["messages"] = [{"role": "user", "content": "Tell me of the sea."}]
    with openai.OpenAI(base_url=server.url, api_key="x", max_retries=0) as client:
        direct = [chunk.choices[0].delta.content for chunk in client.chat.completions.create(**request)]
    with through_gateway(server.url) as (gateway, client):
        passed = [chunk.choices[0].delta.content for chunk in client.chat.completions.create(**request)]

    assert passed == direct
    assert len(passed) > 10
    assert gateway.report().tokens is None


def test_whole_answers_are_counted(server: Any) -> None:
    """To the token, as the server counts them."""
    with through_gateway(server.url) as (gateway, client):
        made: Any = client.chat.completions.create(
            model=MODEL, max_tokens=8, messages=[{"role": "user", "content": "Tell me of the sea."}]
        )

    assert gateway.report().tokens == made.usage.total_tokens > 8


def test_an_error_of_the_server_passes(server: Any) -> None:
    """A prompt that is too long for it is refused in its own words, and is no failure of the machinery."""
    with through_gateway(server.url) as (gateway, client), pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "sea " * 9000}])

    assert "8192" in str(refused.value)
    assert gateway.failure is None


def test_a_server_that_dies_in_mid_stream(serve: Callable[[], AbstractContextManager[Any]]) -> None:
    """The client sees a broken stream, no end of an answer; then nobody answers, and that is an error too."""
    request: Any = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "Count to a thousand."}]}
    with serve() as running, through_gateway(running.url) as (gateway, client):
        stream = iter(client.chat.completions.create(**request))
        chunks = [next(stream) for _ in range(3)]
        running.process.kill()
        with pytest.raises(openai.APIError):
            chunks.extend(stream)
        with pytest.raises(openai.APIError):
            client.chat.completions.create(**request)

    assert not any(choice.finish_reason for chunk in chunks for choice in chunk.choices)
    totals = gateway.report().totals
    assert (totals.answers, totals.failures) == (0, 2)
