"""docs/repos.md makes a task from nothing: the page's own file and commands, run as they stand."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from takeover.cli import main
from takeover.sandbox.engine import DockerEngine

pytestmark = pytest.mark.docker

PAGE = Path(__file__).resolve().parents[2] / "docs" / "repos.md"


@pytest.fixture
def place(tmp_path: Path, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's two releases and its probes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAKEOVER_SIGNING_KEY", str(tmp_path / "signing.key"))
    (made,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    subprocess.run(["sh", "-euc", made], cwd=tmp_path, check=True)
    (probes,) = re.findall(r"```yaml\n# probes\.yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "probes.yaml").write_text(probes)
    return tmp_path


def commands() -> tuple[list[str], list[str]]:
    """The command that adds the task of the page, and the one that runs it."""
    lines = re.findall(r"^takeover (.*tally.*)$", PAGE.read_text(), re.MULTILINE)
    return shlex.split(lines[0]), shlex.split(lines[1].replace("my-agent", "nop"))


def takeover(*words: str) -> Result:
    """The command line, in this process."""
    return CliRunner().invoke(main, list(words))


def test_the_page_makes_a_task_and_runs_it(place: Path) -> None:
    """Added, listed, run, graded again; a run of it names its folder for that."""
    add, run = commands()
    made = takeover(*add)
    assert made.exit_code == 0, made.output
    assert "tasks/tally: 1 bug, seen in each of 5 runs at base" in made.output
    assert "total-first" in takeover("repos", "list", "tasks/tally").output
    ran = takeover(*run, "--runs", "runs", "--run-id", "one")
    assert ran.exit_code == 0, ran.output
    assert "0/1" in ran.output
    assert "tally.Vanilla.nop.1: same" in takeover("grade", "runs/one", "--task-folder", "tasks/tally").output
    assert takeover("grade", "runs/one").exit_code == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("expected: 3", "expected: 2", "total-first: does not fail at base: it gives what is expected, 2"),
        ("expected: 3", "expected: 4", "total-first: does not pass at the fixed release: 3, expected 4"),
        ("result = total([1, 2])", "import os; result = os.urandom(9).hex()", "total-first: not deterministic at base"),
        ("result = total([1, 2])", "raise SystemExit", "total-first: gives no value at base"),
    ],
)
def test_a_probe_that_does_not_hold_is_refused(place: Path, old: str, new: str, message: str) -> None:
    """By name and reason, in one line, with exit code 2, and nothing is written."""
    probes = place / "probes.yaml"
    probes.write_text(probes.read_text().replace(old, new))
    made = takeover(*commands()[0])
    assert made.exit_code == 2
    assert message in made.output
    assert not (place / "tasks").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x", "--version", "1", "--probes", "probes.yaml"], "name the release once"),
        (["x", "--folder", "tally-1.0", "--git", "y", "--version", "1", "--probes", "probes.yaml"], "name the release once"),
        (["x", "--folder", "tally-1.0", "--revision", "y", "--version", "1", "--probes", "probes.yaml"], "--revision: goes"),
        (["../x", "--folder", "tally-1.0", "--version", "1", "--probes", "probes.yaml"], "cannot be the name of a task"),
        (["click", "--folder", "tally-1.0", "--version", "1", "--probes", "probes.yaml"], "cannot be the name of a task"),
        (["x", "--folder", "tally-1.0", "--version", "../1", "--probes", "probes.yaml"], "cannot be a version"),
        (["x", "--folder", "nothing", "--version", "1", "--probes", "probes.yaml"], "nothing: not a directory"),
        (["x", "--folder", "tally-1.0", "--version", "1", "--probes", "no.yaml"], "no.yaml: no such file"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_told_in_two_lines(place: Path, words: list[str], message: str) -> None:
    """With exit code 2."""
    made = takeover("repos", "add", *words)
    assert made.exit_code == 2
    assert message in made.output
    assert len(made.output.strip().splitlines()) <= 2
