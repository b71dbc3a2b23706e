"""The table of a run on a codebase, from its folder: predictions, tokens, turns, seconds, re-reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from takeover.grader.exports import summary_markdown
from takeover.grader.html import report_html
from takeover.grader.report import console, print_run
from takeover.grader.scorecard import Provenance, Retention, Score, Scorecard, Session
from takeover.grader.summary import Table, summarize, summary_json
from takeover.sandbox.store import SnapshotStore
from takeover.sandbox.transcript.model import Agent, Result, ToolCall
from takeover.sandbox.transcript.writer import TranscriptWriter
from takeover.tiers.arms import Arm
from takeover.trials.agents import resolve_agent
from takeover.trials.plan import make_plan, predicted
from takeover.trials.record import RunPaths, TrialPaths, write_json
from takeover.trials.repo_results import cost_tables
from takeover.trials.sessions import SessionMeta, SessionUsage, write_meta
from takeover.trials.tasks import load_any

ARMS = {name: Arm(name, "", {}, None, None, "0" * 64) for name in ("Vanilla", "State_MD_Only")}
TEXT = b"".join(b"line %d\n" % number for number in range(40))


def looked(path: Path, *commands: str) -> None:
    """A transcript of a session that ran these commands."""
    with TranscriptWriter(path, agent=Agent(name="a", version="1"), extra={"cwd": "/workspace"}) as writer:
        writer.step("user", "go")
        for number, command in enumerate(commands):
            call = ToolCall(tool_call_id=f"c{number}", function_name="bash", arguments={"command": command})
            step = writer.step("agent", "")
            writer.more(step, calls=[call], results=[Result(source_call_id=f"c{number}", content="x")])


class Run:
    """A run's folder, made by hand."""

    def __init__(self, root: Path, task: str = "click", predictions: str = "") -> None:
        self.paths = RunPaths(root)
        self.snapshot = f"sha256:{SnapshotStore(self.paths.snapshots).put_files({'src/a.py': TEXT}).sha256}"
        self.cards: dict[str, Scorecard] = {}
        loaded = load_any(task)
        plan = make_plan([(loaded, arm) for arm in ARMS.values()], [resolve_agent("my-agent")])
        if predictions:
            (root / "predictions.yaml").write_text(f"schema_version: 1\npredictions:\n{predictions}")
            plan = predicted(plan, root / "predictions.yaml")
        write_json(self.paths.identity, plan.identity({}, "0" * 64))
        self.total, self.task = len(loaded.requirements), loaded.id

    def trial(self, arm: str, resolved: int, usage: tuple[int | None, int | None] | None) -> TrialPaths:
        """A trial of two sessions that took these tokens."""
        name = f"{self.task}.{arm}.my-agent.1"
        paths = self.paths.trial(name)
        sessions = [Session(exit="cutoff", snapshot=self.snapshot), Session(exit="exited", snapshot=self.snapshot)]
        for number, session in enumerate(sessions, 1):
            tokens = None if usage is None else usage[number - 1]
            used = None if usage is None else SessionUsage(tokens=tokens, calls=9, turns=number + 4, report={})
            meta = SessionMeta(start=self.snapshot, image="sha256:0", guest={}, omitted=[], session=session, usage=used)
            write_meta(paths.step(number, "session"), meta)
        write_json(paths.timing, {"steps": [{"step": "1-session", "run": 20.5}, {"step": "2-session", "run": 40}]})
        verdict = Retention(
            raw=Score(passed=resolved, total=self.total),
            net=resolved,
            tes=None,
            zeroed_by=[],
            baseline=Score(passed=1, total=1),
            protected_edited=[],
            boundary_violations=[],
            checks=[],
        )
        self.cards[name] = Scorecard(
            task=self.task, variant=0, arm=arm, agent="my-agent", repetition=1, outcome="graded",
            retention=verdict, sessions=sessions, provenance=Provenance(toolkit="0", task_sha256="0"),
        )  # fmt: skip
        return paths

    def table(self) -> Table:
        """The one table."""
        (table,) = cost_tables(self.paths, self.cards)
        return table

    def row(self, arm: str) -> dict[str, Any]:
        """A cell's numbers as summary.json has them."""
        return next(dict(row) for row in self.table().data if row["arm"] == arm)


PREDICTIONS = "  - {task: click, arm: Vanilla, resolved: 2}\n  - {task: click, arm: State_MD_Only, resolved: 3}\n"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Vanilla resolved 1 with 300 tokens, State.md 2 with 900; predicted were 2 and 3."""
    made = Run(tmp_path, predictions=PREDICTIONS)
    made.trial("State_MD_Only", 2, (400, 500))
    made.trial("Vanilla", 1, (100, 200))
    return made


def test_a_cell_is_what_was_counted(run: Run) -> None:
    """In the order of the plan; the multiple is of the same agent's Vanilla."""
    assert [row["arm"] for row in run.table().data] == ["Vanilla", "State_MD_Only"]
    row = run.row("State_MD_Only")
    assert (row["predicted"], row["resolved"], row["total"]) == (3.0, 2.0, 13)
    assert (row["turns"], row["tokens"], row["total_tokens"]) == ((5.0, 6.0), (400.0, 500.0), 900.0)
    assert (row["times_vanilla"], row["tokens_per_bug"], row["seconds"]) == (3.0, 450.0, 60.5)
    assert row["repeated_views"] is None


def test_what_nobody_counted_is_not_zero(tmp_path: Path) -> None:
    """Without a gateway there are no tokens and turns; declared ones count, for the trial as a whole."""
    run = Run(tmp_path)
    run.trial("Vanilla", 1, None)
    assert run.row("Vanilla")["total_tokens"] is None
    name, card = next(iter(run.cards.items()))
    tokens = card.tokens.model_copy(update={"total": 70, "provenance": "declared"})
    run.cards[name] = card.model_copy(update={"tokens": tokens})
    row = run.row("Vanilla")
    assert (row["total_tokens"], row["tokens"], row["predicted"]) == (70.0, (None, None), None)


def test_rereads_come_from_the_transcripts(run: Run) -> None:
    """Lines 1-10 and 20-30 before the cutoff, 5-8 and all of it after: two looks at lines seen before, 25 of them."""
    trial = run.paths.trial("click.Vanilla.my-agent.1")
    looked(trial.step(1, "session").transcript, "sed -n 1,10p src/a.py", "sed -n 20,30p src/a.py")
    looked(trial.step(2, "session").transcript, "sed -n 5,8p src/a.py", "cat src/a.py")
    row = run.row("Vanilla")
    assert (row["repeated_views"], row["repeated_lines"]) == (2.0, 25.0)


def test_a_transcript_that_cannot_be_read_is_none(run: Run) -> None:
    """Neither does it end the summary."""
    trial = run.paths.trial("click.Vanilla.my-agent.1")
    looked(trial.step(1, "session").transcript, "cat src/a.py")
    trial.step(2, "session").transcript.write_text("[" * 100_000)
    assert run.row("Vanilla")["repeated_views"] is None


def test_a_folder_of_odd_files_gives_unknowns(run: Run) -> None:
    """Times that are none, and links that lead away."""
    trial = run.paths.trial("click.Vanilla.my-agent.1")
    write_json(trial.timing, {"steps": [{"step": "1-session", "run": "long"}, 7, {"step": None}]})
    meta = trial.step(2, "session").meta
    meta.unlink()
    meta.symlink_to("/etc/passwd")
    row = run.row("Vanilla")
    assert (row["seconds"], row["tokens"], row["total_tokens"]) == (None, (100.0, None), None)


def test_a_failure_of_the_agent_resolves_nothing(run: Run) -> None:
    """It stays in the mean; one of the machinery does not."""
    name = "click.Vanilla.my-agent.1"
    card = run.cards[name].model_copy(update={"outcome": "agent_failure", "retention": None})
    run.cards[name] = card
    assert (run.row("Vanilla")["resolved"], run.row("Vanilla")["total"]) == (0.0, 13)
    run.cards[name] = card.model_copy(update={"outcome": "machinery_failure"})
    assert [row["arm"] for row in run.table().data] == ["State_MD_Only"]


def test_a_run_without_codebase_has_no_such_table(tmp_path: Path) -> None:
    """Unless somebody predicted something."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plain = Run(tmp_path / "a", "tier2_fintech")
    plain.trial("Vanilla", 1, (1, 1))
    assert cost_tables(plain.paths, plain.cards) == ()
    told = Run(tmp_path / "b", "tier2_fintech", "  - {task: tier2_fintech, arm: Vanilla, resolved: 1}\n")
    told.trial("Vanilla", 1, (1, 1))
    assert told.row("Vanilla")["predicted"] == 1.0


def test_the_table_is_in_every_summary(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """On the terminal, in summary.md, summary.json and report.html."""
    summary = summarize("r", list(run.cards), run.cards, cost_tables(run.paths, run.cards))
    print_run(summary, console())
    texts = (capsys.readouterr().out, summary_markdown(summary), report_html(summary))
    for text in texts:
        assert "Predicted, resolved, and what it cost" in text
        assert "3 (-1)" in text
        assert "3.00x" in text
    assert json.loads(summary_json(summary))["costs"][0]["tokens"] == [100.0, 200.0]
