"""A source archive's files, read without trusting it: nothing is written, linked to or run."""

from __future__ import annotations

import io
import tarfile
import zlib

from ..sandbox.errors import InputError
from ..sandbox.tree import is_safe_path

MAX_FILES = 20_000
MAX_BYTES = 256 << 20
MAX_PATH = 512


def unpack(data: bytes, name: str) -> dict[str, bytes]:
    """The regular files of a gzipped tar by path below its single top folder; InputError for anything else in it.

    Python 3.11.2 has no extraction filter, and members are only read here: a link, a device, an absolute path or
    one that climbs makes the whole archive unfit.
    """
    files: dict[str, bytes] = {}
    tops: set[str] = set()
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r|gz") as archive:
            for member in archive:
                path = member.name.rstrip("/") if member.isdir() else member.name
                total += member.size
                _check(member, path, name)
                if len(files) >= MAX_FILES or total > MAX_BYTES:
                    raise InputError(f"{name}: more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB")
                top, _, rest = path.partition("/")
                tops.add(top)
                if member.isdir():
                    continue
                content = archive.extractfile(member)
                if not rest or content is None or rest in files:
                    raise InputError(f"{name}: {path!r} stands twice, or beside the archive's folder")
                files[rest] = content.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise InputError(f"{name}: not a readable tar.gz: {error}") from error
    if len(tops) != 1 or not files:
        raise InputError(f"{name}: an archive holds one folder with files; this has {len(tops)} at its top")
    return files


def _check(member: tarfile.TarInfo, path: str, name: str) -> None:
    if not (member.isreg() or member.isdir()) or member.issparse():
        raise InputError(f"{name}: {path!r} is neither a file nor a directory")
    if not is_safe_path(path) or len(path) > MAX_PATH or not path.isprintable():
        raise InputError(f"{name}: {path!r} is no path that may be unpacked")
