"""Where a release comes from: a package index, a git repository, a folder."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# GitPython looks for git as it is imported, and would fail there where there is none.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

from git import Git
from git.exc import GitCommandError, GitCommandNotFound

from ..sandbox.errors import InputError
from ..sandbox.tree import is_safe_path
from .source import SourceArchive, files_of, pinned
from .unpack import MAX_BYTES, MAX_FILES, unpack

_GIT: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_COUNT": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # No transport that runs a program of the address's choosing.
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "LC_ALL": "C",
}
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,200}")


@dataclass(frozen=True)
class Release:
    """A state of a project. `archive` names it on a package index; None where the files have to be kept."""

    project: str
    version: str
    files: Mapping[str, bytes]
    archive: SourceArchive | None = None


def from_package(project: str, version: str, pin: Callable[[str, str], SourceArchive] = pinned) -> Release:
    """A release by name and version; its hash is what the index says now, and pinned from here on."""
    archive = pin(project, version)
    return Release(project, version, files_of(archive), archive)


def from_folder(folder: Path, project: str, version: str) -> Release:
    """The regular files of a folder, without its git repository; InputError for links and what is too much."""
    files: dict[str, bytes] = {}
    total = 0
    if not folder.is_dir():
        raise InputError(f"{folder}: not a directory")
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if (
            name.split("/")[0] == ".git"
            or "__pycache__" in name.split("/")
            or (path.is_dir() and not path.is_symlink())
        ):
            continue
        if path.is_symlink() or not path.is_file() or not is_safe_path(name) or not name.isprintable():
            raise InputError(f"{folder}: {name!a} is no regular file with a plain name")
        total += path.stat().st_size
        if total > MAX_BYTES or len(files) >= MAX_FILES:
            raise InputError(f"{folder}: more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB")
        files[name] = path.read_bytes()
    if not files:
        raise InputError(f"{folder}: holds no file")
    return Release(project, version, files)


def from_git(url: str, revision: str, project: str, version: str) -> Release:
    """The tree of a revision of a git repository, read out of a bare clone: nothing of it is checked out or run."""
    if not _REVISION.fullmatch(revision) or url.startswith("-"):
        raise InputError(f"{revision!r} of {url!r} is no revision of a git repository")
    # git runs in a folder of its own, from where a relative path would lead elsewhere.
    origin = str(Path(url).resolve()) if Path(url).is_dir() else url
    with tempfile.TemporaryDirectory(prefix="takeover-clone-") as scratch:
        git = Git(scratch)
        git.update_environment(**_GIT, HOME=scratch)
        bare, out = str(Path(scratch) / "bare"), str(Path(scratch) / "tree.tar.gz")
        try:
            git.clone("--bare", "--quiet", "--template=", "--", origin, bare)
            # What a release leaves out, its tests often, belongs to the task.
            info = Path(bare) / "info"
            info.mkdir(exist_ok=True)
            (info / "attributes").write_text("* -export-ignore -export-subst\n", encoding="utf-8")
            git.execute(
                ["git", "-C", bare, "archive", "--format=tar.gz", "--prefix=tree/", f"--output={out}", revision, "--"]
            )
        except (GitCommandError, GitCommandNotFound) as error:
            said = str(getattr(error, "stderr", "") or error).strip().splitlines()
            raise InputError(f"{url} at {revision}: git: {said[-1] if said else 'failed'}") from error
        return Release(project, version, unpack(Path(out).read_bytes(), f"{url} at {revision}"))
