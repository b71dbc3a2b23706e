"""Work that a bare diff does not show: here one rule decides, what lies in the working tree counts."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from meddling import TASK, carry_out, plan_for, scripted

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.store import SnapshotStore
from takeover.tiers.load import load_task
from takeover.trials.signing import Signer

pytestmark = pytest.mark.docker

FILE = "ledger/rules.py"
# What session 1 does with the work that meets R1, which `edit` writes into the tree -> what it is worth.
LEFT = {
    "unstaged": ("edit", 1),
    "staged": ("edit; git add -A", 1),
    "committed": ("edit; git commit -qam done", 1),
    "untracked": (f"git rm -q --cached {FILE}; git commit -qm gone; edit", 1),
    "ignored": (f"git rm -q --cached {FILE}; echo {FILE} >> .gitignore; edit; git commit -qam ignored", 1),
    "excluded": (
        "mkdir -p .git/info; echo '*' >> .git/info/exclude; edit; git update-index --assume-unchanged " + FILE,
        1,
    ),
    "stashed": ("edit; git stash -q", 0),
    "elsewhere": ("git checkout -qb other; edit; git commit -qam done; git checkout -q main", 0),
    "worktree": ("git worktree add -q aside; cd aside; edit; git commit -qam done", 0),
    "undone": (f"edit; git commit -qam done; git checkout -q HEAD~1 -- {FILE}", 0),
}


def script(left: str) -> str:
    """Session 1 does the work and leaves it so; session 2 does nothing."""
    done = base64.b64encode(load_task(TASK).workspace_files(frozenset({"R1"}))[FILE]).decode()
    edit = f"edit() {{ echo {done} | base64 -d > {FILE}; }}"
    return f"set -e; [ $TAKEOVER_SESSION = 1 ] || exit 0; {edit}; {left}"


def test_only_the_working_tree_counts(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """Untracked, staged, committed or ignored is one; a stash, another branch or another worktree is not there."""
    agents = [scripted(name, script(left)) for name, (left, _) in LEFT.items()]
    result, _ = carry_out(engine, tmp_path / "left", plan_for(*agents), key, parallel=3)

    found = {}
    for card in result.scorecards.values():
        assert card.sessions[0].code == 0, (card.agent, result.paths.root)
        assert card.retention is not None
        found[card.agent] = card.retention.net
    assert found == {name: worth for name, (_, worth) in LEFT.items()}


def test_grading_changes_nothing_that_was_left(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """No checkout, clean or reset: the snapshot of the last session holds new files and all of git as they were."""
    left = "edit; echo new > new_file.txt; git stash -q --include-untracked; git stash apply -q; rm README.md"
    result, _ = carry_out(engine, tmp_path / "kept", plan_for(scripted("keeper", script(left))), key)
    (card,) = result.scorecards.values()
    store = SnapshotStore(result.paths.snapshots)
    first, last = (store.manifest(session.snapshot.removeprefix("sha256:")) for session in card.sessions)

    assert first.diff(last).paths == ()
    assert "new_file.txt" in last
    assert ".git/refs/stash" in last
