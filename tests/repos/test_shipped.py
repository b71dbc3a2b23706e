"""click and isort: every fact that bugs.yaml states, and the reference against it."""

from __future__ import annotations

from pathlib import Path

import pytest
from asking import answers
from small_codebase import Shipped

from takeover.repos.reference import load_reference, oracle_command, oracle_home
from takeover.sandbox.cutoff import parse
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.sandbox import HOME
from takeover.sandbox.session import AgentSpec, SessionLog, SessionSpec, run_session
from takeover.sandbox.store import SnapshotStore
from takeover.tiers.arms import load_arm
from takeover.trials.start import starting_snapshot

NAMES = ("click", "isort")


@pytest.mark.parametrize(("name", "canonical", "all_bugs"), [("click", 13, 37), ("isort", 11, 35)])
def test_both_sets_have_their_size(shipped: Shipped, name: str, canonical: int, all_bugs: int) -> None:
    """And every canonical bug has a reference of our own."""
    task = shipped(name, "all")
    main = {bug.id for bug in task.bugs if bug.canonical}
    assert (len(main), len(task.bugs)) == (canonical, all_bugs)
    assert main <= set(load_reference(task))


@pytest.mark.parametrize("name", NAMES)
def test_nop_resolves_none(shipped: Shipped, tmp_path: Path, name: str) -> None:
    """At base every probe gives what the facts say of base, which is not what is expected."""
    task = shipped(name, "all")
    seen = answers(task, task.files, tmp_path)
    assert [bug.id for bug in task.bugs if seen[bug.id] != bug.base] == []
    assert [bug.id for bug in task.bugs if seen[bug.id] == bug.expected] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_history_ends_at_base(shipped: Shipped, store: SnapshotStore, name: str) -> None:
    """Every file of the release is committed once, nothing is later than it, and no later version is spoken of."""
    task = shipped(name)
    assert sorted(path for commit in task.history for path in commit.files) == sorted(task.files)
    assert all(commit.date < "2022-05" for commit in task.history)
    later = {bug.fixed_in for bug in task.known.bugs} | {task.known.newest}
    said = b"".join(data for path, data in task.files.items() if path.lower().startswith(("change", "readme", "docs/")))
    assert [version for version in later if f"Version {version}\n".encode() in said] == []
    assert starting_snapshot(task, load_arm("Vanilla", task), store).complete


@pytest.mark.parametrize("name", NAMES)
def test_prompts_hold_no_answer(shipped: Shipped, name: str) -> None:
    """Neither the unhinted prompt nor the one with areas says what is wrong."""
    for hints in ("", ",hints=areas"):
        task = shipped(name, f"all{hints}")
        text = " ".join(task.prompt("audit.md").split()) + task.prompt("continue.md")
        assert [bug.id for bug in task.bugs if bug.specification in text or bug.id in text.split()] == []


@pytest.mark.docker
@pytest.mark.slow
def test_the_oracle_takes_over(shipped: Shipped, engine: DockerEngine, store: SnapshotStore, tmp_path: Path) -> None:
    """Cut off at its first edit, which mends one bug, its second session mends the rest, and commits."""
    task = shipped("click")
    reference = load_reference(task)
    agent = AgentSpec("oracle", "sandbox", oracle_command(HOME), {}, oracle_home(reference, task.requirements))
    current = starting_snapshot(task, load_arm("Vanilla", task), store)
    resolved = []
    for step in task.steps:
        rule = parse(step.cutoff)
        log = SessionLog(tmp_path / f"{step.number}.log", tmp_path / f"{step.number}.jsonl")
        spec = SessionSpec(agent, step.number, task.prompt(step.prompt), rule, task.limits)
        result = run_session(engine, store, spec, current, log=log, labels={})
        current = result.snapshot
        left = store.read_files(current.sha256, lambda item: item.path.startswith("src/click/"))
        seen = answers(task, left, tmp_path / f"left-{step.number}")
        resolved.append(sum(seen[bug.id] == bug.expected for bug in task.bugs))
        assert result.run.how == ("cutoff" if step.cutoff == "first-edit" else "exited")
    assert resolved == [1, 13]
    head = store.read_files(current.sha256, lambda item: item.path == ".git/COMMIT_EDITMSG")
    assert head[".git/COMMIT_EDITMSG"] == b"Fix reported behaviour\n"
