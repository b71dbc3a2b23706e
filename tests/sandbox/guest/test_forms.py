"""The cut is exact, whatever form the edit takes and whatever follows it at once."""

from __future__ import annotations

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


@pytest.mark.parametrize("form", EDITS, ids=lambda form: form.name)
def test_every_form_works_without_a_cutoff(workspace: Client, form: Form) -> None:
    """Under the rule `none` the same commands run to their end, and the edit is told all the same."""
    reset(workspace)

    outcome = workspace.run(form.command(None), cutoff=rule("none"))

    assert outcome.exit["how"] == "exited"
    assert outcome.exit["code"] == 0, outcome.err
    assert outcome.exit["edited"] or form.name == "edit then revert"
