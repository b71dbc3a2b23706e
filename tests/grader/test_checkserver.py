"""Where the processes of hidden checks come from: what they share, what they do not, and how they end."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from takeover.grader import checkserver
from takeover.grader.checks import run_checks
from takeover.sandbox.errors import ChecksBroken

# Tells who collected it and who runs it, and whether another run was here before.
TELLS = """
import os
collected, runs = os.getpid(), []
def test_R1_x(subject):
    runs.append(1)
    assert subject.call("m:f", collected, os.getpid(), len(runs)) == 7
"""


class Answers:
    """A channel that adds for the canaries and says 7 to everything else; remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[list[int]] = []

    def ask(self, request: bytes, timeout: float) -> bytes:
        question = json.loads(request)
        (step,) = question["steps"]
        numbers = [int(argument[1], 16) for argument in step["args"]]
        if step["target"] != "operator:add":
            self.told.append(numbers)
        value = sum(numbers) if step["target"] == "operator:add" else 7
        outcomes = [{"how": "value", "value": ["int", hex(value)]}]
        return json.dumps({"nonce": question["nonce"], "how": "answered", "outcomes": outcomes}).encode()


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Callable[..., list[list[int]]]:
    def run(text: str = TELLS, **parameters: int) -> list[list[int]]:
        path = tmp_path / "test_it.py"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        channel = Answers()
        assert all(result.passed for result in run_checks(tmp_path, parameters, channel, ("R1",)).results)
        return channel.told

    return run


def wait_until(fact: Callable[[], bool]) -> None:
    """For as long as a whole suite on a busy machine may need."""
    end = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < end
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_checks_are_collected_once_and_run_apart(run: Callable[..., list[list[int]]]) -> None:
    """Two runs come from one collection, each in a process that no other has left anything in."""
    ((first, one, before_one),), ((second, other, before_other),) = run(), run()

    assert first == second
    assert len({first, one, other}) == 3
    assert before_one == before_other == 1


def test_a_run_is_gone_with_its_context(run: Callable[..., list[list[int]]]) -> None:
    """Nothing of a finished run goes on."""
    ((_, pid, _),) = run()

    wait_until(lambda: not alive(pid))


def test_other_values_and_other_files_are_collected_anew(run: Callable[..., list[list[int]]]) -> None:
    """A template serves the checks and the values that it has seen, and no others."""
    ((first, *_),), ((second, *_),) = run(), run(limit=5)
    ((third, *_),) = run(TELLS + "# changed\n")

    assert len({first, second, third}) == 3


def test_a_lost_template_is_replaced(run: Callable[..., list[list[int]]]) -> None:
    """Whoever collected the checks may die between two runs."""
    ((first, *_),) = run()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not alive(first) or Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[0] == "Z")

    assert run()[0][0] != first


def test_a_run_that_hangs_is_killed(tmp_path: Path) -> None:
    """A check that never ends costs no more than its time, and leaves no process."""
    mark = tmp_path / "pid"
    checks = tmp_path / "checks"
    checks.mkdir()
    (checks / "test_it.py").write_text(
        f"import os\ndef test_R1_x(subject):\n    open({str(mark)!r}, 'w').write(str(os.getpid()))\n    while True: pass\n"
    )
    with checkserver.process(checks, {}, str(tmp_path / "cache")) as connection:
        channel = Answers()
        while not mark.exists() or not mark.read_text():
            if connection.poll(0.01):
                message = json.loads(connection.recv_bytes())
                if message["kind"] == "ask":
                    line = channel.ask(message["request"].encode(), 1.0).decode()
                    connection.send_bytes(json.dumps({"line": line}).encode())
        pid = int(mark.read_text())
        assert alive(pid)

    wait_until(lambda: not alive(pid))


def test_checks_that_kill_their_collector_are_broken(tmp_path: Path) -> None:
    """No verdict, and the next set of checks is none the worse."""
    (tmp_path / "test_it.py").write_text("import os\nos._exit(3)\n")
    with pytest.raises(ChecksBroken):
        run_checks(tmp_path, {}, Answers(), ("R1",))
    (tmp_path / "test_it.py").write_text("def test_R1_x(subject): assert subject.call('m:f') == 7\n")

    assert run_checks(tmp_path, {}, Answers(), ("R1",)).results[0].passed
