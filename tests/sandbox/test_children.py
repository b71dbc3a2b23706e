"""Child processes that answer about hostile bytes: they die alone, and what they took with them is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from takeover.sandbox.children import ChildLimits, Died, ask
from takeover.sandbox.errors import MachineryError

# A task that does what each question says.
TASK = """
import os, resource, signal, time
def answer(data):
    what = data.decode()
    if what == "crash": os.kill(os.getpid(), signal.SIGSEGV)
    if what == "exit": os._exit(3)
    if what == "raise": raise RuntimeError
    if what == "spin":
        while True: pass
    if what == "eat": return len(bytearray(1 << 40))
    if what == "talk": os.write(1, b"x" * (1 << 22))
    if what == "shout": os.write(1, b'{"forged": 1}\\n' * 50)
    if what == "limits": return [resource.getrlimit(x)[0] for x in (resource.RLIMIT_CORE, resource.RLIMIT_AS)]
    if what == "where": return [os.getcwd(), dict(os.environ).get("SECRET"), len(os.listdir("/proc/self/fd"))]
    return what.upper()
"""


@pytest.fixture(name="task")
def _task(tmp_path: Path) -> Path:
    path = tmp_path / "task.py"
    path.write_text(TASK)
    return path


def plain(answers: list[bytes | Died]) -> list[object]:
    return [answer.reason if isinstance(answer, Died) else json.loads(answer) for answer in answers]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_answers_come_in_the_order_of_the_questions(workers: int, task: Path) -> None:
    """Whoever answers, each question has its own answer."""
    questions = [f"{n} {'x' * (n * 7919 % 50_000)}".encode() for n in range(60)]

    assert plain(ask(task, questions, workers=workers)) == [question.decode().upper() for question in questions]


def test_no_questions(task: Path) -> None:
    """Nothing asked is nothing answered, and no process started."""
    assert ask(Path("/nonexistent"), []) == []
    assert plain(ask(task, [b""])) == [""]


DEATHS = {
    "crash": "killed the process (SIGSEGV)",
    "exit": "broke the process (exit code 3)",
    "raise": "broke the process (exit code 1)",
    "spin": "took more than 0.2 s of CPU",
    "eat": "broke the process (exit code 1)",
    "talk": "broke the process",
}


@pytest.mark.parametrize(("question", "reason"), DEATHS.items(), ids=DEATHS)
def test_a_death_costs_one_answer(question: str, reason: str, task: Path) -> None:
    """The question that killed the child has the cause for an answer; those before and after are answered."""
    limits = ChildLimits(cpu_seconds=0.2, output=1 << 20)

    before, died, after = plain(ask(task, [b"before", question.encode(), b"z"], workers=1, limits=limits))

    assert (before, after) == ("BEFORE", "Z")
    assert isinstance(died, str)
    assert reason in died


def test_too_many_deaths_end_it(task: Path) -> None:
    """A tree of nothing but killers costs a bounded number of processes; what was not tried is said so."""
    answers = plain(ask(task, [b"crash"] * 50, workers=1, limits=ChildLimits(deaths=3)))

    assert answers[:3] == ["killed the process (SIGSEGV)"] * 3
    assert answers[3:] == ["not tried: 3 others had killed the process before"] * 47


def test_a_child_cannot_answer_for_more_than_it_was_asked(task: Path) -> None:
    """Forged extra lines are cut off where the questions end."""
    assert len(ask(task, [b"shout", b"b"], workers=1)) == 2


def test_a_child_has_little(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No environment, no core file, bounded memory, no descriptor but its own."""
    monkeypatch.setenv("SECRET", "x")

    limits, where = plain(ask(task, [b"limits", b"where"], limits=ChildLimits(memory=1 << 30)))

    assert limits == [0, 1 << 30]
    assert where == ["/", None, 4]


def test_a_task_that_does_not_load_is_our_own_failure(tmp_path: Path) -> None:
    """Where no child can start at all the machinery has failed, not the source."""
    (tmp_path / "task.py").write_text("(")

    with pytest.raises(MachineryError, match="did not start"):
        ask(tmp_path / "task.py", [b"x"])
