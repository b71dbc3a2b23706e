"""The built-in receiver talks to the scripted model in each of its formats, streamed or not."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "images/agents/takeover-agent"), str(ROOT / "tests/sandbox/gateway")]

from gateway_kit import bridge, canned, chat_answer, chat_chunk, provider, real, sse, streamed
from takeover_agent.__main__ import FORMATS
from takeover_agent.asking import TRIES
from takeover_agent.loop import Model, ModelGone, work
from takeover_agent.tools import Toolbox

from takeover.sandbox.gateway.budget import Budget, Limits
from takeover.sandbox.gateway.gateway import Gateway
from takeover.sandbox.gateway.script import Edit, Fault, Finish, Read, Shell, Turn, Use, Write, turn
from takeover.sandbox.gateway.scripted import Scripted

EACH = pytest.mark.parametrize(("form", "stream"), [(form, stream) for form in FORMATS for stream in (True, False)])


@contextmanager
def talking(form: str, stream: bool, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """The agent's side of a conversation through a gateway."""
    with gateway, bridge(gateway) as url:
        for name, value in {"OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": url}.items():
            monkeypatch.setenv(name, value)
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.setenv(name, "x")
        yield FORMATS[form]("m-1", stream=stream)


def worked(model: Model, folder: Path, lines: list[str], steps: int = 20) -> bool:
    return work(model, Toolbox(folder), "Do it.", steps, lines.append)


@EACH
def test_all_of_its_tools(form: str, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes, edits, reads and runs what the model calls for, one by one and two at once, and ends at finish."""
    turns = [
        turn(Write("a/b.txt", "one\n"), Shell("echo two >> a/b.txt"), say="Both.", think="Hm."),
        turn(Edit("a/b.txt", "one", "1"), think="Hm."),
        turn(Read("a/b.txt")),
        turn(Finish("Done.")),
    ]
    lines: list[str] = []
    gateway = Gateway(Scripted(turns, root=str(tmp_path)))
    with talking(form, stream, gateway, monkeypatch) as model:
        assert worked(model, tmp_path, lines)
    report = gateway.close()

    assert (tmp_path / "a/b.txt").read_text() == "1\ntwo\n"
    assert "[1] Both." in lines
    assert any("1 two" in line for line in lines)
    assert (report.totals.turns, list(report.findings), report.failure) == (4, [], None)


@EACH
def test_answers_without_usage(form: str, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing depends on it."""
    turns = [turn(Write("a", "x"), tells_usage=False), turn(Finish(), tells_usage=False)]
    with talking(form, stream, Gateway(Scripted(turns, root=str(tmp_path))), monkeypatch) as model:
        assert worked(model, tmp_path, [])

    assert (tmp_path / "a").read_text() == "x"


@EACH
def test_errors_go_back_and_the_model_goes_on(
    form: str, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that is not there, arguments that do not fit, an edit that cannot be made."""
    turns = [
        turn(Use("browse", {"url": "x"}), Use("edit", {"path": "a"}), Edit("a", "not there", "y")),
        turn(Finish()),
    ]
    (tmp_path / "a").write_text("x")
    lines: list[str] = []
    with talking(form, stream, Gateway(Scripted(turns, root=str(tmp_path))), monkeypatch) as model:
        assert worked(model, tmp_path, lines)

    assert sum("error:" in line for line in lines) == 3


@EACH
def test_a_spent_budget_stops_it_at_once(
    form: str, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gateway's 404 is asked for once."""
    turns = [turn(Write(f"file-{number}", "x")) for number in range(5)]
    gateway = Gateway(Scripted(turns, root=str(tmp_path)), budget=Budget("trial", Limits(calls=2)))
    with talking(form, stream, gateway, monkeypatch) as model, pytest.raises(ModelGone, match="404"):
        worked(model, tmp_path, [])

    assert sorted(path.name for path in tmp_path.iterdir()) == ["file-0", "file-1"]
    assert gateway.close().totals.turns == 2


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("fault", [Fault(cut_after=2), Fault(error_after=2)], ids=["cut", "error"])
def test_a_broken_answer_is_asked_for_again(
    form: str, fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of its calls has run; after some tries there is no model."""
    broken = Turn(actions=(Shell("echo ran >> ran"),), fault=fault)
    for count, ends_well in ((1, True), (TRIES, False)):
        (tmp_path / "ran").unlink(missing_ok=True)
        turns = [*[broken] * count, turn(Shell("echo once >> ran")), turn(Finish())]
        with talking(form, True, Gateway(Scripted(turns, root=str(tmp_path))), monkeypatch) as model:
            if ends_well:
                assert worked(model, tmp_path, [])
                assert (tmp_path / "ran").read_text() == "once\n"
            else:
                with pytest.raises(ModelGone):
                    worked(model, tmp_path, [])
                assert not (tmp_path / "ran").exists()


def test_a_stream_that_merely_ends_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that closes in good order, but in the middle: arguments may be half of what was meant."""
    half = chat_chunk(
        tool_calls=[{"index": 0, "id": "c", "function": {"name": "shell", "arguments": '{"command": "touch ran"}'}}]
    )
    half["choices"][0]["delta"] = {"tool_calls": half.pop("tool_calls")}
    with provider(streamed(*sse(half, "[DONE]"))) as server, real(server.url) as upstream:
        with talking("chat", True, Gateway(upstream), monkeypatch) as model, pytest.raises(ModelGone, match="whole"):
            worked(model, tmp_path, [])
        assert len(server.seen) == TRIES

    assert not (tmp_path / "ran").exists()


def test_arguments_that_are_no_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is told so, in its own words' place, and may call again."""
    spoilt, done = chat_answer(), chat_answer()
    function = {"name": "shell", "arguments": '{"command": "ls'}
    spoilt["choices"][0]["message"] |= {"tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    function = {"name": "finish", "arguments": json.dumps({"summary": "x"})}
    done["choices"][0]["message"] |= {"tool_calls": [{"id": "c2", "type": "function", "function": function}]}
    with provider(canned(spoilt), canned(done)) as server, real(server.url) as upstream:
        with talking("chat", False, Gateway(upstream), monkeypatch) as model:
            assert worked(model, tmp_path, [])
        told = server.seen[1].json()["messages"][-1]

    assert (told["role"], told["tool_call_id"]) == ("tool", "c1")
    assert "no JSON" in told["content"]


@pytest.mark.parametrize("stream", [True, False])
def test_half_a_call_of_messages_is_not_carried_out(
    stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer ran into its cap: what the package makes of half the arguments is whole, but not what was meant."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {"id": "m", "type": "message", "role": "assistant", "model": "m-1", "usage": usage}
    block = {"type": "tool_use", "id": "t1", "name": "write"}
    finish = {"type": "tool_use", "id": "t2", "name": "finish", "input": {"summary": "x"}}
    done = {**whole, "content": [finish], "stop_reason": "tool_use"}
    if stream:
        half = '{"path": "half", "content": "be'
        events: list[dict[str, object]] = [
            {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": {**block, "input": {}}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": half}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
        answers = [streamed(*lines), canned({"type": "error", "error": {"type": "not_found_error"}}, 404)]
    else:
        cut = {**whole, "content": [{**block, "input": {"path": "half", "content": "be"}}], "stop_reason": "max_tokens"}
        answers = [canned(cut), canned(done)]
    lines_said: list[str] = []
    with provider(*answers) as server, real(server.url) as upstream:
        with talking("messages", stream, Gateway(upstream), monkeypatch) as model:
            if stream:
                with pytest.raises(ModelGone, match="404"):
                    worked(model, tmp_path, lines_said)
            else:
                assert worked(model, tmp_path, lines_said)
        told = server.seen[1].json()["messages"][-1]["content"][0]

    assert not (tmp_path / "half").exists()
    assert (told["tool_use_id"], told["is_error"], "no JSON" in told["content"]) == ("t1", True, True)
