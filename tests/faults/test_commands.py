"""Tools that answer a wrong call with a stack of frames: here one or two lines say what is wrong and what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RUN = ("run", "tier2_fintech", "--arm", "Vanilla")
# What is typed -> exit code, and what must be named.
CALLS = {
    "nothing that is needed": (("run",), 2, "TASK"),
    "a command that is none": (("frobnicate",), 2, "frobnicate"),
    "a number out of range": ((*RUN, "--agent", "nop", "--parallel", "0"), 2, "--parallel"),
    "a folder that is a file": ((*RUN, "--agent", "nop", "--runs", "file"), 2, "file"),
    "a folder that cannot be written": ((*RUN, "--agent", "nop", "--runs", "/proc/x"), 3, "/proc/x"),
    "a name beyond all names": ((*RUN, "--agent", "a" * 300), 2, "shorter"),
    "a rule that needs the gateway": ((*RUN, "--agent", "nop", "--cutoff", "tokens:5"), 2, "tokens:5"),
    "the root as a folder to make": (("scaffold-sandbox", "--tier", "2", "--dest", "/"), 2, "--dest"),
    "a folder that holds something": (("scaffold-sandbox", "--tier", "2", "--dest", "."), 2, "not empty"),
    "a key that cannot be made": ((*RUN, "--agent", "nop"), 3, "/proc/nokey"),
}


@pytest.mark.docker
@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_call_is_told_in_two_lines(tmp_path: Path, engine: object, call: str) -> None:
    """No traceback, the place, and an exit code that says whose fault it is."""
    arguments, code, named = CALLS[call]
    (tmp_path / "file").touch()
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TAKEOVER_SIGNING_KEY": str(tmp_path / "key")}
    if "key" in call:
        env["TAKEOVER_SIGNING_KEY"] = "/proc/nokey"
    command = [sys.executable, "-m", "takeover", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == code, done.stderr
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2, done.stderr
    assert done.stdout == ""


def test_a_reader_that_goes_away_is_no_success() -> None:
    """`takeover ... | head` may end early; the exit code then does not say that every gate held."""
    code = f"set -o pipefail; {sys.executable} -m takeover tasks | true"
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "Traceback" not in done.stderr
