"""The source distribution of a base release: fetched when a task is built, kept in the user's cache, verified always."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..sandbox.errors import InputError
from .registry import Settings, Unreachable, download, listed, pip_settings
from .unpack import unpack

MAX_ARCHIVE = 64 << 20
CACHE_VARIABLE = "TAKEOVER_CACHE"

Fetch = Callable[[str, str], bytes]


@dataclass(frozen=True, slots=True)
class SourceArchive:
    """A release's source distribution by the name of its file, and the SHA-256 that makes it that one."""

    project: str
    version: str
    file: str
    sha256: str


def cache_folder() -> Path:
    """Where archives are kept: $TAKEOVER_CACHE, else takeover/ below the user's cache directory."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "takeover"


def files_of(archive: SourceArchive, cache: Path | None = None, fetch: Fetch | None = None) -> dict[str, bytes]:
    """The files of a release, by path below the archive's one folder; InputError where they cannot be had."""
    return unpack(archive_bytes(archive, cache, fetch), archive.file)


def archive_bytes(archive: SourceArchive, cache: Path | None = None, fetch: Fetch | None = None) -> bytes:
    """The verified bytes of an archive, from the cache or else from the package index."""
    kept = (cache or cache_folder() / "sources") / archive.sha256 / archive.file
    try:
        data = kept.read_bytes()
    except OSError:
        data = b""
    if hashlib.sha256(data).hexdigest() == archive.sha256:
        return data
    data = _fetched(archive, fetch or from_index)
    if (found := hashlib.sha256(data).hexdigest()) != archive.sha256:
        raise InputError(
            f"{archive.file}: its SHA-256 is {found}, not {archive.sha256}",
            hint="What the package index gave is not the release that this task is about.",
        )
    _keep(kept, data)
    return data


def pinned(project: str, version: str) -> SourceArchive:
    """The source distribution of a release as the index has it now, by its hash; InputError where there is none."""
    wanted = {f"{name}-{version}.tar.gz" for name in (project, project.replace("-", "_"), project.lower())}
    try:
        for file, sha256 in listed(project, pip_settings()):
            if file in wanted and sha256 is not None:
                return SourceArchive(project, version, file, sha256)
    except Unreachable as error:
        raise InputError(f"{project} {version} cannot be looked up: {str(error)[:300]}") from error
    raise InputError(f"the package index has no source distribution of {project} {version} with a SHA-256")


def from_index(project: str, file: str) -> bytes:
    """A file of a project from the index that pip is set to."""
    settings: Settings = pip_settings()
    return download(project, file, settings, most=MAX_ARCHIVE)


def _fetched(archive: SourceArchive, fetch: Fetch) -> bytes:
    try:
        return fetch(archive.project, archive.file)
    except Unreachable as error:
        reason = re.sub(r"\s+", " ", str(error))[:300]
        raise InputError(
            f"{archive.project} {archive.version} is neither cached nor to be had from the package index: {reason}",
            hint=f"Set pip to an index that has {archive.file}, or put that file into {_shown(archive)}.",
        ) from error


def _shown(archive: SourceArchive) -> Path:
    return cache_folder() / "sources" / archive.sha256


def _keep(path: Path, data: bytes) -> None:
    """Keep a copy, whole or not at all; a cache that cannot be written costs the next download and nothing else."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
            file.write(data)
        os.replace(file.name, path)  # noqa: PTH105  # a name, not a Path
    except OSError:
        return
