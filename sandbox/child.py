"""The program that `children.py` starts: answers questions about hostile bytes, one line for each, under limits.

Run as `python -I -S -B child.py TASK.py`, never imported. TASK.py defines `answer(data: bytes)`, which gives
something JSON can hold. Standard input: one line `cpu_seconds memory output code` (seconds for each question, bytes,
bytes, bytes), TASK.py as our own parent has compiled it, in so many bytes, then per question one line with its length
and as many bytes. Standard output: `ready`, then a line each.
It may die at any question: the parent sees by the last line which one it was.
"""

from __future__ import annotations

import gc
import json
import marshal
import resource
import signal
import sys
from types import ModuleType


def main() -> None:
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    cpu_seconds, memory, output, code = questions.readline().split()
    for what, limit in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, int(memory)),
        (resource.RLIMIT_FSIZE, int(output)),
    ):
        resource.setrlimit(what, (limit, limit))
    task = ModuleType("task")
    task.__file__ = sys.argv[1]
    sys.modules["task"] = task
    exec(marshal.loads(questions.read(int(code))), vars(task))  # noqa: S102, S302  # our own code, from our parent
    # Syntax trees have no circles: without the collector they are built a fifth faster and freed all the same.
    gc.disable()
    answers.write(b"ready\n")
    answers.flush()
    while line := questions.readline():
        data = questions.read(int(line))
        # The default action of SIGPROF is death, which also ends C code that never returns to the interpreter.
        signal.setitimer(signal.ITIMER_PROF, float(cpu_seconds))
        answer = json.dumps(task.answer(data)).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(answer + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
