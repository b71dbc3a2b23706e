"""The command line of runs with a model: what it takes, what it refuses, what a killed one keeps, what it shows."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from commandline import finished, takeover, until
from modelkit import SOURCE, commands, script_file, serving

from takeover.cli import main
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.transcript.sniff import import_file
from takeover.sandbox.transcript.writer import journal_of
from takeover.trials.cli_model import model_options, take_model
from takeover.trials.record import RunPaths
from takeover.trials.regrade import recorded_run

AGENT = "takeover-test-http:latest"
FIRST = [
    {"say": "One.\x1b[31m", "write": {"path": "one.py", "content": "x = 1\n"}},
    {"say": "Two.", "write": {"path": "two.py", "content": "x = 2\n"}},
    {"say": "Three.", "shell": "echo three"},
]
SECOND: list[dict[str, Any]] = [
    {"say": "Four.", "write": {"path": "four.py", "content": "x = 4\n"}},
    {"finish": "Done."},
]
CELL = ("tier2_fintech", "--arm", "Vanilla", "--agent", AGENT)


@pytest.fixture(scope="module")
def http_image(engine: DockerEngine, image: str) -> Iterator[str]:
    """The agent of these tests as an image, with a recipe in its label."""
    label = json.dumps({"schema_version": 1, "version": "7.1", "formats": ["chat"]})
    recipe = f"FROM {image}\nLABEL takeover.recipe={json.dumps(label)}\nCMD {json.dumps(['python3', '-c', SOURCE])}\n"
    for _ in engine.client.build(fileobj=io.BytesIO(recipe.encode()), tag=AGENT, rm=True, decode=True):
        pass
    yield AGENT
    engine.client.remove_image(AGENT, force=True)


def run(*arguments: str, folder: Path) -> tuple[int, str]:
    return finished(takeover("run", *CELL, *arguments, folder=folder))


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.docker
@pytest.mark.slow
def test_a_sweep_is_recorded_and_played(http_image: str, tmp_path: Path) -> None:
    """All cuts of a sweep share a cassette, in which each has sessions of its own; played, the curve is the same."""
    script = script_file(tmp_path / "s.yaml", FIRST, SECOND)
    options = ["--cutoff-sweep", "3", "--run-id"]
    code, told = run(*options, "a", "--script", str(script), "--record", "c.jsonl.zst", folder=tmp_path)
    assert code == 0, told
    code, told = run(*options, "b", "--replay", "c.jsonl.zst", folder=tmp_path)
    assert code == 0, told
    cards = sorted((tmp_path / "runs/a").rglob("scorecard.json"))
    assert len(cards) == 3
    for card in cards:
        relative = card.relative_to(tmp_path / "runs/a").as_posix().replace("a.edits", "b.edits", 1)
        assert card.read_bytes() == (tmp_path / "runs/b" / relative).read_bytes()


@pytest.mark.docker
@pytest.mark.slow
def test_a_killed_run_keeps_what_was_said(http_image: str, tmp_path: Path) -> None:
    """After SIGKILL in mid-session the transcript reads well and every call has its line; resumed, it is finished."""
    first = [*FIRST[:2], {"say": "Wait.", "shell": "echo waiting; until [ -e /workspace/go ]; do sleep 0.1; done"}]
    options = [
        "--script",
        "s.yaml",
        "--record",
        "c.jsonl",
        "--cutoff",
        "none",
        "--run-id",
        "k",
        "--run-max-calls",
        "20",
    ]
    script_file(tmp_path / "s.yaml", first, SECOND)
    process = takeover("run", *CELL, *options, folder=tmp_path)
    trial = RunPaths(tmp_path / "runs/k").trial(f"tier2_fintech.Vanilla.{AGENT.replace(':', '-')}.1")
    step = trial.step(1, "session")
    assert until(lambda: step.calls.exists() and step.calls.read_bytes().count(b"\n") == 3, 120)
    process.kill()
    process.communicate()
    assert [json.loads(line)["request"] for line in step.calls.read_bytes().splitlines()] == [1, 2, 3]
    transcript, _ = import_file(journal_of(step.transcript))
    assert [one.message for one in transcript.steps if one.source == "agent"] == ["One.\x1b[31m", "Two.", "Wait."]
    assert transcript.agent.version == "7.1"

    shown = invoke("transcript", "show", str(trial.root))
    assert shown.exit_code == 0
    assert "it was broken off" in shown.output


@pytest.mark.docker
@pytest.mark.slow
def test_a_killed_run_is_gone_on_with(http_image: str, tmp_path: Path) -> None:
    """What was recorded before it was killed is not asked again, and its cassette has the whole run."""
    asked: list[int] = []

    def respond(request: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        second = "from the state in which you find it" in request["messages"][0]["content"]
        asked.append(2 if second else 1)
        # The agent of session 2 works until it is killed, and the next one does not.
        waits = "true" if asked.count(2) > 2 else "sleep 600"
        lines = ("true", waits) if second else ("echo 'x = 1' > one.py",)
        return 200, commands(*lines)(request)

    with serving(respond) as url:
        options = ["--upstream", url, "--record", "c.jsonl", "--run-id", "k"]
        process = takeover("run", *CELL, *options, folder=tmp_path)
        paths = RunPaths(tmp_path / "runs/k")
        trial = paths.trial(f"tier2_fintech.Vanilla.{AGENT.replace(':', '-')}.1")
        calls = trial.step(2, "session").calls
        assert until(lambda: calls.exists() and calls.read_bytes().count(b"\n") == 2, 120)
        process.kill()
        process.communicate()
        code, told = run(*options, "--resume", folder=tmp_path)
    assert code == 0, told
    assert asked == [1, 2, 2, 2, 2, 2]
    (card,) = recorded_run(paths).scorecards.values()
    assert (card.tokens.total, card.tokens.provenance) == (4 * 110, "metered")
    attempt = next(paths.trials.glob("*.attempt-1"))
    assert trial.step(1, "session").calls.samefile(attempt / "1-session/calls.jsonl")
    assert (attempt / "2-session/transcript.json").is_file()
    code, told = run("--replay", "c.jsonl", "--run-id", "again", folder=tmp_path)
    assert code == 0, told
    (again,) = (tmp_path / "runs/again/trials").glob("*/scorecard.json")
    assert again.read_bytes() == trial.scorecard.read_bytes()


@pytest.mark.docker
@pytest.mark.slow
def test_what_the_gateway_noted_is_shown(http_image: str, tmp_path: Path) -> None:
    """Who reads a trial learns that its budget was used up, under the session in which that was."""
    script_file(tmp_path / "s.yaml", FIRST, SECOND)
    code, told = run("--script", "s.yaml", "--run-id", "k", "--cutoff", "none", "--max-calls", "1", folder=tmp_path)
    assert code == 0, told
    shown = invoke("transcript", "show", str(next((tmp_path / "runs/k/trials").iterdir()))).output
    assert "note: the trial's budget of calls is used up" in shown.partition("session 2")[0]


@pytest.mark.docker
@pytest.mark.slow
def test_what_is_shown(http_image: str, tmp_path: Path) -> None:
    """All sessions of a trial: steps, calls, edits, tokens, the cut; nothing in it can reach for the terminal."""
    script_file(tmp_path / "s.yaml", FIRST, SECOND)
    code, told = run("--script", "s.yaml", "--run-id", "k", "--cutoff", "edits:2", folder=tmp_path)
    assert code == 0, told
    folder = next((tmp_path / "runs/k/trials").iterdir())
    shown = invoke("transcript", "show", str(folder))
    assert shown.exit_code == 0
    text = shown.output
    assert "\x1b" not in text
    at = 0
    for part in (
        *(
            "session 1: cutoff edits:2 at two.py (exact)",
            "One.",
            "one.py",
            "Two.",
            "two.py",
            "the session was ended here",
        ),
        *("session 2: exited with 0", "Four.", "four.py", "Done."),
    ):
        at = text.index(part, at) + len(part)
    assert " in / " in text
    assert invoke("transcript", "show", str(folder / "2-session")).output in text
    whole = invoke("transcript", "show", str(tmp_path / "runs/k"))
    assert whole.exit_code == 2
    assert "is a run; name one of its trials" in whole.output


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_the_model_thinks(http_image: str, tmp_path: Path, number: signal.Signals) -> None:
    """A provider that says nothing does not hold up the end: what there was is kept, and nothing of ours is left."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = takeover("run", *CELL, "--upstream", url, "--run-id", "k", folder=tmp_path)
        accepted, _ = silent.accept()
        with accepted:
            process.send_signal(number)
            code, told = finished(process, 60)
    assert code == 130
    assert "--resume" in told
    assert "Traceback" not in told
    (step,) = (tmp_path / "runs/k/trials").glob("*/1-session")
    assert "broken off" in invoke("transcript", "show", str(step)).output


def settings_of(*arguments: str) -> Any:
    got: list[Any] = []

    @click.command()
    @model_options
    def command(**options: Any) -> None:
        got.append(take_model(options))
        assert options == {}

    result = CliRunner().invoke(command, list(arguments))
    return got[0] if got else result


def test_without_a_model_there_is_none(tmp_path: Path) -> None:
    """No gateway unless something says which model; an option that needs one says so."""
    assert settings_of() is None
    for option in (
        ["--strict"],
        ["--max-calls", "3"],
        ["--record", "x"],
        ["--errors", "retry"],
        ["--run-max-cost", "1"],
    ):
        refused = settings_of(*option)
        assert refused.exit_code == 2
        assert f"{option[0]}: which model answers?" in refused.output


def test_options_become_settings(tmp_path: Path) -> None:
    """Each of them, in the identity of the run, files by their content; the recording is no part of it."""
    prices, script = tmp_path / "p.yaml", script_file(tmp_path / "s.yaml", SECOND)
    prices.write_text("version: v\nmodels: {m-1: {input: 1, output: 2}}\n")
    made = settings_of(
        *("--script", str(script), "--model", "m-1", "--temperature", "0.5", "--top-p", "0.9", "--max-output", "99"),
        *("--strict", "--server-tools", "strip", "--errors", "hold", "--max-calls", "1", "--max-seconds", "2.5"),
        *("--max-tokens", "3", "--max-cost", "0.25", "--run-max-calls", "5", "--run-max-seconds", "6"),
        *("--run-max-tokens", "7", "--run-max-cost", "8", "--prices", str(prices), "--record", str(tmp_path / "c")),
    )
    identity = made.identity()
    assert identity["source"] == "script"
    assert identity["pinned"] == {
        "model": "m-1", "temperature": 0.5, "top_p": 0.9, "output_cap": 99, "policy": "strict", "server_tools": "strip",
    }  # fmt: skip
    assert identity["errors"] == "hold"
    assert identity["trial_limits"] == {"calls": 1, "seconds": 2.5, "tokens": 3, "cost": 250_000_000}
    assert identity["run_limits"] == {"calls": 5, "seconds": 6.0, "tokens": 7, "cost": 8_000_000_000}
    assert str(tmp_path) not in json.dumps(identity)
    script.write_text(script.read_text() + "\n")
    assert made.identity()["file_sha256"] != identity["file_sha256"]
    assert settings_of("--model", "m-1").source == "api"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--upstream", "http://x", "--script", "{}"], "exclude each other"),
        (["--cutoff", "turns:2"], "needs the model gateway"),
        (["--script", "{}", "--temperature", "9"], "--temperature"),
        (["--script", "{}", "--max-cost", "nan"], "is no number"),
        (["--script", "{}", "--max-seconds", "inf"], "is no number"),
        (["--script", "/nowhere"], "/nowhere"),
        (["--script", "broken.yaml"], "broken.yaml"),
        (["--replay", "broken.yaml"], "is no cassette"),
        (["--script", "{}", "--record", "broken.yaml"], "exists already"),
        (["--replay", "{}", "--record", "new.jsonl"], "nothing to record"),
        (["--upstream", "http://user:secret@host"], "password"),
        (["--upstream", "nothing"], "no address of a server"),
        (["--model", "m-1"], "no key"),
        (["--script", "{}", "--prices", "broken.yaml"], "broken.yaml"),
        (["--script", "{}", "--model", "nobody-s-1", "--run-max-cost", "1"], "nobody-s-1: has no price"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    """Before anything is run, with one or two lines and exit code 2."""
    script = str(script_file(tmp_path / "s.yaml", SECOND))
    (tmp_path / "broken.yaml").write_text("schema_version: [")
    told = subprocess.run(
        [sys.executable, "-m", "takeover", "run", "tier2_fintech", "--arm", "Vanilla", "--agent", "nop"]
        + [script if one == "{}" else one for one in arguments],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 2
    assert message in told.stderr
    assert len(told.stderr.splitlines()) <= 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.yaml", "s.yaml"]


@pytest.mark.docker
def test_a_recipe_that_cannot_be_read_leaves_nothing(engine: DockerEngine, image: str, tmp_path: Path) -> None:
    """It is refused with the image and the label, before the run's folder is made."""
    name, recipe = f"{AGENT}-unreadable", f"FROM {image}\nLABEL takeover.recipe='{{\"turns\": 3}}'\n"
    for _ in engine.client.build(fileobj=io.BytesIO(recipe.encode()), tag=name, rm=True, decode=True):
        pass
    try:
        arguments = ["run", "tier2_fintech", "--arm", "Vanilla", "--agent", name, "--model", "m", "--upstream"]
        code, told = finished(takeover(*arguments, "http://127.0.0.1:9/v1", folder=tmp_path))
    finally:
        engine.client.remove_image(name, force=True)
    assert code == 2
    assert name in told
    assert "takeover.recipe" in told
    assert not (tmp_path / "runs").exists()
