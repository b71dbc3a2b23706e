"""`docker compose run --rm grade`, for real: the engine's socket is mounted, there is no terminal."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.docker, pytest.mark.slow]


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout


def objects() -> dict[str, set[str]]:
    """What Compose could leave behind; our own sandboxes belong to tests that may run beside this one."""
    return {
        "networks": set(docker("network", "ls", "--quiet").split()),
        "volumes": set(docker("volume", "ls", "--quiet").split()),
        "containers": set(docker("ps", "--all", "--quiet", "--filter", "label=com.docker.compose.project").split()),
    }


@pytest.fixture(scope="module")
def compose(image: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder for Compose, so that `./runs` is not the developer's own; the image is up to date."""
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        reason = "the Compose plugin is not installed"
        if os.environ.get("TAKEOVER_REQUIRE_COMPOSE") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    done = subprocess.run([ROOT / "images/build.sh", "grade"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    project = tmp_path_factory.mktemp("compose")
    (project / "runs").mkdir()
    return project


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs `docker compose run --rm grade WORDS` as the README says, but in a folder of its own."""
    return subprocess.run(
        [
            "docker",
            "compose",
            "-f",
            ROOT / "compose.yaml",
            "--project-directory",
            project,
            "run",
            "--rm",
            "grade",
            *words,
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_it_takes_the_same_arguments_and_hands_on_the_exit_code(compose: Path) -> None:
    """Arguments after the service are takeover's; a usage error is 2 here too."""
    good, bad = run(compose, "--version"), run(compose, "run", "tier2_fintech", "--nonsense")
    assert (good.returncode, good.stdout.split()[0]) == (0, "takeover,")
    assert bad.returncode == 2
    assert "--nonsense" in bad.stderr


def test_a_trial_is_graded_and_nothing_is_left(compose: Path) -> None:
    """A handoff runs in sandboxes beside the trusted container; a gate that falls short is exit code 1."""
    before = objects()
    if os.getuid() == 0:
        os.chown(compose / "runs", 1000, 1000)
        compose.chmod(0o755)
    done = run(
        compose, "run", "tier2_fintech", "--arm", "Vanilla", "--arm", "State_MD_Only",
        "--agent", "note-taker", "--run-id", "compose", "--min-net", "8",
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    cards = [json.loads(path.read_bytes()) for path in (compose / "runs/compose").rglob("scorecard.json")]
    net = {card["arm"]: card["retention"]["net"] for card in cards}
    assert net["State_MD_Only"] == 8
    assert net["Vanilla"] < 8
    owners = {path.stat().st_uid for path in (compose / "runs").rglob("*")}
    assert owners == {(compose / "runs").stat().st_uid}
    assert objects() == before
