"""What is particular to one format or another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from takeover.sandbox.errors import InputError
from takeover.sandbox.transcript.model import Transcript, plain
from takeover.sandbox.transcript.sniff import import_file

SAMPLES = Path(__file__).parent / "samples"


def _jsonl(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _tokens(transcript: Transcript) -> list[tuple[int | None, int | None] | None]:
    return [
        (step.metrics.prompt_tokens, step.metrics.completion_tokens) if step.metrics else None
        for step in transcript.steps
        if step.source == "agent"
    ]


def test_accumulated_usage_is_taken_apart() -> None:
    """OpenHands tells the usage so far; each step has what it added."""
    transcript, _ = import_file(SAMPLES / "openhands_flat.json")

    assert [(100, 10), (150, 8), (50, 2)] == _tokens(transcript)


def test_actions_of_one_answer_are_one_step() -> None:
    """Two tool calls of one model response stand together, each with its own result."""
    transcript, _ = import_file(SAMPLES / "openhands_flat.json")

    step = transcript.steps[2]

    assert ["c4", "c5"] == [call.tool_call_id for call in step.tool_calls or ()]
    assert step.observation is not None
    assert ["c4", "c5"] == [result.source_call_id for result in step.observation.results]


def test_pages_and_single_events_make_one_stream() -> None:
    """A session kept as cache pages and files yields the same transcript as the flat array."""
    flat, _ = import_file(SAMPLES / "openhands_flat.json")
    folder, _ = import_file(SAMPLES / "openhands_session")

    assert flat.steps == folder.steps


def test_the_resumption_marker_is_copied_context(tmp_path: Path) -> None:
    """The SDK's transcript of an earlier conversation arrives as a message with a marker."""
    message = {"role": "user", "content": [{"type": "text", "text": "<<RESUMED CONVERSATION>>\nbefore"}]}
    event = {"id": "e", "kind": "MessageEvent", "source": "user", "llm_message": message}
    path = tmp_path / "events.json"
    path.write_text(json.dumps([event]))

    transcript, _ = import_file(path)

    assert transcript.steps[0].is_copied_context is True


def test_codex_usage_told_twice_counts_once() -> None:
    """A `token_count` with the totals of the one before is no new answer."""
    transcript, _ = import_file(SAMPLES / "codex_rollout.jsonl")

    assert [(100, 10), (150, 8), None] == _tokens(transcript)


def test_codex_wrapped_outputs_are_unwrapped() -> None:
    """Output that is JSON text with its exit code becomes the output and the exit code."""
    transcript, _ = import_file(SAMPLES / "codex_rollout.jsonl")

    found = transcript.steps[2].observation

    assert found is not None
    assert plain(found.results[0].content).startswith("def total")
    assert {"returncode": 0} == found.results[0].extra


def test_what_a_codex_fork_took_over_is_copied_context(tmp_path: Path) -> None:
    """A fork writes the history of its parent in one go at its start."""

    def said(second: int, text: str) -> dict[str, Any]:
        payload = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        return {"timestamp": f"2026-03-01T10:00:{second:02d}Z", "type": "response_item", "payload": payload}

    meta = {"id": "new", "forked_from_id": "old", "cwd": "/workspace"}
    head = {"timestamp": "2026-03-01T10:00:00Z", "type": "session_meta", "payload": meta}
    transcript, report = import_file(_jsonl(tmp_path / "r.jsonl", [head, said(0, "old"), said(30, "new")]))

    assert [True, None] == [step.is_copied_context for step in transcript.steps]
    assert any("a fork" in warning for warning in report.warnings)


def test_codex_usage_of_a_thread_is_a_difference(tmp_path: Path) -> None:
    """`codex exec` adds up the usage over turns; each turn's own stands on its last step."""

    def turn(number: int, total: int) -> list[dict[str, Any]]:
        item = {"id": f"i{number}", "type": "agent_message", "text": f"turn {number}"}
        spent = {"input_tokens": total, "cached_input_tokens": 0, "output_tokens": number}
        return [{"type": "item.completed", "item": item}, {"type": "turn.completed", "usage": spent}]

    path = _jsonl(tmp_path / "x.jsonl", [{"type": "thread.started", "thread_id": "t"}, *turn(1, 100), *turn(2, 250)])
    transcript, _ = import_file(path)

    assert [(100, 1), (150, 1)] == _tokens(transcript)


def test_an_item_begun_and_never_ended_is_the_call_that_was_cut() -> None:
    """A killed `codex exec` leaves a command that started."""
    transcript, _ = import_file(SAMPLES / "codex_exec.jsonl")

    last = transcript.steps[-1]

    assert last.tool_calls is not None
    assert ("python -m pytest -q", None) == (last.tool_calls[0].arguments["command"], last.observation)


def test_gemini_updates_amend_and_a_rewind_takes_back() -> None:
    """The two forms of a recording come to the same steps."""
    document, _ = import_file(SAMPLES / "gemini.json")
    lines, _ = import_file(SAMPLES / "gemini.jsonl")

    assert document.steps == lines.steps


def test_demonstrations_and_failed_attempts_are_left_out() -> None:
    """A demonstration shows another task, and only one attempt of a retry counts."""
    windowed, _ = import_file(SAMPLES / "sweagent_windowed.traj")
    editor, report = import_file(SAMPLES / "sweagent_editor.traj")

    assert not any("another task" in plain(step.message) for step in windowed.steps)
    assert 5 == len(editor.steps)
    assert ["attempt"] == [one.kind for one in report.dropped]


def test_a_history_alone_is_a_transcript(tmp_path: Path) -> None:
    """Some trajectories of SWE-agent hold only the history; its calls and outputs are all there."""
    history = json.loads((SAMPLES / "sweagent_editor.traj").read_text())["history"]
    path = tmp_path / "t.traj"
    path.write_text(json.dumps({"history": history}))

    transcript, _ = import_file(path)

    agents = [step for step in transcript.steps if step.source == "agent"]
    assert ["call_a", "call_b", "call_c"] == [call.tool_call_id for step in agents for call in step.tool_calls or ()]
    assert all(step.observation for step in agents)


def test_a_format_error_is_a_message_and_not_a_result() -> None:
    """mini-SWE-agent answers a badly formed message in the user's role; that is no output of a command."""
    transcript, _ = import_file(SAMPLES / "mini_v2_text.traj.json")

    assert ["system", "user", "agent", "user", "agent", "agent"] == [step.source for step in transcript.steps]
    assert all(step.observation for step in transcript.steps if step.source == "agent")


def test_counts_that_are_no_counts_are_left_out_and_said(tmp_path: Path) -> None:
    """A negative, fractional or absurd token count must not read as zero, and not as a number either."""
    document = json.loads((SAMPLES / "mini_v2_tools.traj.json").read_text())
    answers = [message for message in document["messages"] if message["role"] == "assistant"]
    for answer, wrong in zip(answers, (-1, 2**60, 1.5), strict=True):
        answer["extra"]["response"]["usage"]["prompt_tokens"] = wrong
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))

    transcript, report = import_file(path)

    assert [(None, 10)] * 3 == _tokens(transcript)
    assert ("usage", 3) in [(one.kind, one.count) for one in report.dropped]
    assert any("usage.prompt_tokens: is no count" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("sample", "change", "says"),
    [
        ("mini_v2_tools.traj.json", ("messages", 2, "tool_calls"), r"\$\.messages\[2\]\.tool_calls: must be a list"),
        ("sweagent_editor.traj", ("trajectory", 0, "action"), r"\$\.trajectory\[0\]\.action: must be a string"),
        ("openhands_flat.json", (1, "action"), r"\$\[1\]: must have an action or an observation"),
        (
            "gemini.json",
            ("messages", 1, "toolCalls", 0, "name"),
            r"toolCalls\[0\]\.name: must be a string, is a number",
        ),
        ("inspect.json", ("samples", 0, "messages", 1, "role"), r"messages\[1\]\.role: must be system, user"),
    ],
)
def test_an_error_names_the_field(tmp_path: Path, sample: str, change: tuple[Any, ...], says: str) -> None:
    """What is wrong is said with file, JSON path and what should be there."""
    document = json.loads((SAMPLES / sample).read_text())
    holder = document
    for key in change[:-1]:
        holder = holder[key]
    holder[change[-1]] = 7
    path = tmp_path / sample
    path.write_text(json.dumps(document))

    with pytest.raises(InputError, match=says) as caught:
        import_file(path)
    assert str(caught.value).startswith(str(path))


def test_an_error_in_jsonl_names_the_line(tmp_path: Path) -> None:
    """In a file of lines the line is named too."""
    lines = (SAMPLES / "codex_rollout.jsonl").read_text().splitlines()
    record = json.loads(lines[3])
    record["payload"]["content"] = 7
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join([*lines[:3], json.dumps(record), *lines[4:]]) + "\n")

    with pytest.raises(InputError, match=r"r\.jsonl:4: \$\.payload\.content: must be a list, is a number"):
        import_file(path)
