"""The memory that a runner takes for an agent that prints so many MiB; a process of its own: `python -m bench.memory 5`.

A peak is a high-water mark of its process, so each measurement needs a fresh one; and the kernel's own for the memory
of this program, for ru_maxrss begins with that of whoever started it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.images import resolve
from takeover.sandbox.limits import Limits

from .rows import Row

LITTLE, MUCH = 5, 2000


def memory_rows() -> Iterator[Row]:
    """How much more memory a session takes for an agent that prints 400 times as much."""
    before, after = _peak(LITTLE), _peak(MUCH)
    note = f"floor: after {LITTLE} MiB; each in a process of its own"
    yield Row(f"runner's peak memory after {MUCH:,} MiB of output", after, "MiB", before, 1.1, note=note)


def _peak(mebibytes: int) -> float:
    command = [sys.executable, "-m", __name__, str(mebibytes)]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    return float(told.stdout)


def main() -> None:
    """Print this process's peak in MiB once the agent has printed."""
    engine, seen = DockerEngine.from_env(run="bench-memory"), 0

    def look(_stream: int, data: bytes) -> None:
        nonlocal seen
        seen += len(data)

    limits = Limits()
    with engine.open(resolve("sandbox"), limits=limits) as box:
        script = f"head -c {sys.argv[1]}M /dev/zero"
        run = box.run(["sh", "-c", script], wall=300, output_limit=limits.output, on_output=look)
        assert run.ok
        assert seen >= min(limits.output, int(sys.argv[1]) << 20) // 2
    status = Path("/proc/self/status").read_text("ascii").splitlines()
    print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024)


if __name__ == "__main__":
    main()
