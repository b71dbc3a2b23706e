"""The limit of an arm's notes, in workspaces that agents have left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from takeover.sandbox.tree import TreeItem
from takeover.tiers.arms import arm_folders, load_arm, starting_files
from takeover.tiers.arms_notes import MAX_NOTES, notes_report
from takeover.tiers.load import load_task, task_folders
from takeover.tiers.skills import scripted_home
from takeover.tiers.task import SessionStep, Task
from takeover.tiers.template import recover, sections
from takeover.tiers.tokens import TOKENIZER

# Session 1 ends where it writes its first source file: the notes stand as a cutoff leaves them.
CUT = """\
import os, sys
sys.path.insert(0, sys.argv[1])
import agent, workshop
write = workshop.Workshop.write
def cut(shop, name, text):
    if name.endswith(".py"):
        os._exit(99)
    write(shop, name, text)
workshop.Workshop.write = cut
agent.__file__ = os.path.join(sys.argv[1], "agent.py")
sys.exit(agent.main(["agent.py", "note-taker"]))
"""


def unread(path: str) -> bytes:
    raise AssertionError(f"{path} was read")


def item(kind: str = "f", size: int = 10) -> dict[str, TreeItem]:
    return {"state.md": TreeItem("state.md", kind, 0o644, size)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("manifest", "tokens", "within", "problem"),
    [
        ({}, 0, True, "missing"),
        (item("l"), None, None, "not a regular file"),
        (item("d"), None, None, "not a regular file"),
        (item(size=MAX_NOTES + 1), None, False, f"{MAX_NOTES + 1} bytes, more than the {MAX_NOTES} that are counted"),
    ],
)
def test_nothing_but_a_short_regular_file_is_read(
    fintech: Task, manifest: dict[str, TreeItem], tokens: int | None, within: bool | None, problem: str
) -> None:
    """Links, folders and giants are told apart, and stay closed."""
    assert notes_report(load_arm("State_MD_Only", fintech), manifest, unread) == {
        "file": "state.md", "tokens": tokens, "limit": 500, "tokenizer": TOKENIZER, "within": within, "problem": problem,
    }  # fmt: skip


@pytest.mark.parametrize("text", [b"\xff\xfe\x00" * 80_000, b" " * MAX_NOTES, b"a" * MAX_NOTES, b"<|endoftext|>"])
def test_hostile_bytes_are_counted(fintech: Task, text: bytes) -> None:
    """What an agent leaves behind never stops the count."""
    report = notes_report(load_arm("State_MD_Only", fintech), item(size=len(text)), lambda path: text)

    assert report is not None
    assert report["problem"] is None
    assert report["within"] == (report["tokens"] is not None and 1 < report["tokens"] <= 500)


def test_arms_without_notes_have_no_report(fintech: Task) -> None:
    """A state.md that an agent made on its own has no limit."""
    assert notes_report(load_arm("Vanilla", fintech), item(), unread) is None


@pytest.mark.parametrize(
    "name", sorted(name for name, tier in ((n, load_task(n).tier) for n in task_folders()) if tier in (2, 3))
)
def test_the_note_taker_in_every_arm_with_notes(name: str, tmp_path: Path) -> None:
    """Its notes hold every value; 24 requirements do not fit into 500 tokens, which is told and costs nothing."""
    task = load_task(name, "notes-1")
    prompt = task.prompt(next(step.prompt for step in task.steps if isinstance(step, SessionStep)))
    asked = [requirement for requirement in task.requirements if requirement in sections(prompt)]
    for arm in (load_arm(name, task) for name in arm_folders()):
        if arm.state is None:
            continue
        notes = session_one(task, prompt, starting_files(task, arm), tmp_path / arm.name)
        found = [recover(task.files.notes[requirement], task.specs, notes.decode()) for requirement in asked]
        report = notes_report(arm, item(size=len(notes)), lambda path, notes=notes: notes)  # type: ignore[misc]

        assert {key: value for values in found for key, value in (values or {}).items()} == task.parameters
        assert report is not None
        assert report["within"] == (task.tier == 2 or arm.state_tokens == 1200)


def session_one(task: Task, prompt: str, files: dict[str, bytes], folder: Path) -> bytes:
    """The state.md of a session 1 that was cut off at its first source edit."""
    home = {f"home/{path}": data for path, data in scripted_home(task, "note-taker").items()}
    everything = {f"workspace/{path}": data for path, data in files.items()} | home
    for path, content in {**everything, "prompt.md": prompt.encode()}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    environment = {"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", "TAKEOVER_SESSION": "1"}
    environment["TAKEOVER_PROMPT_FILE"] = str(folder / "prompt.md")
    command = [sys.executable, "-B", "-c", CUT, str(folder / "home" / "agent")]
    done = subprocess.run(command, cwd=folder / "workspace", env=environment, capture_output=True, check=False)
    assert done.returncode == 99, done.stderr
    return (folder / "workspace" / "state.md").read_bytes()
