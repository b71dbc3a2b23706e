"""Grading one trial on a real codebase beside the release's own tests alone in a bare container."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from takeover.repos.load import load_repo_task
from takeover.repos.reference import load_reference, mended
from takeover.repos.task import RepoTask, Visible
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.images import resolve
from takeover.sandbox.store import SnapshotStore
from takeover.trials.grading import Cell, Grader

from .rows import Row, interleaved

TASK = "click"
TARGET = 4.0


def repo_rows(engine: DockerEngine, rounds: int) -> Iterator[Row]:
    """A workspace with every bug of the canonical set mended, graded whole."""
    task = load_repo_task(TASK)
    assert task.visible is not None
    files = mended(task.files, load_reference(task), task.requirements)
    archive, command = packed(files), bare(task.visible)
    with tempfile.TemporaryDirectory() as folder:
        store = SnapshotStore(Path(folder))
        start, left = store.put_files(dict(task.files)), store.put_files(files)
        grader = Grader(engine, store, {})

        def graded() -> None:
            verdict = grader.grade(Cell(task, "Vanilla", None, "bench"), start.manifest, left).retention
            assert verdict is not None
            assert verdict.net == len(task.requirements)

        def alone() -> None:
            subprocess.run(command, input=archive, check=True, stdout=subprocess.DEVNULL)

        ours, floor = interleaved([graded, alone], rounds)
    yield Row(name_of(task), ours, "s", floor, TARGET, note="floor: those tests alone in a bare container")


def name_of(task: RepoTask) -> str:
    """What the row is called."""
    passed = task.visible.passed if task.visible else 0
    return f"grading {task.id}: {len(task.requirements)} checks and {passed} tests of the release"


def bare(visible: Visible) -> list[str]:
    """`docker run` of the tests over a tar from standard input, and nothing else."""
    settings = " ".join(f"{name}={value}" for name, value in visible.environment.items())
    tests = f"env {settings} {visible.python} -m pytest -q -p no:cacheprovider {' '.join(visible.arguments)}"
    script = f"mkdir /tmp/w && cd /tmp/w && tar x && {tests}"
    return ["docker", "run", "--rm", "-i", "--network", "none", resolve(visible.image), "sh", "-c", script]


def packed(files: Mapping[str, bytes]) -> bytes:
    """The files as a plain tar."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for path, data in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return raw.getvalue()
