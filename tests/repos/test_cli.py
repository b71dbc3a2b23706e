"""Codebases on the command line, as far as it goes without an engine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from takeover.cli import main

# An index that answers nothing: a local folder that is not there.
NO_INDEX = {"PIP_INDEX_URL": "file:///nothing/simple", "PIP_EXTRA_INDEX_URL": "", "PIP_CONFIG_FILE": "/dev/null"}


def takeover(*words: str, **env: str) -> Result:
    """The command line, in this process."""
    return CliRunner().invoke(main, list(words), env=env)


def test_the_tasks_are_listed() -> None:
    """With those of the tiers, and on their own with every bug."""
    assert "repos/click  Hidden bugs of click 8.1.3" in takeover("tasks").output
    assert "repos/isort  Hidden bugs of isort 5.10.1: 11 canonical of 35" in takeover("repos", "list").output
    bugs = takeover("repos", "list", "repos/click").output.splitlines()
    assert len(bugs) == 37
    assert sum(line.startswith("* ") for line in bugs) == 13


def test_a_task_is_shown_in_its_selection() -> None:
    """Nothing is fetched for that."""
    shown = takeover("tasks", "repos/click", "--bugs", "all", "--hints", "areas", **NO_INDEX)
    assert "variant all,hints=areas" in shown.output
    assert "requirements 37" in shown.output
    assert "its own tests 576, in the image repos-click" in shown.output


def test_without_index_and_cache_there_is_one_line(tmp_path: Path) -> None:
    """Exit code 2, a hint, and nothing is written."""
    words = ("run", "repos/click", "--arm", "Vanilla", "--agent", "nop", "--runs", str(tmp_path / "runs"))
    told = takeover(*words, **NO_INDEX, TAKEOVER_CACHE=str(tmp_path / "cache"))
    assert told.exit_code == 2
    first, hint = told.output.strip().splitlines()
    assert first.startswith("takeover: click 8.1.3 is neither cached nor to be had from the package index")
    assert "click-8.1.3.tar.gz" in hint
    assert list(tmp_path.iterdir()) == []


def test_a_password_of_an_index_is_not_shown(tmp_path: Path) -> None:
    """Whatever went wrong there."""
    env = {**NO_INDEX, "PIP_INDEX_URL": "http://ida:secret@127.0.0.1:9/simple"}
    words = ("run", "repos/click", "--arm", "Vanilla", "--agent", "nop")
    told = takeover(*words, **env, TAKEOVER_CACHE=str(tmp_path / "cache"))
    assert told.exit_code == 2
    assert "127.0.0.1" in told.output
    assert "secret" not in told.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["run", "tier2_fintech", "--arm", "Vanilla", "--agent", "nop", "--bugs", "all"],
            "--bugs: tier2_fintech is no",
        ),
        (
            ["run", "repos/click", "--arm", "Vanilla", "--agent", "nop", "--variant", "7"],
            "--variant 7: repos/click has",
        ),
        (["run", "repos/click", "--arm", "Vanilla", "--agent", "nop", "--bugs", "x"], "--bugs: 'x' names no bug"),
        (["scaffold-sandbox", "--dest", "x"], "name the task: either --tier or --task"),
        (["scaffold-sandbox", "--tier", "2", "--task", "repos/click", "--dest", "x"], "either --tier or --task"),
        (["repos", "list", "tier2_fintech"], "no task on a codebase 'tier2_fintech'"),
    ],
)
def test_a_wrong_call_is_told(words: list[str], message: str) -> None:
    """With exit code 2."""
    told = takeover(*words)
    assert told.exit_code == 2
    assert message in told.output


def test_a_workspace_is_scaffolded(folder: Path, tmp_path: Path) -> None:
    """By --task, with its history and the arm, and the hinted prompt beside it."""
    words = ["--task", str(folder), "--arm", "State_MD_Only", "--hints", "areas", "--dest", str(tmp_path / "w")]
    assert takeover("scaffold-sandbox", *words).exit_code == 0
    log = subprocess.run(["git", "log", "--format=%s"], cwd=tmp_path / "w", capture_output=True, text=True, check=True)
    assert log.stdout.splitlines() == ["Add notes for coding agents", "Add it up", "Start"]
    assert "- adding up" in (tmp_path / "w.session-1.md").read_text()
    assert (tmp_path / "w" / "state.md").is_file()
