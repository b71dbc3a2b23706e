"""The command line as people start it, as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def takeover(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    """The command line as a process of its own, in a folder."""
    env = {**os.environ, "TAKEOVER_SIGNING_KEY": str(folder / "signing.key")}
    return subprocess.Popen(
        [sys.executable, "-m", "takeover", *arguments],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str], seconds: float = 300) -> tuple[int, str]:
    """The exit code, and what was said on standard error."""
    _, told = process.communicate(timeout=seconds)
    return process.returncode, told


def until(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Waits for a condition to hold."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False
