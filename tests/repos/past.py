"""What a built repository knows that is later than its release, or that a project's own history would not hold."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

# What git makes for an empty repository with one branch and one work tree.
PLAIN = {
    "HEAD",
    "config",
    "index",
    "description",
    "COMMIT_EDITMSG",
    "objects",
    "refs",
    "info",
    "branches",
    "hooks",
    "logs",
}
SECTIONS = {"core", "user"}
_RELEASE = re.compile(rb"^(?:\W*(?:version|release)\W+|\W*)v?(\d+(?:\.\d+){1,3})\b[^\n]{0,40}$", re.IGNORECASE)
_RELEASED = re.compile(rb"\b(20\d\d-\d\d-\d\d)\b")
LOGS = ("change", "history", "news", "release", "whatsnew")


def git(root: Path, *words: str) -> str:
    """What git says of a repository, without any setting of this machine."""
    environment = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C", "TZ": "UTC"}
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, check=True, env=environment)
    return done.stdout.decode("utf-8", "replace")


def findings(root: Path, release: str, date: str, later: Iterable[str] = ()) -> list[str]:
    """What is wrong with the repository of a release of that day; `later` are versions that nothing may speak of."""
    return [
        *_references(root),
        *_objects(root),
        *_settings(root),
        *_commits(root, date, later),
        *_logs(root, release, date),
    ]


def _references(root: Path) -> Iterator[str]:
    for line in git(root, "for-each-ref", "--format=%(objecttype) %(refname)").splitlines():
        if line != "commit refs/heads/main":
            yield f"reference {line}"
    commits = set(git(root, "rev-list", "main").split())
    for path in (root / ".git/logs").rglob("*"):
        for line in path.read_text().splitlines() if path.is_file() else []:
            if not set(line.split()[:2]) <= commits | {"0" * 40}:
                yield f"{path.relative_to(root)} leads to {line.split()[1]}"
    if git(root, "symbolic-ref", "HEAD").strip() != "refs/heads/main":
        yield "HEAD is not main"
    if git(root, "status", "--porcelain", "--ignored").strip():
        yield "the work tree is not that of HEAD"


def _objects(root: Path) -> Iterator[str]:
    """Every object that is stored, and no other, is one that the commits of main lead to."""
    led = {line.split()[0] for line in git(root, "rev-list", "--objects", "main").splitlines()}
    stored = git(root, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)", "--unordered")
    for line in stored.splitlines():
        name, kind = line.split()
        if name not in led:
            yield f"{kind} {name} that no commit leads to"
    for line in git(root, "fsck", "--full", "--strict", "--unreachable", "--no-reflogs").splitlines():
        yield f"fsck: {line}"
    if (root / ".git/objects/info/alternates").exists():
        yield "objects of another repository"


def _settings(root: Path) -> Iterator[str]:
    for path in (root / ".git").iterdir():
        if path.name not in PLAIN:
            yield f".git/{path.name}"
    for folder in ("hooks", "info"):
        for path in (root / ".git" / folder).glob("*"):
            if path.name not in ("exclude", "refs") and not path.name.endswith(".sample"):
                yield f".git/{folder}/{path.name}"
    for line in git(root, "config", "--local", "--list", "--name-only").splitlines():
        if line.split(".")[0] not in SECTIONS:
            yield f"setting {line}"


def _commits(root: Path, date: str, later: Iterable[str]) -> Iterator[str]:
    lines = git(root, "log", "--reverse", "--format=%H%x00%aI%x00%cI%x00%ae%x00%B%x01", "main").split("\x01")
    commits = [line.strip().split("\x00") for line in lines if line.strip()]
    if len(commits) < 2:
        yield "one commit holds everything"
    before = ""
    for name, authored, committed, address, message in commits:
        if max(authored, committed)[:10] > date:
            yield f"commit {name} of {max(authored, committed)}"
        if committed < before:
            yield f"commit {name} is older than its parent"
        before = committed
        if not address.endswith(".example"):
            yield f"commit {name} by {address}"
        if not git(root, "diff-tree", "--root", "--name-only", "-r", "--no-commit-id", name).strip():
            yield f"commit {name} changes nothing"
        for version in later:
            if re.search(rf"(?<![\d.]){re.escape(version)}(?![\d.])", message):
                yield f"commit {name} speaks of {version}"


def _logs(root: Path, release: str, date: str) -> Iterator[str]:
    """Headings of a later release, or dates after this one, in whatever tells what changed."""
    for path in git(root, "ls-tree", "-r", "--name-only", "-z", "main").split("\0"):
        if not any(mark in path.lower() for mark in LOGS) or path.endswith(".py"):
            continue
        for line in (root / path).read_bytes().splitlines():
            heading = _RELEASE.match(line)
            if heading and _number(heading[1].decode()) > _number(release):
                yield f"{path} speaks of {heading[1].decode()}"
            for day in _RELEASED.findall(line):
                if day.decode() > date:
                    yield f"{path} speaks of {day.decode()}"


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
