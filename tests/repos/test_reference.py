"""The reference: every bug has edits of our own, which mend it and no other, alone and in any order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from asking import answers, flipped
from small_codebase import Shipped
from trialruns import need_image

from takeover.repos.conduct import remarks
from takeover.repos.load import load_repo_task
from takeover.repos.reference import Edit, load_reference, mended
from takeover.repos.task import RepoTask
from takeover.repos.visible import VisibleVerdict, run_visible
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import InputError
from takeover.sandbox.store import SnapshotStore
from takeover.sandbox.tree import Manifest

NAMES = ("click", "isort")
# Bugs whose edits mend a neighbour, too. There is none; one that comes is named here or refused.
NEIGHBOURS: dict[str, set[str]] = {}


@pytest.mark.parametrize(("name", "bugs"), [("click", 37), ("isort", 35)])
def test_every_bug_has_a_reference(shipped: Shipped, name: str, bugs: int) -> None:
    """Those of the extended set, too, and no edit is for a bug that nobody knows."""
    task = shipped(name, "all")
    assert len(task.bugs) == bugs
    assert {bug.id for bug in task.bugs} == set(load_reference(task))


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_edits_does_not_matter(shipped: Shipped, name: str) -> None:
    """By the file, by bugs.yaml and backwards they come to the same text, so any subset fits."""
    task = shipped(name, "all")
    reference = load_reference(task)
    ids = [bug.id for bug in task.bugs]
    first = mended(task.files, reference, reference)
    assert mended(task.files, reference, ids) == first
    assert mended(task.files, reference, ids[::-1]) == first


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_resolves_all(shipped: Shipped, tmp_path: Path, name: str) -> None:
    """All edits together make every probe right."""
    task = shipped(name, "all")
    reference = load_reference(task)
    assert flipped(task, reference, reference, tmp_path) == ({bug.id for bug in task.bugs}, set())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_edit_mends_its_bug_alone(shipped: Shipped, tmp_path: Path, name: str) -> None:
    """And no other: each probe decides about one fix, whatever else was or was not mended."""
    task = shipped(name, "all")
    reference = load_reference(task)
    for bug in task.bugs:
        wanted = {bug.id} | NEIGHBOURS.get(bug.id, set())
        assert flipped(task, reference, [bug.id], tmp_path / bug.id) == (wanted, set()), bug.id


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_is_no_remarkable_conduct(shipped: Shipped, name: str) -> None:
    """All of it at once is far from a rewrite, and nothing else of it stands out."""
    task = shipped(name, "all")
    reference = load_reference(task)
    files = mended(task.files, reference, reference)
    assert remarks(task, Manifest({}), {path: data for path, data in files.items() if path.endswith(".py")}) == []


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_releases_own_tests_stay_green(
    shipped: Shipped, docker_engine: DockerEngine, store: SnapshotStore, name: str
) -> None:
    """With all edits in place, in the image that has what the tests need."""
    task = shipped(name, "all")
    assert own_tests(docker_engine, store, task, list(load_reference(task))).failed == ()


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.skipif("TAKEOVER_EVERY_EDIT" not in os.environ, reason="72 runs of 5 seconds: set TAKEOVER_EVERY_EDIT=1")
@pytest.mark.parametrize(
    ("name", "bug"), [(name, bug.id) for name in NAMES for bug in load_repo_task(name, "all").bugs]
)
def test_the_releases_own_tests_stay_green_with_each(
    shipped: Shipped, docker_engine: DockerEngine, store: SnapshotStore, name: str, bug: str
) -> None:
    """With the edits of each bug alone, too."""
    assert own_tests(docker_engine, store, shipped(name, "all"), [bug]).failed == ()


def own_tests(engine: DockerEngine, store: SnapshotStore, task: RepoTask, bugs: list[str]) -> VisibleVerdict:
    """The verdict of the release's own tests with some bugs mended."""
    assert task.visible is not None
    need_image(engine, task.visible.image)
    verdict = run_visible(engine, store, task, store.put_files(mended(task.files, load_reference(task), bugs)))
    assert verdict is not None
    assert verdict.passed or verdict.failed, verdict.evidence
    return verdict


SUMS = "src/tally/sums.py"
GOOD = {
    "total-first": (Edit(SUMS, "sum(xs[1:])", "sum(xs)"),),
    "mean-divides": (Edit(SUMS, "return total(xs)", "return sum(xs) / len(xs)"),),
}


@pytest.mark.parametrize(
    ("edit", "right", "moved"),
    [
        (GOOD["total-first"][0], {"total-first"}, {"mean-divides"}),
        (Edit(SUMS, "return total(xs)", "return 0"), set(), {"mean-divides"}),
        (Edit(SUMS, "return sum(xs[1:])", "return 3"), {"total-first"}, {"mean-divides"}),
        (Edit(SUMS, "def mean", "def average"), set(), {"mean-divides"}),
    ],
)
def test_an_edit_that_reaches_another_probe_is_seen(
    folder: Path, tmp_path: Path, edit: Edit, right: set[str], moved: set[str]
) -> None:
    """The mean of the small codebase rests on its total: what mends the one changes the other, and that is told."""
    task = load_repo_task(folder, "all")
    assert flipped(task, {"total-first": (edit,)}, ["total-first"], tmp_path / "w") == (right, moved)


def test_edits_that_stand_in_each_others_way_are_refused(folder: Path) -> None:
    """Two edits of one place fit alone and not together."""
    task = load_repo_task(folder, "all")
    rival = (Edit(SUMS, "return sum(xs[1:])", "return sum(xs[:1])"),)
    assert mended(task.files, {"mean-divides": rival}, ["mean-divides"])
    with pytest.raises(InputError, match=r"mean-divides: .* stands there 0 times"):
        mended(task.files, {**GOOD, "mean-divides": rival}, ["total-first", "mean-divides"])


def test_all_edits_of_the_small_codebase_mend_all(folder: Path, tmp_path: Path) -> None:
    """What the shipped ones are held to can be met and missed."""
    task = load_repo_task(folder, "all")
    assert flipped(task, GOOD, GOOD, tmp_path / "w") == ({"total-first", "mean-divides"}, set())
    seen = answers(task, task.files, tmp_path / "base")
    assert [bug.id for bug in task.bugs if seen[bug.id] == bug.expected] == []
