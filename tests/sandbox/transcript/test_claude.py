"""Claude Code: the way through the graph of a session, and the stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from takeover.sandbox.transcript.model import plain
from takeover.sandbox.transcript.sniff import import_file

SAMPLES = Path(__file__).parent / "samples"


def _record(uuid: str, parent: str | None, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message.update({"id": fields.pop("message_id", f"msg_{uuid}"), "model": "made-up-1"})
        message["usage"] = fields.pop("usage", {"input_tokens": 1, "output_tokens": 1})
    return {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "type": kind, "message": message, **fields}


def _write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _call(call_id: str, command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}


def _result(call_id: str, text: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": call_id, "content": text}]


def test_lines_of_one_answer_are_one_step_whose_usage_counts_once() -> None:
    """Claude Code writes one answer over several lines, each with the usage; the last has the full output count."""
    transcript, _ = import_file(SAMPLES / "claude_session.jsonl")

    step = transcript.steps[1]

    assert ["c1", "c2"] == [call.tool_call_id for call in step.tool_calls or ()]
    assert step.metrics is not None
    assert (100, 10, 80) == (step.metrics.prompt_tokens, step.metrics.completion_tokens, step.metrics.cached_tokens)


def test_the_summary_of_a_compaction_is_copied_context_and_nothing_before_it_is_lost() -> None:
    """What the agent summarised stays as its own steps; the summary is marked as copied."""
    transcript, _ = import_file(SAMPLES / "claude_session.jsonl")

    assert [False, False, True, False, False] == [bool(step.is_copied_context) for step in transcript.steps]


def test_of_two_branches_the_last_is_the_session(tmp_path: Path) -> None:
    """Going back and asking again leaves a branch; the way to the last message is what happened."""
    path = _write(
        tmp_path / "s.jsonl",
        [
            _record("a", None, "user", "first"),
            _record("b", "a", "assistant", [{"type": "text", "text": "not taken"}]),
            _record("c", "b", "user", "not taken either"),
            _record("d", "a", "assistant", [{"type": "text", "text": "taken"}]),
        ],
    )

    transcript, report = import_file(path)

    assert ["first", "taken"] == [plain(step.message) for step in transcript.steps]
    assert [("branch", 2)] == [(one.kind, one.count) for one in report.dropped]


def test_results_of_parallel_calls_are_kept_though_they_hang_beside_the_way(tmp_path: Path) -> None:
    """Each result's parent is its own call's line, so only one of them is on the straight way."""
    path = _write(
        tmp_path / "s.jsonl",
        [
            _record("a", None, "user", "go"),
            _record("b", "a", "assistant", [_call("c1", "cat x")], message_id="m"),
            _record("c", "b", "assistant", [_call("c2", "cat y")], message_id="m"),
            _record("d", "b", "user", _result("c1", "X")),
            _record("e", "c", "user", _result("c2", "Y")),
            _record("f", "e", "assistant", [{"type": "text", "text": "done"}]),
        ],
    )

    transcript, report = import_file(path)

    results = transcript.steps[1].observation
    assert results is not None
    assert [("c1", "X"), ("c2", "Y")] == [(one.source_call_id, one.content) for one in results.results]
    assert report.dropped == ()


def test_a_circle_of_parents_ends(tmp_path: Path) -> None:
    """A file can claim that each of two records is the other's parent."""
    path = _write(tmp_path / "s.jsonl", [_record("a", "b", "user", "one"), _record("b", "a", "user", "two")])

    transcript, _ = import_file(path)

    assert 2 == len(transcript.steps)


def test_records_of_another_session_are_copied_context(tmp_path: Path) -> None:
    """A resumed session begins with what it took over from the one before."""
    before = _record("a", None, "user", "old")
    path = _write(tmp_path / "s.jsonl", [{**before, "sessionId": "old"}, _record("b", "a", "user", "new")])

    transcript, _ = import_file(path)

    assert [True, None] == [step.is_copied_context for step in transcript.steps]


def test_a_subagents_own_file_is_a_transcript_of_its_own(tmp_path: Path) -> None:
    """In `agent-ID.jsonl` every record is a side chain; there it is the main one."""
    path = _write(tmp_path / "agent-1.jsonl", [_record("a", None, "user", "look", isSidechain=True)])

    transcript, report = import_file(path)

    assert (["look"], ()) == ([plain(step.message) for step in transcript.steps], report.dropped)


def test_a_call_issued_again_before_it_ran_is_counted_once() -> None:
    """An answer that was cut off and asked for again carries the same ids; only the second ran."""
    transcript, report = import_file(SAMPLES / "claude_stream.jsonl")

    assert ["c1", "c3"] == [call.tool_call_id for step in transcript.steps for call in step.tool_calls or ()]
    assert ("superseded_call", 1) in [(one.kind, one.count) for one in report.dropped]


def test_what_the_program_counted_stands_for_the_whole_and_a_difference_is_said(tmp_path: Path) -> None:
    """The closing record knows of calls that printed nothing; the steps' sum does not replace it."""
    lines = (SAMPLES / "claude_stream.jsonl").read_text().splitlines()
    closing = json.loads(lines[-1])
    closing["modelUsage"]["made-up-1"]["inputTokens"] = 1129
    path = tmp_path / "stream.jsonl"
    path.write_text("\n".join([*lines[:-1], json.dumps(closing)]) + "\n")

    transcript, report = import_file(path)

    assert transcript.final_metrics is not None
    assert 1220 == transcript.final_metrics.total_prompt_tokens
    assert any("told as 1,220, the steps add up to 220" in warning for warning in report.warnings)


def test_an_unanswered_call_in_the_middle_is_marked_and_the_last_is_not(tmp_path: Path) -> None:
    """A call without a result did not run if the agent went on; the last may have been what the cutoff cut."""
    path = _write(
        tmp_path / "s.jsonl",
        [
            _record("a", None, "assistant", [_call("c1", "cat x")]),
            _record("b", "a", "assistant", [_call("c2", "cat y")]),
            _record("c", "b", "user", _result("c2", "Y")),
            _record("d", "c", "assistant", [_call("c3", "cat z")]),
        ],
    )

    transcript, _ = import_file(path)

    marked = [(call.extra or {}).get("unanswered") for step in transcript.steps for call in step.tool_calls or ()]
    assert [True, None, None] == marked


def test_a_compaction_that_keeps_messages_is_counted_and_its_summary_read(tmp_path: Path) -> None:
    """Newer compactions keep the latest messages, and the way leads over them past the boundary."""
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "k", "parentUuid": None, "sessionId": "s"}
    path = _write(
        tmp_path / "s.jsonl",
        [
            _record("a", None, "user", "first"),
            _record("b", "a", "user", "kept"),
            boundary,
            _record("c", "k", "user", "the summary", isCompactSummary=True),
            _record("d", "b", "user", "after"),
        ],
    )

    transcript, report = import_file(path)

    assert ["first", "kept", "the summary", "after"] == [plain(step.message) for step in transcript.steps]
    assert [None, None, True, None] == [step.is_copied_context for step in transcript.steps]
    assert [("compaction", 1)] == [(one.kind, one.count) for one in report.dropped]
