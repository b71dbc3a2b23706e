"""The transcript of a session, written as its calls go by: each thing once, in order, with what it used."""

from __future__ import annotations

import json
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from gateway_agent import HistoryAgent
from gateway_kit import APIS, KEY, ask, collect, post, send

from takeover.sandbox.gateway import scribe
from takeover.sandbox.gateway.gateway import Files, Gateway
from takeover.sandbox.gateway.redaction import MARK, Redactor, Secret
from takeover.sandbox.gateway.routes import Api
from takeover.sandbox.gateway.script import Fault, Finish, Shell, Turn, Usage, turn
from takeover.sandbox.gateway.scripted import Scripted
from takeover.sandbox.gateway.settings import Retries, Settings
from takeover.sandbox.transcript.model import Agent, Step, Transcript, plain
from takeover.sandbox.transcript.sniff import import_file
from takeover.sandbox.transcript.views import extract_spans
from takeover.sandbox.transcript.writer import journal_of

WORK = [
    turn(Shell("cat a.py"), Shell("cat b.py"), say="I look.", think="Hm.", usage=Usage(100, 10, 40)),
    turn(Shell("sed -i s/a/b/ a.py"), usage=Usage(200, 20)),
    turn(Finish("All done."), usage=Usage(300, 30)),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transcript.json"


def opened(path: Path, turns: Any = WORK, settings: Settings | None = None, **more: Any) -> Gateway:
    who = Agent(name="agent", version="1")
    return Gateway(Scripted(turns), settings, files=Files(transcript=path), agent=who, **more)


def read(path: Path) -> Transcript:
    return import_file(path)[0]


def seen(step: Step) -> tuple[str, str, list[str], list[str]]:
    """Source, text, commands, results."""
    commands = [str(call.arguments.get("command")) for call in step.tool_calls or ()]
    results = [plain(result.content) for result in (step.observation.results if step.observation else ())]
    return step.source, plain(step.message), commands, results


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_a_whole_session(api: Api, stream: bool, path: Path) -> None:
    """System and prompt once, each turn with its calls, results and tokens, whatever the format."""
    agent = HistoryAgent(api, stream=stream)
    with opened(path) as gateway:
        for number in range(3):
            agent.take(send(gateway, agent.request()), f"result {number}")
    transcript = read(path)

    assert [seen(step) for step in transcript.steps] == [
        ("system", "You are an agent.", [], []),
        ("user", "Do it.", [], []),
        ("agent", "I look.", ["cat a.py", "cat b.py"], ["result 0", "result 0"]),
        ("agent", "", ["sed -i s/a/b/ a.py"], ["result 1"]),
        ("agent", "All done.", [], []),
    ]
    first = transcript.steps[2]
    assert (first.reasoning_content, first.model_name) == ("Hm.", "m-1")
    assert first.metrics is not None
    assert (first.metrics.prompt_tokens, first.metrics.completion_tokens, first.metrics.cached_tokens) == (100, 10, 40)
    assert transcript.final_metrics is not None
    assert transcript.final_metrics.total_prompt_tokens == 600
    assert (transcript.extra or {})["tools"] == ["bash"]
    assert (transcript.extra or {})["gateway"]["totals"]["turns"] == 3
    spans = extract_spans(transcript)  # it says itself where the workspace was
    assert [(span.kind, span.path, span.step_id) for span in spans if span.kind == "edit"] == [("edit", "a.py", 4)]


@pytest.mark.parametrize("api", APIS)
def test_side_requests_are_marked(api: Api, path: Path) -> None:
    """A title before the work does not take the prompt away from it."""
    with opened(path) as gateway:
        send(gateway, ask(api, "Do it.", tools=(), system="Make a title."))
        send(gateway, HistoryAgent(api).request())
    steps = read(path).steps

    marks = [bool((step.extra or {}).get("side_request")) for step in steps]
    assert [(step.source, mark) for step, mark in zip(steps, marks, strict=True)] == [
        ("system", True), ("user", True), ("agent", True), ("system", False), ("user", False), ("agent", False),
    ]  # fmt: skip


def test_an_agent_that_shuffles_its_history(path: Path) -> None:
    """Moving markers, reminders that come and go, a system prompt with a changing line: nothing is written twice."""
    agent = HistoryAgent(Api.MESSAGES)
    with opened(path) as gateway:
        for number in range(3):
            agent.body["system"] = [
                {"type": "text", "text": f"billing {number}"},
                {"type": "text", "text": "You are an agent."},
            ]
            agent.history[0]["content"][0]["cache_control"] = {"type": "ephemeral"}
            request = json.loads(json.dumps(agent.body))
            request["messages"][-1]["content"].append({"type": "text", "text": f"<reminder>{number // 2}</reminder>"})
            agent.take(send(gateway, post("/v1/messages", request)))
            del agent.history[0]["content"][0]["cache_control"]
    texts = [plain(step.message) for step in read(path).steps if step.source != "agent"]

    assert texts == ["billing 0\nYou are an agent.", "Do it.", "<reminder>0</reminder>", "<reminder>1</reminder>"]


def test_the_same_words_again_are_a_step_again(path: Path) -> None:
    """A user who says `go on` twice has said it twice."""
    agent = HistoryAgent(Api.CHAT)
    with opened(path, [turn(say=f"answer {n}") for n in range(4)]) as gateway:
        for _ in range(3):
            agent.take(send(gateway, agent.request()))
            agent.say("Go on.")
        agent.take(send(gateway, agent.request()))

    assert [plain(step.message) for step in read(path).steps if step.source == "user"] == ["Do it."] + ["Go on."] * 3


def test_a_compacted_history_goes_on(path: Path) -> None:
    """An agent that starts anew from a summary: the summary is new, what was there is not written again."""
    agent = HistoryAgent(Api.CHAT)
    with opened(path) as gateway:
        agent.take(send(gateway, agent.request()))
        agent.body["messages"] = [agent.history[0], {"role": "user", "content": "Summary: I looked."}]
        send(gateway, agent.request())
    steps = read(path).steps

    assert [plain(step.message) for step in steps if step.source == "user"] == ["Do it.", "Summary: I looked."]
    assert (steps[-1].extra or {})["conversation"] == 2


def test_examples_in_a_prompt_are_copied_context(path: Path) -> None:
    """What the model is said to have said, and did not say here, is no turn of its own."""
    agent = HistoryAgent(Api.CHAT)
    agent.history[1:1] = [{"role": "user", "content": "Example?"}, {"role": "assistant", "content": "Example!"}]
    with opened(path) as gateway:
        for _ in range(2):
            agent.take(send(gateway, agent.request()))
    copied = [step for step in read(path).steps if step.is_copied_context]

    assert [plain(step.message) for step in copied] == ["Example!"]


def test_ids_that_recur(path: Path) -> None:
    """Some servers number their calls anew in each answer; each result finds its own step."""
    agent = HistoryAgent(Api.CHAT)
    scripted = [turn(Shell("one")), turn(Shell("two"))]
    with opened(path, scripted) as gateway:
        for number in range(2):
            response = send(gateway, agent.request())
            gateway._house.upstream._calls = 0  # type: ignore[attr-defined]
            agent.take(response, f"result {number}")
        send(gateway, agent.request())
    steps = [step for step in read(path).steps if step.tool_calls]

    assert [seen(step)[2:] for step in steps] == [(["one"], ["result 0"]), (["two"], ["result 1"])]


def test_broken_answers_and_failed_attempts(path: Path) -> None:
    """A cut answer is there as far as it came; what failed before an answer stands beside it, its tokens apart."""
    turns = [
        Turn("a long way to say it all, and then some more", fault=Fault(cut_after=3)),
        Turn(fault=Fault(status=529)),
        turn(say="whole", usage=Usage(100, 10)),
    ]
    retries = Retries(wait=0.001)
    agent = HistoryAgent(Api.CHAT, stream=True)
    with opened(path, turns, Settings(errors="retry", retries=retries)) as gateway:
        for _ in range(2):
            collect(gateway.handle(agent.request()))
    broken, whole = [step for step in read(path).steps if step.source == "agent"]

    assert plain(broken.message).startswith("a long way")
    assert (broken.extra or {})["broken_off"] == "scripted fault"
    assert broken.metrics is None
    assert [one["why"] for one in (whole.extra or {})["failed_attempts"]] == ["status 529"]
    assert whole.metrics is not None
    assert whole.metrics.prompt_tokens == 100


def test_what_has_come_is_on_disk(path: Path) -> None:
    """In the middle of a stream the journal holds the request and every word so far: a SIGKILL loses nothing."""
    text = "one two three four five six seven eight nine ten eleven twelve"
    gateway = opened(path, [turn(say=text)])
    parts = gateway.handle(HistoryAgent(Api.CHAT, stream=True).request())
    for _ in range(4):
        next(parts)
    killed = path.with_name("killed.json")
    journal_of(killed).write_bytes(journal_of(path).read_bytes())
    shown = read(journal_of(killed))
    parts.close()  # type: ignore[attr-defined]
    gateway.close()

    assert plain(shown.steps[1].message) == "Do it."
    assert plain(shown.steps[2].message) == text[:48]
    assert plain(read(path).steps[2].message) == text


def test_images_are_named_by_their_hash(path: Path) -> None:
    """Megabytes of base64 do not belong into a transcript."""
    data = "A" * 2_000_000
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    agent = HistoryAgent(Api.MESSAGES)
    agent.history[0]["content"].append(image)
    with opened(path) as gateway:
        for _ in range(2):
            agent.take(send(gateway, agent.request()))

    images = [plain(step.message) for step in read(path).steps if "image" in plain(step.message)]
    assert len(images) == 1
    assert images[0].startswith("[image, 20000")
    assert path.stat().st_size < 20_000


def test_a_key_is_in_no_transcript(path: Path, tmp_path: Path) -> None:
    """Not from the prompt, a result, an argument, or an answer that comes in pieces."""
    agent = HistoryAgent(Api.CHAT, f"The key is {KEY}.", stream=True, system=KEY)
    turns = [turn(Shell(f"echo {KEY}"), say=f"I saw {KEY} there.", think=KEY), turn(say="Done.")]
    with opened(path, turns, redactor=Redactor([Secret(KEY)])) as gateway:
        for _ in range(2):
            agent.take(send(gateway, agent.request()), f"env: {KEY}")
    transcript = read(path)

    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert KEY.encode() not in written
    assert plain(transcript.steps[2].message) == f"I saw {MARK} there."
    assert [seen(step)[3] for step in transcript.steps if step.observation] == [[f"env: {MARK}"]]


@pytest.mark.parametrize(
    "arguments", ["{broken", "[1]", "null", "", '{"a": 1e999}', '{"a": ' * 500, {"a": [1]}, 7, None]
)
def test_odd_arguments_are_kept(arguments: Any, path: Path) -> None:
    """What is no object stays as it was, and the transcript can be read."""
    call = {"id": "x", "function": {"name": "f", "arguments": arguments}}
    agent = HistoryAgent(Api.CHAT)
    agent.history.append({"role": "assistant", "content": "x", "tool_calls": [call, call]})
    with opened(path) as gateway:
        assert send(gateway, agent.request()).status == 200

    calls = next(step for step in read(path).steps if step.is_copied_context).tool_calls
    assert calls is not None
    assert [made.tool_call_id for made in calls] == ["x", "x#2"]


def test_results_without_a_call_are_kept(path: Path) -> None:
    """Unknown and long-gone calls: the result stands by itself."""
    agent = HistoryAgent(Api.CHAT)
    agent.history.append({"role": "tool", "tool_call_id": "never", "content": "orphan"})
    with opened(path) as gateway:
        send(gateway, agent.request())

    assert ("user", "", [], ["orphan"]) in [seen(step) for step in read(path).steps]


def test_threads_share_a_transcript(path: Path) -> None:
    """Requests at one time: every step is whole."""
    with opened(path, [turn(Shell(f"c{n}"), say="word " * 30) for n in range(16)]) as gateway:
        threads = [
            threading.Thread(
                target=lambda n=n: send(gateway, HistoryAgent(Api.CHAT, f"task {n}", stream=True).request())
            )
            for n in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    steps = [step for step in read(path).steps if step.source == "agent"]

    assert sorted(seen(step)[2][0] for step in steps) == sorted(f"c{n}" for n in range(16))
    assert {plain(step.message) for step in steps} == {"word " * 30}


def test_memory_does_not_grow_with_the_session(path: Path) -> None:
    """Results of many megabytes go through; what stays are hashes."""
    agent = HistoryAgent(Api.CHAT)
    with opened(path, [turn(Shell("yes")) for _ in range(40)]) as gateway:
        for number in range(40):
            agent.take(send(gateway, agent.request()), f"{number}" * 300_000)
            if number == 4:
                tracemalloc.start()
            # As agents do whose context is full.
            del agent.history[2:]
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert grown < 1_500_000


@pytest.mark.parametrize("api", APIS)
def test_an_agent_fills_no_disk(api: Api, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts, results, ids, names and calls of the agent's making without end: a bounded document, and what is in it says so."""
    monkeypatch.setattr(scribe, "ROOM", 50_000)
    with opened(path, [turn(Shell("ls"), say="Here.")] * 40) as gateway:
        for number in range(40):
            agent = HistoryAgent(api, f"{number} " + "é" * 5_000)
            call = {
                "id": f"{number}" * 3_000,
                "function": {"name": "f" * 9_000, "arguments": '{"a": "' + "x" * 9_000 + '"}'},
            }
            if api is Api.CHAT:
                agent.history.append({"role": "assistant", "content": "y" * 3_000, "tool_calls": [call]})
                agent.history.append({"role": "tool", "tool_call_id": f"{number}" * 3_000, "content": "z" * 3_000})
            assert send(gateway, agent.request()).status == 200
        assert journal_of(path).stat().st_size < 400_000
    steps = read(path).steps

    assert any("not all kept]" in plain(step.message) for step in steps)
    answers = [step for step in steps if step.source == "agent" and step.metrics]
    assert [seen(step)[1:3] for step in answers] == [("Here.", ["ls"])] * 40
