"""Long work shows a bar on a terminal and nothing but lines elsewhere; results stay on standard output."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.console import Console

from takeover.trials.progress import ConsoleProgress

BAR = "━"


def work(err: Console, out: Console) -> None:
    with ConsoleProgress(err, 2, "checks") as progress:
        progress.result("[b] one: ok", out)
        progress.result("two: not", out, style="red")


def consoles(*, tty: bool, out_tty: bool, term: str = "xterm") -> tuple[Console, Console]:
    env = {"TERM": term}
    err = Console(file=io.StringIO(), force_terminal=tty, _environ=env, width=80)
    return err, Console(file=io.StringIO(), force_terminal=out_tty, _environ=env, width=80)


def text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_lines_where_nobody_watches() -> None:
    """Without a terminal standard error stays empty, and each result is a line of standard output as it was written."""
    err, out = consoles(tty=False, out_tty=False)
    work(err, out)
    assert text(out) == "[b] one: ok\ntwo: not\n"
    assert text(err) == ""


def test_a_bar_where_somebody_watches() -> None:
    """On a terminal a bar counts; results that go to a file go there alone."""
    err, out = consoles(tty=True, out_tty=False)
    work(err, out)
    assert text(out) == "[b] one: ok\ntwo: not\n"
    assert "checks" in text(err)
    assert "2/2" in text(err)
    assert BAR in text(err)
    assert "one" not in text(err)


def test_results_stand_above_the_bar() -> None:
    """Where both are the same terminal the one that draws the bar writes the results, else they would cut through it."""
    err, out = consoles(tty=True, out_tty=True)
    work(err, out)
    assert text(out) == ""
    assert "[b] one: ok" in text(err)


def test_no_bar_on_a_dumb_terminal() -> None:
    """TERM=dumb gets the lines."""
    err, out = consoles(tty=True, out_tty=True, term="dumb")
    work(err, out)
    assert BAR not in text(err)
    assert "two: not" in text(out)


def on_a_terminal(arguments: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, str, int]:
    """Standard output through a pipe, standard error on a terminal, the exit code."""
    ours, theirs = pty.openpty()
    told: list[bytes] = []

    def listen() -> None:
        try:
            while piece := os.read(ours, 65536):
                told.append(piece)
        except OSError:  # the other end is closed
            pass

    listener = threading.Thread(target=listen)
    listener.start()
    command = [sys.executable, "-m", "takeover", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, **env}, check=False)
    os.close(theirs)
    listener.join()
    os.close(ours)
    return done.stdout.decode(), b"".join(told).decode(), done.returncode


@pytest.mark.docker
@pytest.mark.parametrize(("term", "no_color"), [("xterm-256color", ""), ("xterm-256color", "1"), ("dumb", "")])
def test_doctor_on_a_terminal(image: str, term: str, no_color: str) -> None:
    """`takeover doctor` shows its bar on a real terminal, keeps NO_COLOR and TERM=dumb, and its output is the same."""
    env = {"TERM": term, "NO_COLOR": no_color, "COLUMNS": "100"}
    out, err, code = on_a_terminal(("doctor", "place.clock", "place.locale", "--image", image), env)

    assert code == 0, err
    assert len([line for line in out.splitlines() if line.startswith("ok")]) == 2
    assert "\x1b" not in out
    assert (BAR in err) is (term != "dumb")
    assert ("\x1b[3" in err) is (term != "dumb" and not no_color)


@pytest.mark.docker
def test_grading_again_on_a_terminal(image: str, tmp_path: Path) -> None:
    """`takeover grade RUN` shows its bar, too, and its lines stay on standard output."""
    env = {"TERM": "xterm-256color", "COLUMNS": "100", "TAKEOVER_SIGNING_KEY": str(tmp_path / "key")}
    options = ("--arm", "Vanilla", "--agent", "nop", "--runs", str(tmp_path), "--run-id", "r")
    assert on_a_terminal(("run", "tier2_fintech", *options), env)[2] == 0
    out, err, code = on_a_terminal(("grade", str(tmp_path / "r")), env)

    assert code == 0, err
    assert out.splitlines()[0] == "tier2_fintech.Vanilla.nop.1: same"
    assert BAR in err
    assert "trials" in err
