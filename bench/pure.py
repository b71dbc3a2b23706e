"""What needs no container."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from takeover.grader.statistics import paired_cluster_bootstrap

from .rows import Row, interleaved


def help_row(rounds: int) -> Row:
    """`takeover --help` as a whole process."""
    command = [str(Path(sys.executable).with_name("takeover")), "--help"]
    (seconds,) = interleaved([lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)], rounds)
    return Row("takeover --help", seconds, "s", target=0.25, judged="value")


def statistics_rows() -> Iterator[Row]:
    """A paired cluster bootstrap over 739 tasks in 17 families."""
    rng = np.random.default_rng(1)
    start = time.perf_counter()
    paired_cluster_bootstrap(
        rng.random(739).tolist(), rng.random(739).tolist(), [str(n % 17) for n in range(739)], resamples=20_000
    )
    yield Row("bootstrap: 739 tasks, 20,000 resamples", time.perf_counter() - start, "s", target=0.5, judged="value")
