"""`takeover repos add`: a task from nothing, and probes that are refused."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from small_codebase import RELEASE

from takeover.grader.local import unsafe_local_channel
from takeover.grader.subject import Subject
from takeover.repos.add import RUNS, Answer, Wanted, add_task
from takeover.repos.load import load_repo_task
from takeover.repos.origin import Release, from_folder, from_git
from takeover.sandbox.errors import InputError

FIXED = {**RELEASE, "src/tally/sums.py": b"def total(xs):\n    return sum(xs)\n"}
PROBES = """\
schema_version: 1
summary: a library that adds up
package: tally
folders: [src]
protected: ["tests/"]
dropped: [PKG-INFO]
bugs:
  - id: total-first
    area: tally.sums:total
    specification: total adds every number.
    probe: |
      {probe}
    expected: {expected}
"""
GOOD = "from tally.sums import total; result = total([1, 2])"


@pytest.fixture
def ask(tmp_path: Path):
    """Runs probes here; the command runs them in a sandbox."""
    count = 0

    def run(files: Mapping[str, bytes], probes: Sequence[str], folders: Sequence[str]) -> list[Answer]:
        nonlocal count
        count += 1
        root = tmp_path / f"ask-{count}"
        for path, data in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        with unsafe_local_channel(root) as channel:
            seen = [Subject(channel).probe(probe, *folders).outcome for probe in probes]
        return [Answer(o.value) if o.how == "value" else Answer(why=o.describe("the probe")) for o in seen]

    return run


def wanted(tmp_path: Path, probe: str = GOOD, expected: str = "3", fixed: dict[str, bytes] | None = None) -> Wanted:
    path = tmp_path / "probes.yaml"
    path.write_text(PROBES.format(probe=probe, expected=expected))
    later = Release("tally", "2.0", fixed) if fixed else None
    return Wanted("tally", Release("tally", "1.0", RELEASE), path, tmp_path / "tasks", later)


def test_a_task_is_made_from_nothing(tmp_path: Path, ask) -> None:
    """It loads without what it was made of, and what base gives was measured."""
    task = add_task(wanted(tmp_path, fixed=FIXED), ask)
    again = load_repo_task(tmp_path / "tasks" / "tally")
    assert again.sha256 == task.sha256
    assert (again.bugs[0].base, again.bugs[0].expected) == (2, 3)
    assert set(again.workspace_files()) == {*RELEASE, ".gitignore"} - {"PKG-INFO"}
    assert [len(commit.files) for commit in again.history] == [len(again.files)]


@pytest.mark.parametrize(
    ("probe", "expected", "fixed", "message"),
    [
        (
            "import os; result = os.urandom(9).hex()",
            "3",
            None,
            rf"total-first: not deterministic at base: .* within {RUNS} runs",
        ),
        (GOOD, "2", None, "total-first: does not fail at base: it gives what is expected, 2"),
        ("import nothing_such; result = 1", "3", None, "total-first: gives no value at base: .*nothing_such"),
        (GOOD, "4", FIXED, "total-first: does not pass at the fixed release: 3, expected 4"),
        (GOOD, "3.0", FIXED, r"does not pass at the fixed release: 3, expected 3\.0"),
        ("result = {'b': 1, 'a': {2, 3} == {3, 2}}", "{a: true, b: 1}", None, "total-first: does not fail at base"),
        ("import decimal; result = [decimal.Decimal(1)]", "3", None, "leaves .*Decimal.* at base; only numbers"),
        ("result = {'a': (1, 2)}", "3", None, r"leaves .*\(1, 2\).* at base; only numbers"),
        ("result = chr(0xD800)", "3", None, "leaves .* at base; only numbers"),
    ],
)
def test_a_bad_probe_is_refused(tmp_path: Path, ask, probe: str, expected: str, fixed, message: str) -> None:
    """By name, with what was seen; and nothing is written."""
    with pytest.raises(InputError, match=message):
        add_task(wanted(tmp_path, probe, expected, fixed), ask)
    assert not (tmp_path / "tasks").exists()


def test_what_has_no_order_is_compared_without_one() -> None:
    """As the grader does: keys and members in any order, every type as it is."""
    assert Answer({"a": 1, "b": [{"c", "d"}]}).same(Answer({"b": [{"d", "c"}], "a": 1}))
    assert not Answer({"a": 1}).same(Answer({"a": True}))
    assert not Answer([1, 2]).same(Answer([2, 1]))
    assert not Answer([1]).same(Answer((1,)))


def test_nothing_is_overwritten(tmp_path: Path, ask) -> None:
    """A folder of that name stays as it is."""
    (tmp_path / "tasks" / "tally").mkdir(parents=True)
    with pytest.raises(InputError, match="is there already"):
        add_task(wanted(tmp_path), ask)


def repository(root: Path) -> Path:
    for path, data in {**RELEASE, ".gitattributes": b"tests export-ignore\n* filter=evil\n"}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    settings = ["-c", "user.name=I", "-c", "user.email=i@x.example", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"], ["tag", "v1"]):
        subprocess.run(["git", *settings, *words], cwd=root, check=True, capture_output=True)
    # A filter that would run if anything were checked out with this repository's settings.
    subprocess.run(["git", "config", "filter.evil.smudge", f"touch {root}/ran"], cwd=root, check=True)
    return root


def test_a_git_repository_is_read_and_not_run(tmp_path: Path) -> None:
    """The tree of a tag, with what exports leave out, and no filter of the repository's."""
    root = repository(tmp_path / "origin")
    release = from_git(str(root), "v1", "tally", "1.0")
    assert set(release.files) == {*RELEASE, ".gitattributes"}
    assert not (root / "ran").exists()
    assert set(from_folder(root, "tally", "1.0").files) == set(release.files)


def test_a_git_repository_may_be_a_folder_beside_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path relative to where the user stands is one."""
    repository(tmp_path / "origin")
    monkeypatch.chdir(tmp_path)
    assert set(from_git("./origin", "v1", "tally", "1.0").files) == {*RELEASE, ".gitattributes"}


@pytest.mark.parametrize("revision", ["--output=x", "nothing-such", ""])
def test_a_wrong_revision_is_an_error(tmp_path: Path, revision: str) -> None:
    """Of one line, and no option of git's."""
    with pytest.raises(InputError, match=r"revision|git: "):
        from_git(str(repository(tmp_path / "origin")), revision, "tally", "1.0")


def test_a_folder_with_links_is_refused(tmp_path: Path) -> None:
    """A link could lead anywhere on this machine."""
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "link").symlink_to("/etc/passwd")
    with pytest.raises(InputError, match="no regular file"):
        from_folder(tmp_path / "f", "p", "1")
