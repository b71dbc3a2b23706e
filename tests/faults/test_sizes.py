"""A workspace that fits where it was made and nowhere else must not take its agent out of the denominator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes import FakeEngine, FakeSandbox
from meddling import carry_out, plan_for, scripted

from takeover.sandbox.cutoff import CutoffRule
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import WorkspaceTooLarge
from takeover.sandbox.limits import GIB, MIB, Limits
from takeover.sandbox.session import AgentSpec, SessionLog, SessionSpec, run_session
from takeover.sandbox.snapshot import Snapshot, room_needed
from takeover.sandbox.store import SnapshotStore
from takeover.sandbox.tree import Manifest, TreeItem
from takeover.tiers.load import load_task
from takeover.trials.grading import SUBJECT_LIMITS, must_fit, subject_limits
from takeover.trials.signing import Signer

SMALL = Limits(wall=60, workspace=8 * MIB, memory=256 * MIB, inodes=3000)


def left(*items: TreeItem) -> Snapshot:
    return Snapshot("0" * 64, Manifest({item.path: item for item in items}))


def test_room_is_counted_in_pages() -> None:
    """A file takes whole pages, an empty one and a short link none, a directory none."""
    tree = left(
        TreeItem("d", "d", 0o755),
        TreeItem("empty", "f", 0o644, 0, "0"),
        TreeItem("one", "f", 0o644, 1, "0"),
        TreeItem("two", "f", 0o644, 4097, "0"),
        TreeItem("short", "l", 0o777, target="x" * 60),
        TreeItem("long", "l", 0o777, target="x" * 200),
    )

    assert room_needed(tree.manifest) == 4096 + 8192 + 4096


def test_what_does_not_fit_is_refused() -> None:
    """More pages or more names than the limits have room for, to the last one."""
    limits = Limits(workspace=8192, inodes=3)
    files = [TreeItem(name, "f", 0o644, 4096, "0") for name in "abc"]

    must_fit(left(*files[:2]), limits)
    with pytest.raises(WorkspaceTooLarge):
        must_fit(left(*files), limits)
    with pytest.raises(WorkspaceTooLarge):
        must_fit(left(*(TreeItem(name, "d", 0o755) for name in "abc")), limits)


def test_the_code_has_memory_beside_any_workspace() -> None:
    """However much a session leaves, the sandbox in which it is graded has a GiB for the code itself."""
    task = load_task("tier2_fintech")
    limits = subject_limits(task)

    assert limits.memory >= limits.workspace + GIB
    assert (limits.workspace, limits.inodes) == (task.limits.workspace, task.limits.inodes)
    assert limits == SUBJECT_LIMITS


def test_it_is_the_agents_own_failure(tmp_path: Path, key: Signer) -> None:
    """It counts as zero, is not tried again, and the session is on record."""

    def agent(box: FakeSandbox) -> None:
        for number in range(2000):
            box.write(f"f{number}", b"x")

    task = load_task("tier2_fintech")
    small = replace(task, limits=replace(task.limits, workspace=4 * MIB))
    result, _ = carry_out(FakeEngine(agent), tmp_path / "r", plan_for(scripted("big", "true"), task=small), key)
    (card,) = result.scorecards.values()

    assert card.failure is not None
    assert (card.outcome, card.failure.kind) == ("agent_failure", "workspace_too_large")
    assert len(card.sessions) == 1


@pytest.mark.docker
def test_names_that_took_no_room(engine: DockerEngine, store: SnapshotStore, tmp_path: Path) -> None:
    """Hard links and holes in a real sandbox: what comes out is found not to fit before anything is loaded with it."""
    start = store.put_files({"a.py": b"x = 1\n"})
    code = (
        "import os\nopen('one', 'wb').write(b'x')\nfor n in range(2500): os.link('one', 'l%d' % n)\n"
        "open('hole', 'wb').truncate(4 << 20)"
    )
    spec = SessionSpec(AgentSpec("t", "sandbox", ("python3", "-c", code)), 1, "", CutoffRule("none"), SMALL)
    log = SessionLog(tmp_path / "o", tmp_path / "e")
    result = run_session(engine, store, spec, start, log=log)

    assert result.run.code == 0, log.output.read_bytes()
    assert result.snapshot.complete
    with pytest.raises(WorkspaceTooLarge):
        must_fit(result.snapshot, SMALL)


@pytest.mark.docker
def test_a_full_workspace_fits_again(engine: DockerEngine, store: SnapshotStore, tmp_path: Path) -> None:
    """Whoever fills the workspace to its last page and its last file gets all of it back in the next session."""
    start = store.put_files({"a.py": b"x = 1\n"})
    fill = (
        "import os\n"
        "try:\n    for n in range(9000): open('d%d' % n, 'w').close()\nexcept OSError: pass\n"
        "try:\n    for n in range(9000):\n        with open('d%d' % n, 'r+') as f: f.write('x' * 4097); f.flush()\n"
        "except OSError: pass\n"
    )
    log = SessionLog(tmp_path / "o", tmp_path / "e")
    first = SessionSpec(AgentSpec("t", "sandbox", ("python3", "-c", fill)), 1, "", CutoffRule("none"), SMALL)
    one = run_session(engine, store, first, start, log=log)
    must_fit(one.snapshot, SMALL)
    second = SessionSpec(AgentSpec("t", "sandbox", ("true",)), 2, "", CutoffRule("none"), SMALL)
    two = run_session(engine, store, second, one.snapshot, log=log)

    assert one.snapshot.complete
    assert two.snapshot.sha256 == one.snapshot.sha256
