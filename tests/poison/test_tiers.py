"""Every tier that ships can be poisoned: what is delivered notices nothing, the hidden checks do, in any variant."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from takeover.grader.boundaries import check_boundaries, is_source
from takeover.grader.checks import run_checks
from takeover.grader.local import unsafe_local_channel
from takeover.poison.defects import NoPlace
from takeover.poison.edits import Version, edit, undeclared
from takeover.poison.model import Channel, Kind, Mode, Pill, Poison
from takeover.poison.places import PlacesForm, facts_of
from takeover.sandbox.errors import InputError
from takeover.sandbox.tree import Manifest, TreeItem
from takeover.tiers.load import load_task, task_folders
from takeover.tiers.task import Task

TASKS = ("tier1_metering", "tier2_fintech", "tier2_groundstation", "tier3_warehouse", "tier4_library")
SEEDS = ("0", "another")
Files = dict[str, bytes]


def poison(kind: Kind, *, twin: bool = False) -> Poison:
    channel = Channel.TEST if kind is Kind.WEAK_TEST else Channel.SOURCE
    return Poison(channel, kind, mode=Mode.REPLACE, twin=twin)


def poisoned(task: Task, files: Mapping[str, bytes], *kinds: Kind, twin: bool = False) -> Files:
    """The files with some defects planted, one after the other."""
    found = dict(files)
    for kind in kinds:
        found |= edit(poison(kind, twin=twin), facts_of(task), Version(found.get, tuple(found))).files
    return found


def states(task: Task) -> list[Files]:
    """What a first session may leave: the baseline and its first requirement, or all of them."""
    first, whole = task.workspace_files({task.requirements[0]}), task.workspace_files(set(task.requirements))
    return [first, whole]


def lay(files: Mapping[str, bytes], folder: Path) -> Path:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


@pytest.fixture(name="task", scope="module", params=[(name, seed) for name in TASKS for seed in SEEDS], ids=str)
def _task(request: pytest.FixtureRequest) -> Task:
    return load_task(*request.param)


def test_nothing_that_is_delivered_notices_a_defect_or_a_twin(task: Task, tmp_path: Path) -> None:
    """The visible tests pass with a cent less, with a forbidden import, with a weaker test, with all of them."""
    kinds = (Kind.REGRESSION, Kind.BOUNDARY, Kind.WEAK_TEST)
    for number, files in enumerate(states(task)):
        for twin in (False, True):
            folder = lay(poisoned(task, files, *kinds, twin=twin), tmp_path / f"{number}-{twin}")
            command = [sys.executable, "-B", "-m", "unittest", "-q"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


def test_the_declared_hidden_checks_notice_the_regression_and_nothing_else(task: Task, tmp_path: Path) -> None:
    """All that are declared fail, every requirement still holds, and the twin fails none."""
    regression = facts_of(task).places.regression
    assert regression is not None
    whole = states(task)[1]
    for twin in (False, True):
        folder = lay(poisoned(task, whole, Kind.REGRESSION, twin=twin), tmp_path / f"{twin}")
        with unsafe_local_channel(folder) as channel:
            results = run_checks(task.checks_dir, task.parameters, channel, task.check_ids).results
        failed = {one.id for one in results if not one.passed}
        assert failed <= set(task.baseline)
        assert failed >= set(regression.checks) if not twin else not failed


def test_the_boundary_check_notices_the_import_and_nothing_else(task: Task) -> None:
    """It names the file and the package; nothing of it is found in the twin, nor without it."""
    crossing = facts_of(task).places.crossing
    assert crossing is not None
    for files in states(task):
        for given, found in (
            (poisoned(task, files, Kind.BOUNDARY), {(crossing.path, crossing.package, crossing.forbidden)}),
            (poisoned(task, files, Kind.BOUNDARY, twin=True), set()),
            (files, set()),
        ):
            items = {path: TreeItem(path, "f", 0o644, len(data)) for path, data in given.items()}
            sources = {path: data for path, data in given.items() if is_source(path)}
            report = check_boundaries(Manifest(items), sources, task.boundaries, task.guarded)
            assert {(one.path, one.package, one.imports.partition(".")[0]) for one in report.violations} == found


@pytest.mark.parametrize("kind", [Kind.REGRESSION, Kind.BOUNDARY, Kind.WEAK_TEST])
def test_a_place_is_found_by_what_stands_there(task: Task, kind: Kind) -> None:
    """Other lines, comments and blanks above it move nothing: the same words are planted."""
    files = states(task)[0]
    here = edit(poison(kind), facts_of(task), Version(files.get, tuple(files)))
    source = b"# Somebody's remark.\n\n" + files[here.path].replace(b"\ndef ", b"\n# Another.\n\n\ndef ")
    there = edit(poison(kind), facts_of(task), Version({**files, here.path: source}.get, tuple(files)))
    old, new = (set(text.splitlines()) for text in (files[here.path], here.files[here.path]))
    assert new - old <= set(there.files[here.path].splitlines()) - old


@pytest.mark.parametrize("kind", [Kind.REGRESSION, Kind.BOUNDARY, Kind.WEAK_TEST])
def test_where_an_edit_removed_the_place_nothing_is_planted(task: Task, kind: Kind) -> None:
    """The file is gone, or holds something else by now: refused with its name and the reason."""
    files = states(task)[0]
    path = edit(poison(kind), facts_of(task), Version(files.get, tuple(files))).path
    for other, reason in (
        (None, "is not there"),
        (b'"""Rewritten."""\n\nANSWER = 42\n', "no "),
        (b"def f(:\n", "not Python"),
    ):
        now = {name: data for name, data in files.items() if name != path}
        now |= {path: other} if other is not None else {}
        with pytest.raises(NoPlace, match=reason) as refusal:
            edit(poison(kind), facts_of(task), Version(now.get, tuple(now)))
        assert path in str(refusal.value)


def test_what_a_task_does_not_declare_is_known_before_anything_is_paid_for(tmp_path: Path) -> None:
    """A pill says what it needs, and a poison.yaml with a check that does not exist is named with file and line."""
    pills = [Pill(kind, "one", (poison(kind),)) for kind in (Kind.REGRESSION, Kind.BOUNDARY, Kind.WEAK_TEST)]
    declared = facts_of(load_task("tier1_metering"))
    bare = replace(declared, places=PlacesForm(), commented=None)
    remark = Pill("remark", "one", (Poison(Channel.COMMENT, Kind.DENIAL),))
    wanted = ["regression", "boundary to cross", "test to weaken", "source for comments"]
    assert [undeclared(pill, bare) for pill in (*pills, remark)] == wanted
    assert [undeclared(pill, declared) for pill in (*pills, remark)] == [None] * 4

    folder = tmp_path / "tier1_metering"
    shutil.copytree(task_folders()["tier1_metering"], folder)
    text = (folder / "poison.yaml").read_text()
    (folder / "poison.yaml").write_text(text.replace("[B8]", "[B99]"))
    with pytest.raises(InputError, match=r"tier1_metering/poison\.yaml:\d+: .*B99 is no baseline check"):
        facts_of(load_task(folder))
