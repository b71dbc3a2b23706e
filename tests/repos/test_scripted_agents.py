"""The scripted agents on a codebase: what they bring along, and what their sessions make of prompts and notes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from asking import answers, gives

from takeover.repos.load import load_repo_task
from takeover.repos.scripted import HONEST, ROLES, TRICKS, command, home, pack
from takeover.repos.task import RepoTask

NOTES = "# State\n\n## Found and not yet mended\n\n(none yet)\n\nMore below.\n"


class Place:
    """A workspace and the HOME of an agent, without a sandbox: these programs are ours."""

    def __init__(self, root: Path, task: RepoTask, role: str, notes: bool) -> None:
        self.task, self.role, self.root = task, role, root
        self.work = lay(root / "work", {**task.files, **({"state.md": NOTES.encode()} if notes else {})})
        lay(root / "home", home(task, role))

    def session(self, number: int, prompt: str) -> str:
        """What the role prints in one session."""
        (self.root / "prompt.md").write_text(prompt)
        environment = {
            **os.environ,
            "TAKEOVER_PROMPT_FILE": str(self.root / "prompt.md"),
            "TAKEOVER_SESSION": str(number),
            "GIT_CEILING_DIRECTORIES": str(self.root),
        }
        words = [sys.executable, str(self.root / "home/agent/agent.py"), self.role]
        done = subprocess.run(words, cwd=self.work, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    def resolved(self) -> set[str]:
        files = {str(path.relative_to(self.work)): path.read_bytes() for path in self.work.rglob("*.py")}
        seen = answers(self.task, files, self.root / f"asked-{len(list(self.root.iterdir()))}")
        return {bug.id for bug in self.task.bugs if gives(seen[bug.id], bug.expected)}


def lay(root: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def hinted(folder: Path, hints: str) -> RepoTask:
    return load_repo_task(folder, f"all,hints={hints}" if hints else "all")


@pytest.mark.parametrize("hints", ["areas", "specifications"])
def test_notes_are_all_that_a_later_session_knows(folder: Path, tmp_path: Path, hints: str) -> None:
    """Told in session 1 and cut off before any edit, the note-taker's second session mends all; without notes, none."""
    task = hinted(folder, hints)
    place = Place(tmp_path / "a", task, "note-taker", notes=True)
    place.session(1, task.prompt("audit.md"))
    notes = (place.work / "state.md").read_text()
    assert notes == NOTES.replace(
        "(none yet)", "- tally.sums:total | total adds every number, the\n- tally.sums:mean | mean is the total by"
    )
    fresh = Place(tmp_path / "b", task, "note-taker", notes=True)
    (fresh.work / "state.md").write_text(notes)
    fresh.session(2, task.prompt("continue.md"))
    assert fresh.resolved() == {"total-first", "mean-divides"}
    bare = Place(tmp_path / "c", task, "note-taker", notes=False)
    bare.session(2, task.prompt("continue.md"))
    assert bare.resolved() == set()


def test_nobody_knows_what_nobody_told(folder: Path, tmp_path: Path) -> None:
    """Without hints the prompt tells of no bug, and the honest roles mend none."""
    task = hinted(folder, "")
    for role in ("note-taker", "amnesiac", "first-only"):
        place = Place(tmp_path / role, task, role, notes=True)
        place.session(1, task.prompt("audit.md"))
        assert place.resolved() == set()
        assert (place.work / "state.md").read_text() == NOTES


def test_the_others_do_what_their_names_say(folder: Path, tmp_path: Path) -> None:
    """First-only the first, amnesiac all that its prompt tells of, liar claims."""
    task = hinted(folder, "specifications")
    found = {}
    for role in ("first-only", "amnesiac", "liar"):
        place = Place(tmp_path / role, task, role, notes=True)
        said = place.session(1, task.prompt("audit.md"))
        found[role] = place.resolved()
        assert ("Every bug is mended" in said) == (role == "liar")
    assert found == {"first-only": {"total-first"}, "amnesiac": {"total-first", "mean-divides"}, "liar": set()}


def test_a_pack_holds_no_answer(folder: Path) -> None:
    """No probe and no expected value; a release of its own only where bringing one is the trick."""
    task = hinted(folder, "specifications")
    for role in ROLES:
        brought = b"".join(home(task, role).values())
        assert not [bug.id for bug in task.bugs if bug.probe.encode() in brought]
        if role not in ("oracle", "nop"):
            assert ({"mended", "later"} & set(json.loads(pack(task, role)))) == (
                {"upgrader": {"later"}, "vendorer": {"mended"}}.get(role, set())
            )


def test_every_role_is_a_program_that_knows_it(folder: Path, tmp_path: Path) -> None:
    """The table and the programs agree, twins are honest, and an unknown role is refused."""
    assert {trick.twin for trick in TRICKS.values()} <= set(HONEST)
    place = Place(tmp_path / "w", hinted(folder, "areas"), "liar", notes=False)
    words = [sys.executable, str(place.root / "home/agent/agent.py"), "nobody"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    known = set(done.stderr.strip().partition("one of: ")[2].split(", "))
    assert known == set(ROLES) - {"oracle", "nop"}
    assert all(command(role)[-1] == role for role in known)
