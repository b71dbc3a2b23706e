"""The writer: nothing that was handed over is lost, whatever kills it, and a long session takes no memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from takeover.sandbox.errors import InputError, StorageError
from takeover.sandbox.transcript.model import Agent, Metrics, Result, ToolCall
from takeover.sandbox.transcript.sniff import import_file
from takeover.sandbox.transcript.writer import WINDOW, TranscriptWriter, journal_of, recover

AGENT = Agent(name="made-up", version="1", model_name="made-up-1")
CALL = ToolCall(tool_call_id="c1", function_name="bash", arguments={"command": "ls"})


def _write(path: Path) -> TranscriptWriter:
    writer = TranscriptWriter(path, agent=AGENT, session_id="s", extra={"cwd": "/workspace"})
    writer.step("user", "go")
    step = writer.step("agent", "", metrics=Metrics(prompt_tokens=1, completion_tokens=1))
    writer.more(step, text="hel")
    writer.more(step, text="lo", reasoning="why", calls=[CALL])
    writer.more(step, results=[Result(source_call_id="c1", content="a\nb")])
    writer.more(step, metrics=Metrics(prompt_tokens=100, completion_tokens=7, cached_tokens=40, cost_usd=0.5))
    return writer


def test_what_was_written_piece_by_piece_reads_as_one(tmp_path: Path) -> None:
    """Text as it streams, calls, late results, late usage: one step; the journal is gone, the totals are there."""
    path = tmp_path / "transcript.json"
    with _write(path) as writer:
        writer.note(ended="cutoff")

    transcript, _ = import_file(path)

    step = transcript.steps[1]
    assert ("hello", "why", (CALL,)) == (step.message, step.reasoning_content, step.tool_calls)
    assert step.observation is not None
    assert "a\nb" == step.observation.results[0].content
    assert transcript.final_metrics is not None
    assert (100, 7, 40, 0.5) == (
        transcript.final_metrics.total_prompt_tokens,
        transcript.final_metrics.total_completion_tokens,
        transcript.final_metrics.total_cached_tokens,
        transcript.final_metrics.total_cost_usd,
    )
    assert {"cwd": "/workspace", "ended": "cutoff"} == transcript.extra
    assert [path.name] == [one.name for one in tmp_path.iterdir()]


def test_the_journal_reads_while_the_session_runs(tmp_path: Path) -> None:
    """What is on disk at any moment is a transcript."""
    path = tmp_path / "transcript.json"
    writer = _write(path)

    transcript, report = import_file(journal_of(path))

    assert 2 == len(transcript.steps)
    assert "atif" == report.format
    writer.close()


@pytest.mark.parametrize("cut", range(2, 60, 7))
def test_a_torn_last_line_costs_only_itself(tmp_path: Path, cut: int) -> None:
    """A write that was cut anywhere loses that record; what came before is whole, and the loss is noted."""
    path = tmp_path / "transcript.json"
    writer = _write(path)
    writer.step("agent", "the last words")
    journal = journal_of(path)
    journal.write_bytes(journal.read_bytes()[:-cut])

    recover(journal)

    transcript, _ = import_file(path)
    assert ["go", "hello"] == [step.message for step in transcript.steps]
    assert transcript.notes is not None


CHILD = """
import os, sys
from pathlib import Path
from takeover.sandbox.transcript.model import Agent
from takeover.sandbox.transcript.writer import TranscriptWriter
writer = TranscriptWriter(Path(sys.argv[1]), agent=Agent(name="a", version="1"))
while True:
    step = writer.step("agent", "x" * 5000)
    writer.more(step, text="y" * 5000)
    os.write(1, b"%d\\n" % step)
"""


def test_sigkill_loses_nothing_that_was_handed_over(tmp_path: Path) -> None:
    """Every step of which the writer said that it was written is there after `kill -9`, whole."""
    path = tmp_path / "transcript.json"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    for _ in range(200):
        child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    said = [int(line) for line in child.stdout.read().splitlines()]
    child.wait()
    child.stdout.close()

    recover(journal_of(path))

    transcript, _ = import_file(path)
    last = max(said, default=200)
    assert last <= len(transcript.steps)
    assert all(step.message == "x" * 5000 + "y" * 5000 for step in transcript.steps[:last])


def test_memory_stays_flat_however_long_the_session(tmp_path: Path) -> None:
    """40 MB of steps, written and closed, never are in memory together."""
    path = tmp_path / "transcript.json"
    tracemalloc.start()
    with TranscriptWriter(path, agent=AGENT) as writer:
        for _ in range(4000):
            writer.step("agent", "x" * 10_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert path.stat().st_size > 40_000_000
    assert peak < 12_000_000


def test_a_result_finds_its_step_within_the_window_and_no_further(tmp_path: Path) -> None:
    """The latest steps can still be added to; an older one is refused, not silently misplaced."""
    with TranscriptWriter(tmp_path / "t.json", agent=AGENT) as writer:
        for _ in range(WINDOW + 5):
            writer.step("agent", "x", tool_calls=(CALL,))
        writer.more(6, results=[Result(source_call_id="c1", content="late")])
        with pytest.raises(ValueError, match="not among the latest"):
            writer.more(5, text="too late")

    transcript, _ = import_file(tmp_path / "t.json")

    assert [6] == [step.step_id for step in transcript.steps if step.observation]


def test_a_transcript_is_never_written_over(tmp_path: Path) -> None:
    """Two writers of one path would mix; a journal that a killed one left must be recovered first."""
    writer = TranscriptWriter(tmp_path / "t.json", agent=AGENT)

    with pytest.raises(StorageError, match="cannot be created"):
        TranscriptWriter(tmp_path / "t.json", agent=AGENT)
    writer.close()


def test_a_full_disk_is_the_machinerys_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says so, and no half line stays in the journal."""
    path = tmp_path / "t.json"
    writer = TranscriptWriter(path, agent=AGENT)
    writer.step("user", "go")
    real = os.write

    def full(fd: int, data: memoryview) -> int:
        if len(data) < 60:
            raise OSError(28, "No space left on device")
        return real(fd, bytes(data)[:20])

    with monkeypatch.context() as patched:
        patched.setattr("takeover.sandbox.transcript.writer.os.write", full)
        with pytest.raises(StorageError, match="No space left"):
            writer.step("agent", "x" * 100)
    writer.step("agent", "after")
    writer.close()

    assert ["go", "after"] == [step.message for step in import_file(path)[0].steps]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (['{"journal":"ATIF-v1.8","agent":{"name":"a"}}'], r":1: \$\.agent: \$\.version: Field required"),
        (['{"step":{}}'], "must be the head of a journal"),
        (['{"journal":"ATIF-v9","agent":{"name":"a","version":"1"}}'], "must be ATIF-v1.8"),
        (['{"journal":"ATIF-v1.8","agent":{"name":"a","version":"1"}}'], "holds no step"),
        (
            ['{"journal":"ATIF-v1.8","agent":{"name":"a","version":"1"}}', '{"step":{"step_id":4}}'],
            "must be 1, the next",
        ),
        (['{"journal":"ATIF-v1.8","agent":{"name":"a","version":"1"}}', '{"more":9}'], "one of the latest"),
        (
            ['{"journal":"ATIF-v1.8","agent":{"name":"a","version":"1"}}', '{"step":{"step_id":1}}'],
            "source: Field required",
        ),
        (['{"journal":"ATIF-v1.8","agent":{"name":"a","version":"1"}}', "{}"], "must be a step, an addition"),
    ],
)
def test_a_journal_that_is_none_is_refused(tmp_path: Path, lines: list[str], says: str) -> None:
    """A journal is read as strictly as any other input, and stays where it is."""
    journal = tmp_path / "t.json.journal"
    journal.write_text("\n".join(lines) + "\n")

    with pytest.raises(InputError, match=says):
        recover(journal)
    assert journal.exists()
    assert [journal.name] == [one.name for one in tmp_path.iterdir()]


def test_what_utf8_or_json_cannot_carry_does_not_stop_the_recording(tmp_path: Path) -> None:
    """A model's half emoji becomes a replacement character wherever it stands, and NaN becomes null."""
    bad = "x\ud83d"
    call = ToolCall(tool_call_id=bad, function_name=bad, arguments={bad: [bad]})
    with TranscriptWriter(tmp_path / "t.json", agent=AGENT) as writer:
        step = writer.step("agent", bad, extra={"y": float("nan")})
        writer.more(step, text=bad, calls=[call], results=[Result(source_call_id=bad, content=bad)])

    found = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["steps"][0]

    assert ("x\ufffdx\ufffd", {"y": None}) == (found["message"], found["extra"])
    assert {"x\ufffd": ["x\ufffd"]} == found["tool_calls"][0]["arguments"]
    assert found["tool_calls"][0]["tool_call_id"] == found["observation"]["results"][0]["source_call_id"]
