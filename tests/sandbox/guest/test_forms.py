"""The cut is exact, whatever form the edit takes and whatever follows it at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from forms import BASE, COMMITS, EDITS, INSPECT, NO_EDITS, RESET, SECOND, Follower, Form
from guest_client import Client, rule

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def workspace(shared_guest: Client) -> Client:
    """A guest that can reset its workspace to a small repository."""
    made = shared_guest.sh(BASE, cwd="/tmp")
    assert made.exit["code"] == 0, made.err
    return shared_guest


def reset(guest: Client) -> None:
    done = guest.sh(RESET, cwd="/tmp")
    assert done.exit["code"] == 0, done.err


def inspect(guest: Client) -> tuple[int, bool]:
    commits, second = guest.sh(INSPECT, cwd="/tmp").out.split()
    return int(commits), second == "yes"


@pytest.mark.parametrize("follower", ["commit", "second"])
@pytest.mark.parametrize("form", EDITS, ids=lambda form: form.name)
def test_nothing_comes_after_the_first_edit(workspace: Client, form: Form, follower: Follower) -> None:
    """The session ends with this edit: no commit, no second edit, and the report says which edit it was."""
    reset(workspace)

    outcome = workspace.run(form.command(follower), cutoff=rule())

    assert outcome.started["mode"] == "exact"
    assert outcome.cut == {
        "rule": "first-edit", "n": 1, "path": form.path, "how": form.how,
        "exact": True, "why_not": None, "late": [], "open": list(form.still_open),
    }  # fmt: skip
    assert outcome.exit["first_edit"] == form.path
    assert outcome.exit["edits"] == 1
    assert outcome.exit["edited"] == [form.path]
    assert inspect(workspace) == (COMMITS, False)


@pytest.mark.parametrize("form", NO_EDITS, ids=lambda form: form.name)
def test_what_is_no_edit_ends_nothing(workspace: Client, form: Form) -> None:
    """The session goes on, until a real edit follows; that one ends it before the next."""
    reset(workspace)

    outcome = workspace.run(form.command("second"), cutoff=rule())

    assert outcome.cut["path"] == SECOND, outcome.err
    assert outcome.cut["n"] == 1
    assert outcome.cut["exact"]
    assert outcome.cut["late"] == []
    assert outcome.cut["open"] == list(form.still_open)
    assert workspace.sh("[ -e pkg/third.py ]").exit["code"] != 0


@pytest.mark.parametrize("follower", ["commit", "second"])
@pytest.mark.parametrize("form", EDITS, ids=lambda form: form.name)
def test_without_a_cutoff_it_would_have_come(workspace: Client, form: Form, follower: Follower) -> None:
    """Under the rule `none` the same commands do what the cut prevents, so the test above can fail."""
    reset(workspace)

    outcome = workspace.run(form.command(follower), cutoff=rule("none"))

    assert outcome.exit["how"] == "exited"
    assert outcome.exit["edited"] or form.name == "edit then revert"
    commits, second = inspect(workspace)
    # Nothing is left to commit, or what is left cannot be read.
    undone = form.name in (
        "edit then revert", "git merge", "git cherry-pick", "git checkout branch", "file of mode 000",
    )  # fmt: skip
    assert second if follower == "second" else commits > COMMITS or undone


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Two endless loops for each processor."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


@pytest.mark.slow
def test_nothing_comes_after_the_first_edit_under_load(workspace: Client, busy_machine: None) -> None:
    """The cut is as exact when every processor is wanted by others."""
    wrong = []
    for number in range(100):
        form, follower = EDITS[7 * number % len(EDITS)], ("commit", "second")[number % 2]
        reset(workspace)
        outcome = workspace.run(form.command(follower), cutoff=rule())
        if not outcome.cut["exact"] or outcome.cut["path"] != form.path or inspect(workspace) != (COMMITS, False):
            wrong.append((form.name, follower, outcome.cut))

    assert wrong == []
