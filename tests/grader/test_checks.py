"""The trusted half of the checks: a whole run or no verdict."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from takeover.grader.answers import SubjectGone
from takeover.grader.checks import CheckRun, run_checks
from takeover.sandbox.errors import ChecksBroken, SandboxDied

PASSING = "def test_R1_x(subject):\n    assert subject.call('m:f') == 7\n"


class Answers:
    """A channel that adds for the canaries and says 7 to everything else, unless it is told to misbehave."""

    def __init__(self, twist: Callable[[dict[str, object]], object] = lambda step: None) -> None:
        self.twist = twist
        self.asked: list[str] = []

    def ask(self, request: bytes, timeout: float) -> bytes:
        question = json.loads(request)
        (step,) = question["steps"]
        self.asked.append(step["target"])
        value = 7
        if step["target"] == "operator:add":
            value = sum(int(argument[1], 16) for argument in step["args"])
        outcome = self.twist(step) or {"how": "value", "value": ["int", hex(value)]}
        answer = {"nonce": question["nonce"], "how": "answered", "outcomes": [outcome], "imports": [["a", "b"]]}
        return json.dumps(answer).encode()


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Callable[..., CheckRun]:
    def run(*texts: str, channel: object = None, ids: tuple[str, ...] = ("R1",), **limits: float) -> CheckRun:
        for number, text in enumerate(texts):
            (tmp_path / f"test_{number}.py").write_text(text)
        return run_checks(tmp_path, {"limit": 5}, channel or Answers(), ids, **limits)  # type: ignore[arg-type]

    return run


def test_a_run_passes_and_fails_by_id(run: Callable[..., CheckRun]) -> None:
    """An id passes when all its functions do; evidence names the one that did not."""
    result = run(
        "def test_R1_a(subject): assert subject.call('m:f') == 7\n"
        "def test_R1_b(subject, p): assert p.limit == p['limit'] == 5\n"
        "def test_R2_a(subject): assert subject.call('m:f', 'x', k=1) == 8\n"
        "def test_R2_b(subject): pass\n",
        ids=("R2", "R1"),
    )

    assert [(r.id, r.passed, r.evidence) for r in result.results] == [
        ("R2", False, "test_R2_a: m:f('x', k=1) returned 7; expected 8"),
        ("R1", True, "2 checks passed"),
    ]
    assert result.results[0].observed == ("m:f('x', k=1) returned 7",)
    assert result.imports == {("a", "b")}
    assert result.tampered is None


BROKEN = {
    "no check at all": "",
    "a missing id": "def test_R2_x(subject): pass\n",
    "an id too many": PASSING + "def test_R9_x(subject): pass\n",
    "a crash at import": PASSING + "raise SystemExit(0)\n",
    "an error at import": PASSING + "1 / 0\n",
    "a syntax error": PASSING + "def f(:\n",
    "a check that skips": "import pytest\ndef test_R1_x(): pytest.skip('later')\n",
    "a check marked to skip": "import pytest\n@pytest.mark.skip\ndef test_R1_x(): pass\n",
    "a check marked to fail": "import pytest\n@pytest.mark.xfail\ndef test_R1_x(): assert 0\n",
    "a check that exits": "import os\ndef test_R1_x(): os._exit(0)\n",
    "a check that ends pytest": "import pytest\ndef test_R1_x(): pytest.exit('x', returncode=0)\n",
    "a fixture that is not there": "def test_R1_x(nothing): pass\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_set_of_checks_is_no_verdict(name: str, run: Callable[..., CheckRun]) -> None:
    """What is wrong with our own half is a failure of the machinery, never a pass and never a zero."""
    with pytest.raises(ChecksBroken):
        run(BROKEN[name])


def test_equal_names_in_two_files_are_refused(run: Callable[..., CheckRun]) -> None:
    """Two checks of one name could hide each other."""
    with pytest.raises(ChecksBroken, match="same name"):
        run(PASSING, PASSING)


def test_odd_parameters_are_whole_names(run: Callable[..., CheckRun]) -> None:
    """Spaces, brackets, newlines, other scripts and thousands of characters in a parameter split nothing."""
    result = run(
        "import pytest\n"
        "@pytest.mark.parametrize('x', ['a b', 'x]y', '[100%]', 'ü', 'a\\nb', 'PASSED', 'z' * 5000, ''])\n"
        "def test_R1_x(subject, x): assert subject.call('m:f', x) == 7\n"
    )

    assert [(r.passed, r.evidence) for r in result.results] == [(True, "8 checks passed")]


def test_the_users_pytest_settings_take_no_part(
    run: Callable[..., CheckRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Environment, configuration files and conftest files change nothing."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing --collect-only")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -k nothing\n")
    (tmp_path / "conftest.py").write_text("raise SystemExit(0)\n")

    assert run(PASSING).results[0].passed


def test_nothing_is_written_beside_the_checks(run: Callable[..., CheckRun], tmp_path: Path) -> None:
    """The folder of a task is hashed; running its checks leaves it as it was."""
    run(PASSING)

    assert [path.name for path in tmp_path.iterdir()] == ["test_0.py"]


def test_canaries_run_before_and_after(run: Callable[..., CheckRun]) -> None:
    """Each run asks four questions whose answers are known to be right or wrong."""
    channel = Answers()
    run(PASSING, channel=channel)

    assert channel.asked == ["operator:add"] * 2 + ["m:f"] + ["operator:add"] * 2


def test_a_comparison_that_always_holds_is_caught(run: Callable[..., CheckRun]) -> None:
    """Where a check that must fail passes, nothing is proved by those that pass, and there is no verdict."""
    with pytest.raises(ChecksBroken, match="must fail"):
        run("from takeover.grader.subject import Observed\nObserved.__eq__ = lambda self, other: True\n" + PASSING)


def test_canaries_that_go_wrong_at_the_start_are_the_machinerys_fault(run: Callable[..., CheckRun]) -> None:
    """No code of the agent has run yet, so it is not the agent's zero."""

    def wrong(step: dict[str, object]) -> object:
        return {"how": "value", "value": ["int", "0x0"]} if step["target"] == "operator:add" else None

    with pytest.raises(ChecksBroken, match="canary"):
        run(PASSING, channel=Answers(wrong))


def test_canaries_that_go_wrong_at_the_end_fail_every_check(run: Callable[..., CheckRun]) -> None:
    """Code that left the worker answering wrongly earns nothing by it."""
    seen: list[object] = []

    def wrong_later(step: dict[str, object]) -> object:
        seen.append(step["target"])
        return {"how": "odd", "why": "is broken"} if step["target"] == "operator:add" and "m:f" in seen else None

    result = run(PASSING, channel=Answers(wrong_later))

    assert result.tampered is not None
    assert [(r.passed, r.error_kind) for r in result.results] == [(False, "tampered")]


class Silent(Answers):
    """Takes its time, then says that the code gave none."""

    def ask(self, request: bytes, timeout: float) -> bytes:
        if b'"m:' in request:
            time.sleep(0.2)
            raise SubjectGone("timeout", "silent")
        return super().ask(request, timeout)


def test_time_that_the_code_uses_up_is_its_own(run: Callable[..., CheckRun]) -> None:
    """Beyond a check's time every question fails at once, with that as the evidence; the next check has its own."""
    result = run(
        "def test_R1_x(subject):\n"
        "    seen = [subject.call('m:f').outcome.why for _ in range(50)]\n"
        "    assert seen[-1] == 'x'\n"
        "def test_R2_x(subject):\n    assert subject.call('m:f') == 1\n",
        channel=Silent(),
        ids=("R1", "R2"),
        check_seconds=0.5,
    )

    assert [r.passed for r in result.results] == [False, False]
    assert "used up" in result.results[0].evidence
    assert "silent" in result.results[1].evidence


def test_a_failure_of_the_machinery_passes_through(run: Callable[..., CheckRun]) -> None:
    """A sandbox that died is not a wrong answer."""

    class Dead(Answers):
        def ask(self, request: bytes, timeout: float) -> bytes:
            raise SandboxDied("the container ended")

    with pytest.raises(SandboxDied):
        run(PASSING, channel=Dead())


def test_a_check_that_never_ends_is_ended(run: Callable[..., CheckRun], monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that hangs by itself is our fault, and does not hang the grader."""
    monkeypatch.setattr("takeover.grader.checks.GRACE_SECONDS", 0.5)

    with pytest.raises(ChecksBroken, match="in time"):
        run("def test_R1_x():\n    while True: pass\n", total_seconds=0.5)


EVIDENCE = {
    "a comparison": ("assert subject.call('m:f') == 8", "m:f() returned 7; expected 8"),
    "an exception that did not come": (
        "assert subject.error('m:f').is_a('ValueError')",
        "assert subject.error('m:f').is_a('ValueError'); m:f() returned 7",
    ),
    "a value that is not there": ("assert subject.call('m:g').value > 3", "m:g() raised m.E: 'no'"),
    "something else than expected": ("assert subject.call('m:g') != 3", "m:g() raised m.E: 'no'"),
    "a set": ("assert subject.call('m:f') == {'b', 'a'}", "m:f() returned 7; expected {'a', 'b'}"),
    "a mistake in the check": ("assert subject.call('m:f').value['x']", "TypeError"),
    "control characters": ("assert subject.call('m:esc') == 3", "returned '\\x1b[2J\\x00'"),
    "an address": ("assert subject.call('m:addr') == 3", "at 0x…>"),
}


@pytest.mark.parametrize("name", EVIDENCE)
def test_evidence_says_what_was_seen(name: str, run: Callable[..., CheckRun]) -> None:
    """One clean line that a reader can act on."""

    def answer(step: dict[str, object]) -> object:
        match step["target"]:
            case "m:g":
                return {"how": "raised", "type": "m.E", "mro": ["m.E", "ValueError"], "message": "no", "fields": None}
            case "m:esc":
                return {"how": "value", "value": "\x1b[2J\x00"}
            case "m:addr":
                return {"how": "odd", "why": "returned <X object at 0x7f00aa11bb22>"}
        return None

    statement, expected = EVIDENCE[name]
    (result,) = run(f"def test_R1_x(subject):\n    {statement}\n", channel=Answers(answer)).results

    assert not result.passed
    assert expected in result.evidence
    assert result.evidence.isprintable()
    assert len(result.evidence) <= 400
