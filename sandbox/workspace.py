"""The pristine git repository of a task, made on the trusted side and never from anything an agent touched.

The same files and history give the same bytes: fixed authors and dates, no settings, templates or hooks of the
host, an index without the stat data of the place it was made in.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

# GitPython looks for git as it is imported, and would fail there where there is none.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

from git import Git
from git.exc import GitCommandError, GitCommandNotFound

from .errors import InputError, MachineryError
from .items import plain_file
from .snapshot import Snapshot
from .store import SnapshotStore
from .tree import TreeItem, canonical_key, decode_path, is_safe_path

BRANCH: Final = "main"
_ENV: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_COUNT": "0",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TEMPLATE_DIR": "",
    "GIT_CONFIG_PARAMETERS": "",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
    "GIT_DEFAULT_HASH": "sha1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "TZ": "UTC",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who works in the repository: what `.git/config` says, so that an agent can commit."""

    name: str = "Developer"
    email: str = "developer@example.com"


@dataclass(frozen=True, slots=True)
class CommitSpec:
    """One commit: the files it sets (bytes) or deletes (None). `date` is ISO 8601 with its zone."""

    message: str
    author: str
    email: str
    date: str
    files: Mapping[str, bytes | None] = field(default_factory=dict)


def build_repository(
    files: Mapping[str, bytes],
    history: Sequence[CommitSpec],
    store: SnapshotStore,
    identity: Identity | None = None,
) -> Snapshot:
    """A repository with that history, whose working tree holds exactly `files`, as a stored snapshot.

    Where `files` and the last commit differ, the difference is uncommitted. InputError for a bad path or date.
    """
    identity = identity or Identity()
    _check(files, history)
    key = (str(store.root), _key(files, history, identity))
    if (made := _MADE.get(key)) is not None and made.sha256 in store:
        return made
    with tempfile.TemporaryDirectory(prefix="takeover-repository-") as folder:
        try:
            _make(Path(folder), files, history, identity)
        except (GitCommandError, GitCommandNotFound) as error:
            raise MachineryError(f"git could not build the workspace: {error}", hint="Is git installed?") from error
        with store.writer() as writer:
            for item, content in _items(Path(folder)):
                writer.add(item, (content,))
            snapshot = writer.finish()
    _MADE[key] = snapshot
    return snapshot


_MADE: Final[dict[tuple[str, str], Snapshot]] = {}


def _check(files: Mapping[str, bytes], history: Sequence[CommitSpec]) -> None:
    for path in (*files, *(path for commit in history for path in commit.files)):
        if not is_safe_path(path) or path.split("/")[0].casefold() == ".git":
            raise InputError(f"{path!r} cannot be a file of a workspace")
    for commit in history:
        if not commit.message.strip():
            raise InputError(f"the commit of {commit.date} has no message")
        try:
            zone = datetime.fromisoformat(commit.date).tzinfo
        except ValueError:
            zone = None
        if zone is None:
            raise InputError(f"commit {commit.message!r}: {commit.date!r} is no ISO date with a zone")


def _key(files: Mapping[str, bytes], history: Sequence[CommitSpec], identity: Identity) -> str:
    digest = hashlib.sha256()

    def mix(*parts: bytes | str | None) -> None:
        for part in parts:
            raw = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
            digest.update(b"-" if raw is None else b"%d:" % len(raw) + raw)

    mix(identity.name, identity.email, json.dumps([len(files), *(len(commit.files) for commit in history)]))
    for path in sorted(files):
        mix(path, files[path])
    for commit in history:
        mix(commit.message, commit.author, commit.email, commit.date)
        for path in sorted(commit.files):
            mix(path, commit.files[path])
    return digest.hexdigest()


def _make(root: Path, files: Mapping[str, bytes], history: Sequence[CommitSpec], identity: Identity) -> None:
    git = Git(str(root))
    git.update_environment(**_environment(root))
    git.init("--quiet", f"--initial-branch={BRANCH}", "--template=")
    git.config("user.name", identity.name)
    git.config("user.email", identity.email)
    for commit in history:
        _commit(git, root, commit)
    if history:
        # An index remembers inodes and times of this place; read anew it holds the tree and nothing else.
        (root / ".git" / "index").unlink()
        git.read_tree("HEAD")
    committed: dict[str, bytes | None] = {}
    for commit in history:
        committed.update(commit.files)
    left = [path for path, data in committed.items() if data is not None]
    _write(root, {path: files.get(path) for path in (*left, *files)})


def _environment(root: Path) -> dict[str, str]:
    """Overrides all that git could hear from the host: its settings, and the variables of an enclosing hook."""
    nowhere, git_dir = str(root / ".nowhere"), root / ".git"
    return {
        **_ENV,
        "HOME": nowhere,
        "XDG_CONFIG_HOME": nowhere,
        "GIT_DIR": str(git_dir),
        "GIT_WORK_TREE": str(root),
        "GIT_INDEX_FILE": str(git_dir / "index"),
        "GIT_OBJECT_DIRECTORY": str(git_dir / "objects"),
    }


def _commit(git: Git, root: Path, commit: CommitSpec) -> None:
    _write(root, commit.files)
    who = {
        "GIT_AUTHOR_NAME": commit.author,
        "GIT_AUTHOR_EMAIL": commit.email,
        "GIT_AUTHOR_DATE": commit.date,
        "GIT_COMMITTER_NAME": commit.author,
        "GIT_COMMITTER_EMAIL": commit.email,
        "GIT_COMMITTER_DATE": commit.date,
    }
    git.add("--all", "--force")
    git.commit("--quiet", "--allow-empty", "--no-gpg-sign", "--no-verify", f"--message={commit.message}", env=who)


def _write(root: Path, files: Mapping[str, bytes | None]) -> None:
    # Deletions first: a file may make room for a directory of its name.
    for path in (path for path, data in files.items() if data is None):
        target = root / path
        target.unlink()
        for parent in target.parents:
            if parent == root or any(parent.iterdir()):
                break
            parent.rmdir()
    for path, data in files.items():
        if data is not None:
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            target.chmod(plain_file(path, data).mode)


def _items(root: Path) -> Iterator[tuple[TreeItem, bytes]]:
    found = {decode_path(os.fsencode(path.relative_to(root))): path for path in root.rglob("*")}
    for name in sorted(found, key=canonical_key):
        path = found[name]
        mode = path.stat().st_mode
        # The host's umask must not show: git's own read-only objects stay so, the rest is 755 or 644.
        if path.is_dir():
            yield TreeItem(name, "d", 0o755), b""
        else:
            data = path.read_bytes()
            kept = 0o755 if mode & 0o100 else 0o644 if mode & 0o200 else 0o444
            yield TreeItem(name, "f", kept, len(data)), data
