"""A run that is interrupted or killed leaves nothing behind and loses nothing."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from commandline import finished, takeover, until

from takeover.sandbox.engine import DockerEngine
from takeover.trials.record import RunPaths
from takeover.trials.regrade import recorded_run

pytestmark = [pytest.mark.docker, pytest.mark.slow]

SLEEPY = "takeover-test-sleepy:latest"


@pytest.fixture(scope="module")
def sleepy(engine: DockerEngine, image: str) -> Iterator[str]:
    """An agent image whose agent works for ever."""
    recipe = io.BytesIO(f'FROM {image}\nCMD ["sh", "-c", "echo at work; sleep 600"]\n'.encode())
    for _ in engine.client.build(fileobj=recipe, tag=SLEEPY, rm=True, decode=True):
        pass
    yield SLEEPY
    engine.client.remove_image(SLEEPY, force=True)


def containers(engine: DockerEngine, run: str) -> list[str]:
    found = engine.client.containers(all=True, filters={"label": [f"takeover.run={run}"]})
    return [container["Id"] for container in found]


def at_work(folder: Path, run: str) -> bool:
    logs = list((folder / "runs" / run / "trials").glob("*/1-session/output.log"))
    return bool(logs) and all("at work" in log.read_text() for log in logs)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
def test_nothing_is_left_of_an_interrupted_run(
    engine: DockerEngine, sleepy: str, tmp_path: Path, number: signal.Signals
) -> None:
    """Whatever ends the command in mid-session, its containers are gone at once and what it had recorded is kept."""
    run = f"interrupted-{number.name.lower()}-{os.getpid()}"
    options = ["--agent", sleepy, "--arm", "Vanilla", "--run-id", run]
    process = takeover("run", "tier2_fintech", *options, folder=tmp_path)
    try:
        assert until(lambda: at_work(tmp_path, run) or process.poll() is not None)
        assert containers(engine, run)

        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()

    assert until(lambda: not containers(engine, run), 15)
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130
        assert "--resume" in told
        assert "Traceback" not in told
    paths = RunPaths(tmp_path / "runs" / run)
    assert json.loads(paths.identity.read_bytes())["schema_version"] == 1
    assert "at work" in next(paths.trials.glob("*/1-session/output.log")).read_text()
    assert recorded_run(paths).pending == recorded_run(paths).planned


def test_a_killed_run_is_gone_on_with(engine: DockerEngine, tmp_path: Path) -> None:
    """After SIGKILL in the middle, resuming twice keeps what was recorded, finishes the rest and overwrites nothing."""
    run = f"killed-{os.getpid()}"
    options = [
        *("--agent", "nop", "--agent", "first-only", "--agent", "liar"),
        *("--arm", "Vanilla", "--arm", "State_MD_Only", "--parallel", "1", "--run-id", run),
    ]
    process = takeover("run", "tier2_fintech", *options, folder=tmp_path)
    paths = RunPaths(tmp_path / "runs" / run)
    recorded = lambda: sorted(paths.trials.glob("*/scorecard.json"))
    assert until(lambda: len(recorded()) >= 2, 120)
    process.kill()
    process.communicate()
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in recorded()}

    assert finished(takeover("run", "tier2_fintech", *options, folder=tmp_path))[0] == 2
    for _ in range(2):
        code, told = finished(takeover("run", "tier2_fintech", *options, "--resume", folder=tmp_path))
        assert code == 0, told

    result = recorded_run(paths)
    assert result.pending == ()
    assert len(result.scorecards) == 6
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in before} == before
    assert not containers(engine, run)


def test_a_changed_identity_is_refused(engine: DockerEngine, tmp_path: Path) -> None:
    """A run frozen with one setting is not gone on with under another."""
    run = f"identity-{os.getpid()}"
    options = ["--agent", "nop", "--arm", "Vanilla", "--run-id", run]
    assert finished(takeover("run", "tier2_fintech", *options, folder=tmp_path))[0] == 0

    code, told = finished(takeover("run", "tier2_fintech", *options, "--wall", "77", "--resume", folder=tmp_path))

    assert code == 2
    assert "settings" in told
    assert "--run-id" in told
