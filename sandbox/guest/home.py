"""Who the agent is, and its HOME: a fresh copy of what the image holds for that user."""

from __future__ import annotations

import os

from . import files

DEFAULT_ID = 1000
MAX_FILES, MAX_DEPTH, MAX_PATH = 50000, 100, 4096


class User:
    """The agent's ids, and the home directory that the image's passwd gives it (empty: none)."""

    def __init__(self, uid: int, gid: int, home: str) -> None:
        self.uid, self.gid, self.home = uid, gid, home


def resolve(wanted: str, passwd: str, group: str) -> User | None:
    """The user that an image's USER text means, by the texts of its passwd and group files; None if unknown.

    Root, and no user at all, become 1000:1000: the agent is never root.
    """
    name, _, group_name = wanted.partition(":")
    users = [fields for fields in _lines(passwd, 7) if fields[2].isdigit() and fields[3].isdigit()]
    entry = next((fields for fields in users if fields[0] == name), None)
    if entry is None and name.isdigit():
        entry = next((fields for fields in users if int(fields[2]) == int(name)), None)
    if entry is None and name and not name.isdigit():
        return None
    uid = int(entry[2]) if entry else int(name or 0)
    if uid == 0:
        entry = next((fields for fields in users if int(fields[2]) == DEFAULT_ID), None)
        return User(DEFAULT_ID, DEFAULT_ID, entry[5] if entry else "")
    gid = int(entry[3]) if entry else uid
    if group_name:
        groups = [fields for fields in _lines(group, 4) if fields[2].isdigit()]
        named = next((int(fields[2]) for fields in groups if fields[0] == group_name), None)
        if named is None and not group_name.isdigit():
            return None
        gid = int(group_name) if named is None else named
    if max(uid, gid) >= 1 << 32:
        return None
    return User(uid, gid, entry[5] if entry else "")


def _lines(text: str, count: int) -> list[list[str]]:
    rows = [line.split(":") for line in text.splitlines()]
    return [row for row in rows if len(row) == count]


def read_database(path: str) -> str:
    """An image's passwd or group file, as far as it is of sensible size; empty if there is none."""
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def seed(source: str, home: str, user: User, limit: int) -> tuple[int, bool]:
    """Copy the image's home into the empty HOME, with the agent's own rights: bytes copied, and whether all was.

    What the user could not have read in its image, it does not get here either.
    """
    if limit <= 0 or not source.startswith("/") or os.path.realpath(source) in ("/", os.path.realpath(home)):
        return 0, True
    rights = files.Rights(user.uid, user.gid)
    exporter = files.Exporter(source, files.Caps(MAX_FILES, limit, MAX_DEPTH, MAX_PATH))
    loader = files.Loader(home, rights)
    try:
        with rights:
            for header, body in exporter.frames():
                loader.add(header["items"], body)
        loader.finish()
    except FileNotFoundError:
        return 0, True  # passwd names a home that the image does not have
    except (OSError, files.TreeError):
        return loader.bytes, False
    finally:
        loader.close()
    return loader.bytes, exporter.complete
