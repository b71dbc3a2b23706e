"""The built-in receiver's loop and tools, without a container or a network."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "images/agents/takeover-agent"))

from takeover_agent.loop import NUDGE, SILENT, Answer, Call, ModelGone, Result, work
from takeover_agent.tools import MOST_CHARACTERS, Toolbox


class Playing:
    """A model that gives these answers, and is gone after them."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.said: list[str] = []
        self.results: list[Result] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def report(self, results: Sequence[Result]) -> None:
        self.results.extend(results)

    def answer(self) -> Answer:
        if not self.answers:
            raise ModelGone("404")
        return self.answers.pop(0)


def call(name: str, **arguments: object) -> Call:
    return Call(f"call-{name}", name, json.dumps(arguments))


def calls(*made: Call) -> Answer:
    return Answer("", made)


FINISH = calls(call("finish", summary="Done."))


def result_of(folder: Path, made: Call) -> Result:
    return Toolbox(folder).run(made)


def test_it_works_until_it_is_done(tmp_path: Path) -> None:
    """Prompt, calls with their results, finish; what stands after finish in the same answer is not done."""
    write = call("write", path="notes/state.md", content="# Notes\n")
    edit = call("edit", path="notes/state.md", old="Notes", new="State")
    model = Playing(
        calls(write, edit), calls(call("finish", summary="x"), call("write", path="late", content="")), FINISH
    )
    lines: list[str] = []

    assert work(model, Toolbox(tmp_path), "Go.", 10, lines.append)

    assert model.said == ["Go."]
    assert [(result.call, result.is_error) for result in model.results] == [(write, False), (edit, False)]
    assert (tmp_path / "notes/state.md").read_text() == "# State\n"
    assert not (tmp_path / "late").exists()
    assert any("edit" in line for line in lines)


def test_the_step_limit_ends_it(tmp_path: Path) -> None:
    """So many answers and no more, whatever the model still wants."""
    model = Playing(*[calls(call("shell", command="true"))] * 5)

    assert not work(model, Toolbox(tmp_path), "Go.", 3, lambda _: None)

    assert len(model.answers) == 2


def test_a_model_that_only_talks_is_asked_for_tools_and_given_up(tmp_path: Path) -> None:
    """It is nudged; a call in between begins the count anew."""
    talk, do = Answer("I would now edit.", ()), calls(call("shell", command="true"))
    model = Playing(talk, talk, do, *[talk] * SILENT, FINISH)

    assert not work(model, Toolbox(tmp_path), "Go.", 20, lambda _: None)

    assert model.answers == [FINISH]
    assert model.said == ["Go.", *[NUDGE] * (2 + SILENT - 1)]


def test_a_model_that_is_gone_stops_it(tmp_path: Path) -> None:
    """Nothing is made up in its place."""
    with pytest.raises(ModelGone):
        work(Playing(), Toolbox(tmp_path), "Go.", 3, lambda _: None)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (call("browse", url="x"), "there is no tool 'browse'; the tools are shell, read, write, edit, finish"),
        (Call("c", "shell", '{"command": "ls'), "no JSON"),
        (Call("c", "shell", "[" * 100_000), "no JSON"),
        (Call("c", "shell", '["ls"]'), "no JSON object"),
        (Call("c", "shell", ""), "command is missing"),
        (call("shell", command=["ls"]), "command is no string"),
        (call("shell", command="ls", timeout="5"), "timeout is no integer"),
        (call("shell", command="ls", timeout=True), "timeout is no integer"),
        (call("read", path="a", start=1), "'start' is unknown"),
        (call("read", path="missing"), "No such file"),
        (call("read", path="."), "Is a directory"),
        (call("read", path="a\0b"), "null"),
        (call("read", path="bytes"), "is no text"),
        (call("edit", path="twice", old="x", new="y"), "occurs 2 times"),
        (call("edit", path="twice", old="z", new="y"), "occurs 0 times"),
        (call("edit", path="twice", old="", new="y"), "occurs 0 times"),
        (call("write", path="twice/inside", content=""), "exists"),
    ],
)
def test_what_goes_wrong_is_told_to_the_model(tmp_path: Path, made: Call, said: str) -> None:
    """An unknown tool, arguments that are none, files that are not what was thought: results, and nothing changed."""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "twice").write_text("x x")

    result = result_of(tmp_path, made)

    assert result.is_error
    assert said in result.text
    assert (tmp_path / "twice").read_text() == "x x"


def test_reading_a_part(tmp_path: Path) -> None:
    """From a line, so many of them, and how to go on; line ends stay as they are."""
    (tmp_path / "a").write_bytes(b"1\r\n2\n3\n4\n")

    assert result_of(tmp_path, call("read", path="a", limit=1)).text == "1\r\n[3 more lines; the next one is 2]"
    assert result_of(tmp_path, call("read", path="a", offset=3)).text == "3\n4\n"
    assert result_of(tmp_path, call("read", path="a", offset=9)).text == "[nothing there]"
    assert not result_of(tmp_path, call("edit", path="a", old="2", new="two")).is_error
    assert (tmp_path / "a").read_bytes() == b"1\r\ntwo\n3\n4\n"


def test_a_command(tmp_path: Path) -> None:
    """Both streams, the exit code and signals are told; it runs in the workspace and reads nothing."""
    (tmp_path / "here").touch()

    assert (
        result_of(tmp_path, call("shell", command="ls; cat; echo no >&2; exit 3")).text == "here\nno\n\n[exit code 3]"
    )
    assert "[ended by signal 9]" in result_of(tmp_path, call("shell", command="kill -9 $$")).text


def test_endless_output_is_capped(tmp_path: Path) -> None:
    """Beginning and end are kept, whatever a command or a file holds."""
    (tmp_path / "long").write_text("a" * 100_000 + "z")
    printed = result_of(tmp_path, call("shell", command="echo first; yes | head -c 5000000; echo last")).text
    shown = result_of(tmp_path, call("read", path="long")).text

    assert printed.startswith("first\n")
    assert printed.endswith("last\n\n[exit code 0]")
    assert "bytes are left out" in printed
    assert shown.endswith("z")
    assert max(len(printed), len(shown)) < MOST_CHARACTERS + 200


def running(marker: str) -> list[str]:
    """The processes whose command line holds a marker; a zombie has none."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [path.parent.name] if marker.encode() in path.read_bytes() else []
    return found


def test_a_command_out_of_time_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    """Also one that closed its output and sleeps on."""
    for command in ("sleep {} & wait", "exec >&- 2>&-; exec sleep {}"):
        marker = f"600.{uuid.uuid4().int}"
        result = result_of(tmp_path, call("shell", command=command.format(marker), timeout=1))

        assert "[ended after 1 s]" in result.text
        while running(marker):  # what was killed takes a moment to go; what was not stays for ten minutes
            time.sleep(0.01)


def test_what_runs_in_the_background_does_not_hold_the_command_up(tmp_path: Path) -> None:
    """A server that a command started keeps its output open, and goes on."""
    result = result_of(tmp_path, call("shell", command="sleep 600 & echo $!", timeout=300))

    assert result.text.endswith("[exit code 0]")
    os.kill(int(result.text.split()[0]), 9)
