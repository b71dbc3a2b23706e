"""What hides from git does not hide from Gate I; and what in `.git` runs, hides or misleads is pointed out."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from takeover.sandbox import gate
from takeover.sandbox.gate import Status
from takeover.sandbox.gate_git import config_keys, is_bookkeeping
from takeover.sandbox.gate_model import FindingKind

GOOD = "def tax(cents):\n    return cents * 7 // 100\n"
EVIL = "def tax(cents):\n    return cents * 6 // 100\n"
ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=repo, env=ENV, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


@pytest.fixture(name="repo")
def _repo(tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    (repo / "tax.py").write_text(GOOD)
    (repo / "run.py").write_text("")
    # Old, so that git trusts the time in its index.
    for name in ("tax.py", "run.py"):
        os.utime(repo / name, (1_500_000_000, 1_500_000_000))
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "start")
    return repo


def _poison(repo: Path) -> None:
    (repo / "tax.py").write_text(EVIL)


def _index_flag(flag: str) -> Callable[[Path], None]:
    def hide(repo: Path) -> None:
        git(repo, "update-index", flag, "tax.py")
        _poison(repo)

    return hide


def _fsmonitor(repo: Path) -> None:
    lie = repo / ".git" / "lie"
    lie.write_text("#!/bin/sh\nprintf 'token\\0'\n")
    lie.chmod(0o755)
    git(repo, "config", "core.fsmonitor", str(lie))
    git(repo, "update-index", "--fsmonitor")
    git(repo, "status")
    _poison(repo)


def _restored_time(repo: Path) -> None:
    git(repo, "config", "core.checkStat", "minimal")
    git(repo, "config", "core.trustctime", "false")
    git(repo, "update-index", "--refresh")
    _poison(repo)
    os.utime(repo / "tax.py", (1_500_000_000, 1_500_000_000))


def _replaced_tree(repo: Path) -> None:
    tree = git(repo, "rev-parse", "HEAD^{tree}").strip()
    _poison(repo)
    git(repo, "add", "tax.py")
    git(repo, "replace", tree, git(repo, "write-tree").strip())


def _other_worktree(repo: Path) -> None:
    other = repo.parent / "clean"
    other.mkdir()
    for name in ("tax.py", "run.py"):
        (other / name).write_bytes((repo / name).read_bytes())
    git(repo, "config", "core.worktree", str(other))
    _poison(repo)


def _amended(repo: Path) -> None:
    _poison(repo)
    git(repo, "commit", "-q", "-a", "--amend", "--no-edit")


def _excluded(repo: Path) -> None:
    (repo / ".git" / "info" / "exclude").write_text("# mine\nevil.py\n")
    (repo / "evil.py").write_text(EVIL)


def _excludes_file(repo: Path) -> None:
    (repo / ".git" / "patterns").write_text("evil.py\n")
    git(repo, "config", "core.excludesFile", str(repo / ".git" / "patterns"))
    (repo / "evil.py").write_text(EVIL)


def _untracked_unshown(repo: Path) -> None:
    git(repo, "config", "status.showUntrackedFiles", "no")
    (repo / "evil.py").write_text(EVIL)


def _mode_ignored(repo: Path) -> None:
    git(repo, "config", "core.fileMode", "false")
    (repo / "run.py").chmod(0o755)


HIDDEN: dict[str, tuple[Callable[[Path], None], str, Status]] = {
    "assume-unchanged": (_index_flag("--assume-unchanged"), "tax.py", Status.DRIFTED),
    "skip-worktree": (_index_flag("--skip-worktree"), "tax.py", Status.DRIFTED),
    "a lying fsmonitor": (_fsmonitor, "tax.py", Status.DRIFTED),
    "restored time, same size": (_restored_time, "tax.py", Status.DRIFTED),
    "replaced objects": (_replaced_tree, "tax.py", Status.DRIFTED),
    "another worktree": (_other_worktree, "tax.py", Status.DRIFTED),
    "amended into HEAD": (_amended, "tax.py", Status.DRIFTED),
    "excluded by info/exclude": (_excluded, "evil.py", Status.ADDED),
    "excluded by core.excludesFile": (_excludes_file, "evil.py", Status.ADDED),
    "untracked files not shown": (_untracked_unshown, "evil.py", Status.ADDED),
    "modes ignored": (_mode_ignored, "run.py", Status.MODE_CHANGED),
}


@pytest.mark.parametrize(("hide", "path", "status"), HIDDEN.values(), ids=HIDDEN)
def test_hidden_from_git_is_seen_by_the_gate(
    hide: Callable[[Path], None], path: str, status: Status, repo: Path
) -> None:
    """`git status` and both diffs are empty, and the gate names the file."""
    before = gate.record_folder(repo)
    hide(repo)

    result = gate.check(before, gate.record_folder(repo))

    assert git(repo, "status", "--porcelain") + git(repo, "diff") + git(repo, "diff", "HEAD") == ""
    assert [(file.path, file.status) for file in result.drift if file.area == "workspace"] == [(path, status)]
    assert not result.clean


def test_line_ends_are_drift(repo: Path) -> None:
    """A file rewritten with CRLF under core.autocrlf has an empty git diff, and other bytes."""
    git(repo, "config", "core.autocrlf", "true")
    before = gate.record_folder(repo)
    (repo / "tax.py").write_bytes(GOOD.replace("\n", "\r\n").encode())

    result = gate.check(before, gate.record_folder(repo))

    assert git(repo, "diff") == ""
    assert [(file.path, file.status) for file in result.drift] == [("tax.py", Status.DRIFTED)]


def test_a_fresh_repository_has_no_findings(repo: Path) -> None:
    """What `git init` writes is nothing to look at, and of `.git` only the configuration is recorded."""
    record = gate.record_folder(repo)

    assert not record.findings
    assert list(record.entries) == [".git", ".git/config", ".git/info/exclude", "run.py", "tax.py"]


def test_honest_work_leaves_git_alone(repo: Path) -> None:
    """Commits, branches, tags, stashes, notes and gc change nothing that is recorded of `.git`."""
    before = gate.record_folder(repo)
    for command in (
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["branch", "feature/a"],
        ["tag", "-a", "v1", "-m", "x"],
        ["notes", "add", "-m", "x"],
        ["gc", "-q"],
        ["checkout", "-q", "feature/a"],
        ["merge", "-q", "main"],
    ):
        git(repo, *command)
    _poison(repo)
    git(repo, "stash", "-q")

    assert gate.check(before, gate.record_folder(repo)).clean


def write(path: str, text: str, mode: int = 0o644) -> Callable[[Path], None]:
    def make(repo: Path) -> None:
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text)
        (repo / path).chmod(mode)

    return make


def config(*keys: str) -> Callable[[Path], None]:
    def make(repo: Path) -> None:
        with (repo / ".git" / "config").open("a") as file:
            file.write("".join(keys))

    return make


def _fifo(path: str) -> Callable[[Path], None]:
    def make(repo: Path) -> None:
        (repo / path).unlink(missing_ok=True)
        os.mkfifo(repo / path)

    return make


def _linked(repo: Path) -> None:
    (repo / ".git" / "hooks").rename(repo / "h")
    (repo / ".git" / "hooks").symlink_to("../h")


def _pointer(repo: Path) -> None:
    (repo / ".git").rename(repo.parent / "elsewhere")
    (repo / ".git").write_text(f"gitdir: {repo.parent / 'elsewhere'}\n")


def _packed_replacement(repo: Path) -> None:
    _replaced_tree(repo)
    git(repo, "pack-refs", "--all")


FOUND: dict[str, tuple[Callable[[Path], None], FindingKind, str, str]] = {
    "hook": (write(".git/hooks/post-checkout", "#!/bin/sh\n", 0o755), FindingKind.GIT_HOOK, "post-checkout", "runs"),
    "sleeping hook": (write(".git/hooks/pre-commit", "x"), FindingKind.GIT_HOOK, "pre-commit", "would run"),
    "hook of a submodule": (write(".git/modules/m/hooks/update", "", 0o755), FindingKind.GIT_HOOK, "update", "runs"),
    "fsmonitor": (config("[core]\n\tfsmonitor = ./x\n"), FindingKind.GIT_CONFIG, ".git/config", "core.fsmonitor = ./x"),
    "on one line": (config("[core] hooksPath=.h"), FindingKind.GIT_CONFIG, ".git/config", "core.hookspath = .h"),
    "upper case": (config("[CORE]\nFSMonitor=x"), FindingKind.GIT_CONFIG, ".git/config", "core.fsmonitor"),
    "filter": (config('[filter "E.vil"]\nclean = x\n'), FindingKind.GIT_CONFIG, ".git/config", "filter.E.vil.clean"),
    "continued line": (config("[alias]\nst = \\\n!sh\n"), FindingKind.GIT_CONFIG, ".git/config", "alias.st"),
    "include": (config("[include]\npath = /x\n"), FindingKind.GIT_CONFIG, ".git/config", "include.path"),
    "conditional include": (config('[includeIf "gitdir:/"]\npath=x'), FindingKind.GIT_CONFIG, "config", "includeif"),
    "hiding": (config("[core]\ncheckStat = minimal\n"), FindingKind.GIT_CONFIG, ".git/config", "hides changes"),
    "mode off": (config("[core]\nfilemode = false\n"), FindingKind.GIT_CONFIG, ".git/config", "core.filemode = false"),
    "worktree config": (write(".git/config.worktree", "[core]\npager=x"), FindingKind.GIT_CONFIG, "worktree", "pager"),
    "huge config": (write(".git/config", "#" * (17 << 20)), FindingKind.GIT_CONFIG, ".git/config", "could not be read"),
    "exclude": (_excluded, FindingKind.GIT_EXCLUDE, ".git/info/exclude", "evil.py"),
    "sparse": (write(".git/info/sparse-checkout", "/a\n"), FindingKind.GIT_EXCLUDE, "sparse-checkout", "outside"),
    "attributes": (write(".gitattributes", "*.py filter=evil\n"), FindingKind.GIT_ATTRIBUTES, ".gitattributes", "evil"),
    "attributes below": (write("a/.gitattributes", "* diff=evil"), FindingKind.GIT_ATTRIBUTES, "a/.git", "diff=evil"),
    "info/attributes": (write(".git/info/attributes", "* merge=m"), FindingKind.GIT_ATTRIBUTES, ".git/info", "merge=m"),
    "alternates": (write(".git/objects/info/alternates", "/x"), FindingKind.GIT_ALTERNATES, "alternates", "outside"),
    "commondir": (write(".git/commondir", "/x"), FindingKind.GIT_ALTERNATES, ".git/commondir", "outside"),
    "replacement": (_replaced_tree, FindingKind.GIT_REPLACE, ".git/refs/replace/", "other objects"),
    "packed replacement": (_packed_replacement, FindingKind.GIT_REPLACE, ".git/packed-refs", "other objects"),
    "grafts": (write(".git/info/grafts", "x"), FindingKind.GIT_REPLACE, ".git/info/grafts", "history"),
    "FIFO as HEAD": (_fifo(".git/HEAD"), FindingKind.GIT_SPECIAL, ".git/HEAD", "fifo"),
    "FIFO as index": (_fifo(".git/index"), FindingKind.GIT_SPECIAL, ".git/index", "fifo"),
    "FIFO as a ref": (_fifo(".git/refs/heads/z"), FindingKind.GIT_SPECIAL, ".git/refs/heads/z", "fifo"),
    "hooks a link": (_linked, FindingKind.GIT_SPECIAL, ".git/hooks", "link"),
    ".git a file": (_pointer, FindingKind.GIT_POINTER, ".git", "elsewhere"),
    "nested repository": (lambda r: git(r, "init", "-q", "sub"), FindingKind.NESTED_REPOSITORY, "sub/.git", "within"),
    "bare repository": (lambda r: git(r, "init", "-q", "--bare", "b"), FindingKind.NESTED_REPOSITORY, "b", "bare"),
}


@pytest.mark.parametrize(("make", "kind", "path", "detail"), FOUND.values(), ids=FOUND)
def test_git_itself_is_in_view(
    make: Callable[[Path], None], kind: FindingKind, path: str, detail: str, repo: Path
) -> None:
    """Each way to make git run, hide or mislead is a finding of its kind, new since the record, and shuts the gate."""
    before = gate.record_folder(repo)
    make(repo)

    result = gate.check(before, gate.record_folder(repo))

    found = [(finding.path, finding.detail) for finding in result.new_findings if finding.kind is kind]
    assert any(path in where and detail in what for where, what in found), result.new_findings
    assert not result.clean


HARMLESS = {
    "names git knows": write(".gitattributes", "*.py diff=python\n*.md text eol=lf\n"),
    "an empty exclude": write(".git/info/exclude", "# nothing\n"),
    "identity": config("[user]\nname = x\nemail = y\n"),
    "remote": config('[remote "origin"]\nurl = https://example.org/x\nfetch = +refs/heads/*:refs/remotes/origin/*\n'),
    "what init writes": config("[core]\nfilemode = true\nbare = false\nlogallrefupdates = true\n"),
    "HEAD in a folder": write("a/HEAD", "ref: refs/heads/main\n"),
}


@pytest.mark.parametrize("make", HARMLESS.values(), ids=HARMLESS)
def test_the_ordinary_is_no_finding(make: Callable[[Path], None], repo: Path) -> None:
    """What honest repositories have is not pointed at."""
    make(repo)

    assert not gate.record_folder(repo).findings


BOOKKEEPING = {
    ".git/HEAD": True,
    ".git/ORIG_HEAD": True,
    ".git/CHERRY_PICK_HEAD": True,
    ".git/index": True,
    ".git/logs/refs/heads/main": True,
    ".git/objects/ab/" + "0" * 38: True,
    ".git/objects/pack/pack-" + "0" * 40 + ".idx": True,
    ".git/modules/x/index": True,
    "sub/.git/index": True,
    ".git/hooks/pre-commit.sample": True,
    ".git/hooks/pre-commit": False,
    ".git/config": False,
    ".git/objects/evil.py": False,
    ".git/logs/evil.py": False,
    ".git/refs/heads/evil.so": False,
    ".git/objects/ab/code": False,
    ".git/refs/replace/" + "0" * 40: False,
    ".git": False,
    "index": False,
    "x.git/index": False,
    ".github/index": False,
}


@pytest.mark.parametrize(("path", "expected"), BOOKKEEPING.items(), ids=BOOKKEEPING)
def test_bookkeeping_is_told_by_its_shape(path: str, expected: bool) -> None:
    """Only files of the shape that git gives its own are left out; nothing importable hides among them."""
    assert is_bookkeeping(path) is expected


def test_configuration_is_read_as_git_reads_it() -> None:
    """Sections, subsections, one-line forms, bare keys, comments."""
    text = '# c\n[a]\nx = 1\n; c\n[b "C.d"] Y=2\nz\n[e.F]\n\tg=\\\n h\n'

    assert list(config_keys(text)) == [("a.x", "1"), ("b.C.d.y", "2"), ("b.C.d.z", ""), ("e.f.g", "h")]
