"""Asking child processes about bytes that came out of a sandbox, so that what breaks a parser breaks a child.

Questions and answers travel in unnamed files, not pipes: nobody can wait for nobody, and the size of the
answers is a limit of the kernel's. Answers are JSON lines, never pickles; the caller validates them.
"""

from __future__ import annotations

import functools
import marshal
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .errors import MachineryError

_PROGRAM = Path(__file__).with_name("child.py")


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """CPU seconds for a question, bytes of memory and of answers for a child, deaths before the rest is given up."""

    cpu_seconds: float = 10.0
    memory: int = 2 << 30
    output: int = 256 << 20
    deaths: int = 8


@dataclass(frozen=True, slots=True)
class Died:
    """In place of an answer: why there is none, in words."""

    reason: str


def ask(
    task: Path, questions: Sequence[bytes], *, workers: int | None = None, limits: ChildLimits | None = None
) -> list[bytes | Died]:
    """The answer (one JSON line) of the program at `task` to each question, in the order of the questions."""
    limits = limits or ChildLimits()
    answers: list[bytes | Died] = [Died("not asked")] * len(questions)
    shares = _shares(questions, workers or len(os.sched_getaffinity(0)))

    def work(share: list[int]) -> None:
        deaths = 0
        while share:
            lines, reason = _run(task, [questions[i] for i in share], limits)
            for index, line in zip(share, lines, strict=False):
                answers[index] = line
            share = share[len(lines) :]
            if share:
                deaths += 1
                answers[share[0]] = Died(reason)
                share = share[1:]
            if deaths >= limits.deaths:
                for index in share:
                    answers[index] = Died(f"not tried: {deaths} others had killed the process before")
                return

    if len(shares) <= 1:
        for share in shares:
            work(share)
    else:
        with ThreadPoolExecutor(len(shares)) as pool:
            list(pool.map(work, shares))
    return answers


def _shares(questions: Sequence[bytes], workers: int) -> list[list[int]]:
    """Indexes for each worker, balanced by size; few bytes are not worth a second process."""
    total = sum(map(len, questions))
    count = max(1, min(workers, len(questions), 1 + total // 200_000))
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [0] * count
    for index in sorted(range(len(questions)), key=lambda i: -len(questions[i])):
        lightest = loads.index(min(loads))
        shares[lightest].append(index)
        loads[lightest] += len(questions[index]) + 500
    return [share for share in shares if share]


def _run(task: Path, questions: Sequence[bytes], limits: ChildLimits) -> tuple[list[bytes], str]:
    """As many answers as one child gives, and what ended it."""
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as answered:
        code = _compiled(task)
        asked.write(b"%f %d %d %d\n%b" % (limits.cpu_seconds, limits.memory, limits.output, len(code), code))
        for question in questions:
            asked.write(b"%d\n" % len(question))
            asked.write(question)
        asked.seek(0)
        command = [sys.executable, "-I", "-S", "-B", "-W", "ignore", str(_PROGRAM), str(task)]
        with subprocess.Popen(
            command, stdin=asked, stdout=answered, stderr=subprocess.DEVNULL, env={}, cwd="/"
        ) as process:
            try:
                process.wait(timeout=60 + 2 * limits.cpu_seconds + sum(map(len, questions)) / 20_000)
            except subprocess.TimeoutExpired:
                process.kill()
        answered.seek(0)
        ready, *lines = answered.read(limits.output + 1).split(b"\n")
    if ready != b"ready":
        raise MachineryError(f"a child process did not start: {' '.join(command)} ended with {process.returncode}")
    return lines[:-1][: len(questions)], _cause(process.returncode, limits)


@functools.cache
def _compiled(task: Path) -> bytes:
    """A task's code for a child, which has the same Python: compiling takes as long as half of its start."""
    try:
        return marshal.dumps(compile(task.read_bytes(), str(task), "exec", dont_inherit=True))
    except (OSError, SyntaxError, ValueError) as error:
        raise MachineryError(f"a child process did not start: {task}: {error}") from error


def _cause(code: int, limits: ChildLimits) -> str:
    if code == -signal.SIGPROF:
        return f"took more than {limits.cpu_seconds:g} s of CPU"
    if code < 0:
        return f"killed the process ({signal.Signals(-code).name})"
    return f"broke the process (exit code {code})"
