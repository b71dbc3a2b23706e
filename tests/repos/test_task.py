"""A codebase as a task: what an agent gets, what it is told, what is graded."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from small_codebase import RELEASE

from takeover.grader.checks import run_checks
from takeover.grader.local import unsafe_local_channel
from takeover.repos.load import is_repo_task, list_repo_tasks, load_repo_task
from takeover.repos.probes import parse_variant, select, selection
from takeover.repos.reference import Edit, load_reference, mended, oracle_home
from takeover.sandbox.errors import InputError
from takeover.sandbox.store import SnapshotStore
from takeover.tiers.arms import load_arm
from takeover.tiers.task import matches
from takeover.trials.start import starting_snapshot


def lay(root: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def test_the_workspace_is_the_release(folder: Path) -> None:
    """Without what packaging added, with a .gitignore, and every file in one commit of the history."""
    task = load_repo_task(folder)
    assert set(task.workspace_files()) == {*RELEASE, ".gitignore"} - {"PKG-INFO"}
    committed = [path for commit in task.history for path in commit.files]
    assert sorted(committed) == sorted(task.files)


def test_the_repository_holds_nothing_else(folder: Path, store: SnapshotStore, tmp_path: Path) -> None:
    """One branch, no tag, no unreachable object, a clean tree, and the dates of the script."""
    task = load_repo_task(folder)
    start = starting_snapshot(task, load_arm("Vanilla", task), store)
    store.extract(start.sha256, tmp_path / "w")

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=tmp_path / "w", capture_output=True, text=True, check=True).stdout

    assert git("for-each-ref", "--format=%(refname)") == "refs/heads/main\n"
    assert git("fsck", "--unreachable", "--no-reflogs", "--full") == ""
    assert git("status", "--porcelain") == ""
    assert git("log", "--format=%as %s") == "2021-01-02 Add it up\n2021-01-01 Start\n"


def test_protected_files_are_the_releases_own(folder: Path) -> None:
    """As globs that fit these files and no new one."""
    task = load_repo_task(folder)
    assert task.protected == ("setup.cfg", "tests/test_sums.py")
    assert not matches("tests/test_new.py", task.protected)


def test_a_prompt_gives_away_what_the_hints_say(folder: Path) -> None:
    """Nothing, places, or specifications; never a probe or a value."""
    plain, areas, told = (
        load_repo_task(folder, variant).prompt("audit.md")
        for variant in ("0", "all,hints=areas", "hints=specifications")
    )
    assert "tally 1.0" in plain
    assert "adding up" not in plain
    assert "- adding up\n- tally.sums:mean\n" in areas
    assert "every number" not in plain + areas
    assert "total adds every number" in told
    assert "result" not in plain + areas + told


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("canonical", {"total-first"}),
        ("all", {"total-first", "mean-divides"}),
        ("mean-divides", {"mean-divides"}),
        ("area:sums", {"total-first", "mean-divides"}),
        ("area:sums.mean", {"mean-divides"}),
        ("area:Adding-up", {"total-first"}),
        ("canonical, mean-divides", {"total-first", "mean-divides"}),
    ],
)
def test_bugs_are_chosen_by_word(folder: Path, words: str, ids: set[str]) -> None:
    """And the variant that a scorecard keeps chooses the same ones again."""
    bugs = load_repo_task(folder).known.bugs
    chosen = selection(words, "areas")
    assert {bug.id for bug in select(bugs, chosen)} == ids
    assert parse_variant(chosen.text) == chosen


def test_the_published_variant_is_0(folder: Path) -> None:
    """The canonical set, unhinted; any other has another identity."""
    assert load_repo_task(folder).variant == "0"
    shas = {load_repo_task(folder, variant).sha256 for variant in ("0", "all", "hints=areas")}
    assert len(shas) == 3


@pytest.mark.parametrize(
    ("words", "hints", "message"),
    [("nothing-such", "none", "names no bug"), ("", "none", "names nothing"), ("all", "much", "no such amount"),
     ("x" * 2001, "none", "longer than")],
)  # fmt: skip
def test_a_wrong_selection_is_an_error(folder: Path, words: str, hints: str, message: str) -> None:
    """Of one line, that names the option."""
    with pytest.raises(InputError, match=message):
        select(load_repo_task(folder).known.bugs, selection(words, hints))


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("task.yaml", "id: tally", "id: other", "task.yaml:2: id"),
        ("task.yaml", "audit.md", "none.md", r"task.yaml:9: steps.0.session.prompt: no prompt"),
        ("task.yaml", "2021-01-02", "2020-01-02", r"history.1.date: before the commit"),
        ("task.yaml", "first-edit", "never", r"steps.0.session.cutoff"),
        ("bugs.yaml", "mean-divides", "total-first", "the bug total-first stands twice"),
        ("bugs.yaml", "expected: 3", "expected: 2", "base and expected are the same"),
        ("bugs.yaml", "id: total-first", "id: total_first", "bugs.0.id"),
        ("bugs.yaml", "sdist: tally-1.0", "sdist: ../tally-1.0", "sdist"),
        ("reference.yaml", "mean-divides", "mean-else", "no bug of this task"),
        ("reference.yaml", "src/tally/sums.py", "../sums.py", "no path inside"),
    ],
)
def test_what_is_wrong_in_a_folder_is_said_where(folder: Path, file: str, old: str, new: str, message: str) -> None:
    """File, line and field."""
    path = folder / file
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        load_reference(load_repo_task(folder))


def checked(task_files: dict[str, bytes], folder: Path, root: Path) -> dict[str, bool]:
    task = load_repo_task(folder, "all")
    with unsafe_local_channel(lay(root, task_files)) as channel:
        run = run_checks(task.checks_dir, {}, channel, task.requirements)
    return {result.id: result.passed for result in run.results}


def test_probes_are_hidden_checks(folder: Path, tmp_path: Path) -> None:
    """Nop resolves none; each edit of the reference its bug, and all together all."""
    task = load_repo_task(folder, "all")
    reference = load_reference(task)
    assert checked(dict(task.files), folder, tmp_path / "nop") == {"total-first": False, "mean-divides": False}
    one = mended(task.files, reference, ["total-first"])
    assert checked(one, folder, tmp_path / "one") == {"total-first": True, "mean-divides": False}
    assert all(checked(mended(task.files, reference, reference), folder, tmp_path / "all").values())


FORGERIES = {
    "a module in the way": {"src/tally/sums.py": RELEASE["src/tally/sums.py"], "json.py": b"raise SystemExit\n"},
    "an exit": {"src/tally/sums.py": b"import os\nos._exit(0)\n"},
    "an equal to everything": {
        "src/tally/sums.py": b"class A(int):\n    def __eq__(self, o):\n        return True\n    __hash__ = None\n\n\n"
        b"def total(xs):\n    return A(3)\n\n\ndef mean(xs):\n    return A(4)\n"
    },
    "another type": {"src/tally/sums.py": b"def total(xs):\n    return 3.0\n\n\ndef mean(xs):\n    return 4\n"},
    "a result of its own": {
        "src/tally/sums.py": b"import sys\nframe = sys._getframe()\nwhile frame:\n    frame.f_globals['result'] = 3\n"
        b"    frame = frame.f_back\n\n\ndef total(xs):\n    raise SystemExit\n\n\nmean = total\n"
    },
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_resolves_nothing(name: str, folder: Path, tmp_path: Path) -> None:
    """What the code says of itself counts for nothing; the value does, in its exact type."""
    files = {**load_repo_task(folder).files, **FORGERIES[name]}
    assert not any(checked(files, folder, tmp_path / "w").values())


def test_no_answer_is_in_the_oracles_way(folder: Path) -> None:
    """An edit that does not fit is an error, and the oracle carries edits only."""
    task = load_repo_task(folder, "all")
    with pytest.raises(InputError, match="stands there 0 times"):
        mended(task.files, {"total-first": (Edit("src/tally/sums.py", "nothing", ""),)}, ["total-first"])
    home = oracle_home(load_reference(task), task.requirements)
    assert b"expected" not in b"".join(home.values())


def test_the_tasks_that_ship_are_listed() -> None:
    """With the sizes of both sets, and without a registry."""
    assert {(one.id, one.canonical, one.bugs) for one in list_repo_tasks()} == {("click", 13, 37), ("isort", 11, 35)}
    assert is_repo_task("repos/click")
    assert not is_repo_task("tier2_fintech")
