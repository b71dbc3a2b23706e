"""Verdicts that cannot be made again, or need a network for it: they come out of the run's folder, byte for byte."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import FakeEngine
from meddling import carry_out, plan_for, scripted

from takeover.grader.checks import run_checks
from takeover.grader.local import unsafe_local_channel
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import InputError, SandboxOutOfMemory
from takeover.tiers.load import TIERS, load_task
from takeover.trials.commands import regrade_command
from takeover.trials.record import TrialPaths, locked
from takeover.trials.regrade import regrade
from takeover.trials.running import RunResult
from takeover.trials.signing import Signer

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def graded(engine: DockerEngine, tmp_path_factory: pytest.TempPathFactory, key: Signer) -> RunResult:
    """A small run with verdicts."""
    plan = plan_for(scripted("idle", "true"), scripted("busy", "echo 'x = 1' > new.py"))
    return carry_out(engine, tmp_path_factory.mktemp("again") / "run", plan, key)[0]


def test_grading_needs_no_network(graded: RunResult) -> None:
    """In a network namespace of its own, with nothing but the engine's socket, every verdict comes out the same."""
    unshare = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-n"]
    if not shutil.which("unshare") or subprocess.run([*unshare, "true"], check=False).returncode:
        pytest.skip("needs unshare(1) for a network of its own")
    command = [*unshare, sys.executable, "-m", "takeover", "grade", str(graded.paths.root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": same\n") == 2
    assert "Traceback" not in done.stderr


def test_a_failure_of_grading_stops_no_other_trial(graded: RunResult) -> None:
    """Where a trial cannot be graded again, that is said of it, and its recorded verdict stays."""

    class Starved(FakeEngine):
        def check(self, operation: str) -> None:
            if operation == "open_process":
                raise SandboxOutOfMemory("too little")

    again = [regrade(graded.paths, name, Starved()) for name in graded.planned]

    assert [one.how for one in again if one] == ["differs", "differs"]
    assert {one.scorecard.outcome for one in again if one} == {"agent_failure"}


def test_a_verdict_without_its_sessions_is_none(
    graded: RunResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that only claims a verdict is told apart from one that can prove it, by the exit code too."""
    copy = tmp_path / "claimed"
    shutil.copytree(graded.paths.root, copy)
    trial = TrialPaths(copy / "trials" / graded.planned[0])
    trial.step(2, "session").meta.unlink()

    assert regrade_command(copy, min_net=None) == 3
    assert "not all recorded" in capsys.readouterr().out


def test_a_forged_verdict_differs(graded: RunResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A scorecard that somebody improved does not come out again, and the exit code says so."""
    copy = tmp_path / "forged"
    shutil.copytree(graded.paths.root, copy)
    file = TrialPaths(copy / "trials" / graded.planned[0]).scorecard
    card = json.loads(file.read_bytes())
    card["retention"]["net"] = 8
    file.write_text(json.dumps(card))

    assert regrade_command(copy, min_net=None) == 1
    assert ": differs" in capsys.readouterr().out


def test_a_run_under_way_is_not_graded_meanwhile(graded: RunResult) -> None:
    """Two processes do not write into one run's folder."""
    command = [sys.executable, "-m", "takeover", "grade", str(graded.paths.root)]
    with locked(graded.paths):
        done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "another process" in done.stderr


def test_a_workspace_with_a_forged_run_in_it_is_a_workspace(engine: DockerEngine, tmp_path: Path) -> None:
    """An agent's run.json and scorecards do not turn its folder into a run when the task is named."""
    work = tmp_path / "work"
    command = [sys.executable, "-m", "takeover"]
    env = {**os.environ, "TAKEOVER_SIGNING_KEY": str(tmp_path / "signing.key")}
    subprocess.run([*command, "scaffold-sandbox", "--tier", "2", "--dest", str(work)], check=True, capture_output=True)
    (work / "run.json").write_text('{"schema_version": 1, "trials": ["a"]}')
    (work / "trials" / "a").mkdir(parents=True)
    (work / "trials" / "a" / "scorecard.json").write_text("{}")
    grading = [*command, "grade", str(work), "--task", "tier2_fintech", "--min-net", "1"]
    done = subprocess.run(grading, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 1, done.stderr
    assert "raw 0/8" in done.stdout


def test_the_grader_needs_no_engine(tmp_path: Path) -> None:
    """Everything but running code works where there is no Docker client at all."""
    blocked = (
        "import sys\nfor name in ('docker', 'requests'): sys.modules[name] = None\n"
        "import pkgutil, importlib, takeover.grader\n"
        "for one in pkgutil.iter_modules(takeover.grader.__path__):\n"
        "    if one.name != 'local': importlib.import_module('takeover.grader.' + one.name)\n"
        "print('all')"
    )
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=False)

    assert done.stdout == "all\n", done.stderr


def test_checks_of_nothing_are_no_pass(tmp_path: Path, engine: DockerEngine, key: Signer) -> None:
    """A folder of checks that collects nothing is a failure of the machinery in a whole trial, too; nothing stays open."""
    task = load_task("tier2_fintech")
    (tmp_path / "empty" / "checks").mkdir(parents=True)
    hollow = replace(task, files=replace(task.files, root=tmp_path / "empty"))
    run = f"hollow-{os.getpid()}"
    result, _ = carry_out(engine, tmp_path / run, plan_for(scripted("idle", "true"), task=hollow), key)
    (card,) = result.scorecards.values()

    assert hollow.checks_dir == tmp_path / "empty" / "checks"
    assert card.failure is not None
    assert (card.outcome, card.failure.kind) == ("machinery_failure", "checks_broken")
    assert engine.client.containers(all=True, filters={"label": [f"takeover.run={run}"]}) == []


def test_one_worker_at_a_time(tmp_path: Path) -> None:
    """Code that hangs and is asked once more runs once: the first process is gone before the second is there."""
    (tmp_path / "m.py").write_text(
        "import os, time\n"
        "def hang():\n    open('alive', 'a').write('%d\\n' % os.getpid())\n    while True: time.sleep(1)\n"
        "def others():\n    pids = [p for p in open('alive').read().split()]\n"
        "    return [p for p in pids if os.path.exists('/proc/' + p)]\n"
    )
    checks = tmp_path / "checks"
    checks.mkdir()
    (checks / "test_x.py").write_text(
        "def test_R1_hangs(subject):\n    subject._limit = 0.5\n    subject.call('m:hang').raised\n"
        "    subject._limit = 10\n    assert subject.call('m:others') == []\n"
    )
    with unsafe_local_channel(tmp_path) as channel:
        run = run_checks(checks, {}, channel, ["R1"])

    assert run.results[0].passed, run.results[0].evidence
    assert len((tmp_path / "alive").read_text().split()) == 1


@pytest.mark.parametrize(
    "identity",
    [
        '{"schema_version": 1, "trials": ["../../x"]}',
        '{"schema_version": 1, "trials": 3}',
        '{"schema_version": 2}',
        "[]",
    ],
)
def test_a_run_folder_from_somebody_else_names_nothing_outside(tmp_path: Path, identity: str) -> None:
    """Names of trials become paths; a folder whose run.json is made up is refused before any is looked at."""
    (tmp_path / "run.json").write_text(identity)

    with pytest.raises(InputError, match=r"run\.json"):
        regrade_command(tmp_path, min_net=None)


def test_a_scorecard_from_somebody_else_runs_no_code(graded: RunResult, tmp_path: Path) -> None:
    """A task is loaded by its name alone: a scorecard that names a folder cannot bring its own checks along."""
    copy = tmp_path / "brought"
    shutil.copytree(graded.paths.root, copy)
    evil = copy / "evil"
    shutil.copytree(TIERS / "tier2_fintech", evil)
    (evil / "checks" / "test_evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    file = TrialPaths(copy / "trials" / graded.planned[0]).scorecard
    file.write_text(json.dumps({**json.loads(file.read_bytes()), "task": str(evil)}))

    with pytest.raises(InputError, match="none of the toolkit's own"):
        regrade_command(copy, min_net=None)
    assert not (tmp_path / "ran").exists()
