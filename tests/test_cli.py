"""The command line: what a person types, what comes back, and with which exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from takeover.cli import main
from takeover.grader.scorecard import parse_scorecard
from takeover.sandbox.engine import DockerEngine
from takeover.trials.start import starting_snapshot

ONE = ("run", "tier2_fintech", "--arm", "Vanilla", "--agent", "nop")


@pytest.fixture(name="cli")
def _cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAKEOVER_SIGNING_KEY", str(tmp_path / "signing.key"))

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    return invoke


# What was typed -> exit code and what the one or two lines on standard error must name.
WRONG = {
    "unknown task": (("run", "nope", "--arm", "Vanilla", "--agent", "nop"), 2, ["'nope'", "tier2_fintech"]),
    "unknown arm": (("run", "tier2_fintech", "--arm", "Nope", "--agent", "nop"), 2, ["'Nope'", "State_MD_Only"]),
    "unknown cutoff": ((*ONE, "--cutoff", "later"), 2, ["'later'", "first-edit", "edits:N"]),
    "cutoff without its number": ((*ONE, "--cutoff", "edits"), 2, ["edits:N"]),
    "agent that is no reference": (("run", "tier2_fintech", "--arm", "Vanilla", "--agent", "a b"), 2, ["'a b'"]),
    "run id that is a path": ((*ONE, "--run-id", "../x"), 2, ["--run-id"]),
    "resume of nothing named": ((*ONE, "--resume"), 2, ["--run-id"]),
    "no arm": (("run", "tier2_fintech", "--agent", "nop"), 2, ["--arm"]),
    "folder that is no run": (("grade", "."), 2, ["run.json", "--task"]),
    "unknown tier": (("scaffold-sandbox", "--tier", "9", "--dest", "x"), 2, ["9"]),
    "unknown check": (("doctor", "--list", "nope"), 2, ["'nope'"]),
    "arm folder without an arm": ((*ONE, "--arm-file", "."), 2, ["arm.yaml"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_is_told_in_a_line_or_two(cli: object, case: str) -> None:
    """What is wrong, where, and what to do; exit code 2; no traceback and nothing written."""
    arguments, code, named = WRONG[case]

    result = cli(*arguments)  # type: ignore[operator]

    assert result.exit_code == code, result.output
    assert all(name in result.stderr for name in named), result.stderr
    assert "Traceback" not in result.output
    assert not Path("runs").exists() or not any(Path("runs").rglob("scorecard.json"))


def test_a_missing_engine_is_a_failure_of_the_machinery(tmp_path: Path) -> None:
    """Without an engine: exit code 3 and what to do."""
    env = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"}

    result = subprocess.run(
        [sys.executable, "-m", "takeover", *ONE], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )

    assert result.returncode == 3
    assert "nobody.sock" in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) <= 3


@pytest.mark.docker
def test_an_unknown_image_is_a_failure_of_the_machinery(engine: DockerEngine, cli: object) -> None:
    """An agent image that the engine does not have is named before anything is run."""
    result = cli("run", "tier2_fintech", "--arm", "Vanilla", "--agent", "nowhere/agent:1")  # type: ignore[operator]

    assert result.exit_code == 3
    assert "nowhere/agent:1" in result.stderr


def test_every_command_explains_itself(cli: object) -> None:
    """Each command has a help text of its own."""
    assert isinstance(main, click.Group)
    for name, command in main.commands.items():
        result = cli(name, "--help")  # type: ignore[operator]
        assert result.exit_code == 0
        assert command.help
        assert "Traceback" not in result.output


def test_help_needs_nothing_heavy() -> None:
    """`takeover --help` loads no engine, no models and no pytest."""
    code = "import sys, takeover.cli; print([m for m in ('docker', 'pydantic', 'git', 'pytest', 'rich', 'numpy') if m in sys.modules])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.docker
@pytest.mark.slow
def test_a_run_from_the_command_line(engine: DockerEngine, cli: object) -> None:
    """A table, the path of each scorecard, every file of the run's folder; a gate that falls short gives 1."""
    result = cli(*ONE, "--agent", "oracle", "--run-id", "r1", "--tokens", "800000", "--min-net", "1")  # type: ignore[operator]

    assert result.exit_code == 1, result.output
    assert "nop" in result.stdout
    assert "8/8" in result.stdout
    run = Path("runs/r1")
    assert {path.name for path in run.iterdir()} >= {
        "run.json", "summary.json", "summary.md", "report.html", "junit.xml", "results.sarif", "signing.pub", "snapshots", "trials",
    }  # fmt: skip
    totals = json.loads((run / "summary.json").read_text())["totals"]
    counted = ("graded", "agent_failures", "machinery_failures", "pending")
    assert sum(totals[name] for name in counted) == totals["planned"] == 2
    card = parse_scorecard((run / "trials/tier2_fintech.Vanilla.oracle.1/scorecard.json").read_bytes())
    assert card.retention is not None
    assert (card.tokens.provenance, card.retention.tes) == ("declared", 4.0)

    again = cli("grade", "runs/r1")  # type: ignore[operator]
    assert again.exit_code == 0
    assert again.stdout.count(": same") == 2


@pytest.mark.docker
@pytest.mark.slow
def test_a_scaffolded_folder_is_graded_under_the_old_names(engine: DockerEngine, cli: object, tmp_path: Path) -> None:
    """scaffold-sandbox, somebody's own agent, evaluate-sandbox: the folder is taken in as hostile."""
    made = cli("scaffold-sandbox", "--tier", "2", "--arm", "State_MD_Only", "--dest", "ws")  # type: ignore[operator]
    assert made.exit_code == 0, made.output
    workspace = tmp_path / "ws"
    (workspace / "ledger" / "link.py").symlink_to("/etc/passwd")
    os.mkfifo(workspace / "ledger" / "pipe.py")
    (workspace / "tests" / "test_ledger.py").write_text("")

    result = cli(  # type: ignore[operator]
        "evaluate-sandbox",
        "--tier",
        "2",
        "--arm",
        "State_MD_Only",
        "--sandbox",
        "ws",
        "--tokens",
        "5",
        "--json-out",
        "card.json",
    )

    assert result.exit_code == 0, result.output
    card = parse_scorecard(Path("card.json").read_bytes())
    assert card.retention is not None
    assert [edit.path for edit in card.retention.protected_edited] == ["tests/test_ledger.py"]
    assert card.retention.net == 0
    assert Path("card.json.sig").is_file()
    assert cli("scaffold-sandbox", "--tier", "2", "--dest", "ws").exit_code == 2  # type: ignore[operator]


def test_two_starts_give_the_same_bytes(tmp_path: Path) -> None:
    """The starting workspace of a task, variant and arm is the same snapshot for everybody."""
    from takeover.sandbox.store import SnapshotStore
    from takeover.tiers.arms import load_arm
    from takeover.tiers.load import load_task

    names = set()
    for place in ("a", "b"):
        task = load_task("tier2_fintech", "seven")
        names.add(starting_snapshot(task, load_arm("Vanilla", task), SnapshotStore(tmp_path / place)).sha256)
    assert len(names) == 1
