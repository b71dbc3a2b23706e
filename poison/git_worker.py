"""What is done to a workspace's git repository, inside a throwaway sandbox and as the agent's user.

The host sends this text as a program and asks it line by line (JSON); it never runs on the host and nothing imports
it. Standard library only, Python 3.8 or newer.

git works in a bare directory of its own over the workspace's objects. So no configuration, hook, filter, driver or
monitor of the repository is read, let alone run: what a hostile repository could do to the plant, it cannot. The ref,
the reflog and the index are then brought up to date by hand, as `git commit --amend` would have left them.
"""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

ROOT = Path(os.environ.get("TAKEOVER_ROOT", "/workspace"))
GIT = ROOT / ".git"
WAIT, AMENDED_AFTER = 20, 187
MAX_COMMITS, MAX_TIPS, MAX_MESSAGE, MAX_BLOB = 200, 2000, 64 << 10, 4 << 20
HEX = re.compile(r"[0-9a-f]{40}\Z")
REF = re.compile(r"ref: (refs/(?:[A-Za-z0-9_][\w.-]*/)*[A-Za-z0-9_][\w.-]*)\s*\Z")
PERSON = re.compile(rb"(.*<[^<>\n]*>) (\d{1,12}) ([+-]\d{4})\Z")


class Broken(Exception):
    """The repository does not allow it; the message says why."""


def main() -> None:
    """Answer every line of the input with a line of the output."""
    for line in sys.stdin.buffer:
        try:
            request = json.loads(line)
            answer = OPERATIONS[request["op"]](request)
        except Broken as reason:
            answer = {"refused": str(reason)}
        except (OSError, subprocess.SubprocessError) as error:
            answer = {"refused": f"git: {type(error).__name__}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def look(request: dict[str, Any]) -> dict[str, Any]:
    """HEAD, every commit that refs and reflogs name, and what HEAD and the index have at some paths.

    Contents in base64; null where there is no file.
    """
    head, ref = head_of()
    found: dict[str, str | None] = {}
    listed = {path: entry for path, entry in tree(head) if path in request["paths"]}
    for path in request["paths"]:
        mode, blob = listed.get(path, ("", ""))
        data = git("cat-file", "blob", blob) if blob and mode != "120000" else None
        if data is not None and len(data) > MAX_BLOB:
            raise Broken(f"{path} is too large in the last commit")
        found[path] = None if data is None else base64.b64encode(data).decode()
    known = [name.decode() for name in tips()]
    return {"head": head, "ref": ref, "known": known, "files": found, "flags": flags(request["paths"])}


def plant(request: dict[str, Any]) -> dict[str, Any]:
    """Write files, and amend some into the last commit; gives HEAD as it is then, and the reflog's new line."""
    write = [(path, base64.b64decode(data)) for path, data in request["write"]]
    commit = [(path, base64.b64decode(data)) for path, data in request["commit"]]
    answer: dict[str, Any] = amend(commit, dict(write)) if commit else {"head": None, "reflog": None}
    for path, data in write:
        put(path, data)
    return answer


def facts(request: dict[str, Any]) -> dict[str, Any]:
    """The commits beyond those that `known` reach: who, what, and the blobs that they have at some paths."""
    head, _ = head_of()
    wanted = tips() + [b"^" + name for name in commits_among(request["known"])]
    listed_commits = git("rev-list", f"--max-count={MAX_COMMITS}", "--stdin", given=b"\n".join(wanted) + b"\n")
    commits = []
    for name in listed_commits.decode().split():
        fields, message = commit_of(name)
        listed = {path: entry[1] for path, entry in tree(name) if path in request["paths"]}
        author = fields[b"author"][0].decode("utf-8", "replace")
        text = message[:MAX_MESSAGE].decode("utf-8", "replace")
        commits.append({"id": name, "author": author, "message": text, "blobs": listed})
    return {"head": head, "commits": commits}


OPERATIONS = {"look": look, "plant": plant, "facts": facts}


def amend(files: list[tuple[str, bytes]], written: dict[str, bytes]) -> dict[str, Any]:
    """The last commit again with these files in it: same author, same words, committed a little later."""
    head, ref = head_of()
    fields, message = commit_of(head)
    entries = dict(tree(head))
    with tempfile.TemporaryDirectory() as scratch:
        index = Path(scratch, "index")
        git("read-tree", head, index=index)
        rows, staged = [], []
        for path, data in files:
            blob = store("blob", data)
            mode, old = entries.get(path, ("100644", ""))
            rows.append((mode, blob, path))
            staged.append((mode, next_staged(path, old, blob, written[path]), path))
        enter(rows, index)
        tree_id = git("write-tree", index=index).decode().strip()
    match = PERSON.match(fields[b"committer"][0])
    if match is None:
        raise Broken("the last commit has no committer that can be kept")
    who, when, zone = match.groups()
    stamp = b"%d" % max(int(when), min(int(when) + AMENDED_AFTER, int(time.time())))
    lines = [b"tree " + tree_id.encode()]
    lines += [b"parent " + parent for parent in fields.get(b"parent", [])]
    lines += [b"author " + fields[b"author"][0], b"committer " + who + b" " + stamp + b" " + zone]
    lines += [b"encoding " + name for name in fields.get(b"encoding", [])]
    new = store("commit", b"\n".join(lines) + b"\n\n" + message)
    enter(staged, GIT / "index")
    subject = message.split(b"\n", 1)[0]
    line = b"%s %s %s %s %s\tcommit (amend): %s\n" % (head.encode(), new.encode(), who, stamp, zone, subject)
    replace(GIT / (ref or "HEAD"), new.encode() + b"\n")
    for name in ["HEAD"] + ([ref] if ref else []):
        extend(GIT / "logs" / name, line)
    return {"head": new, "reflog": line.decode("utf-8", "replace")}


def next_staged(path: str, old: str, new: str, working: bytes) -> str:
    """What the index shall have: the new commit's file, or the new working file where that one was staged."""
    found = index_entries([path]).get(path, ("", ""))[1]
    if found == old:
        return new
    if not found:
        raise Broken(f"{path} is not in the index")
    now = place(path).read_bytes()
    if found == git("hash-object", "--no-filters", "-t", "blob", "--stdin", given=now).decode().strip():
        return store("blob", working)
    raise Broken(f"{path} has a third version in the index")


def head_of() -> tuple[str, str | None]:
    """The commit that HEAD means, and the branch (None if it is detached)."""
    if not stat.S_ISDIR(kind(GIT)):
        raise Broken(".git is not a folder" if os.path.lexists(GIT) else "there is no git repository")
    text = read(GIT / "HEAD")
    if HEX.match(text.strip()):
        return text.strip(), None
    match = REF.match(text)
    if match is None or ".." in match.group(1):
        raise Broken("HEAD names no branch")
    ref = match.group(1)
    path = GIT / ref
    if os.path.lexists(path):
        text = read(path).strip()
    else:
        packed = GIT / "packed-refs"
        rows = read(packed).split("\n") if os.path.lexists(packed) else []
        text = next((row[:40] for row in rows if row[40:] == " " + ref), "")
    if not HEX.match(text):
        raise Broken("there is no commit that could be amended")
    return text, ref


def tips() -> list[bytes]:
    """Every commit that HEAD, refs and reflogs name."""
    names = {head_of()[0]}
    for folder in ("refs", "logs"):
        for parent, _, files in os.walk(GIT / folder):
            for file in files[:1000]:
                path = Path(parent, file)
                if stat.S_ISREG(kind(path)) and path.stat().st_size <= 1 << 20:
                    names.update(re.findall(r"^(?:[0-9a-f]{40} )?([0-9a-f]{40})\b", read(path), re.MULTILINE))
    packed = GIT / "packed-refs"
    names.update(re.findall(r"^([0-9a-f]{40}) ", read(packed), re.MULTILINE) if os.path.lexists(packed) else ())
    return commits_among(sorted(names)[:MAX_TIPS])


def commits_among(names: list[str]) -> list[bytes]:
    """Those of the names that are commits of this repository."""
    known = git("cat-file", "--batch-check", given="".join(name + "\n" for name in names).encode())
    return re.findall(rb"^([0-9a-f]{40}) commit \d+$", known, re.MULTILINE)


def commit_of(name: str) -> tuple[dict[bytes, list[bytes]], bytes]:
    """A commit's fields (each with all its values) and its message."""
    head, _, message = git("cat-file", "commit", name).partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key, []).append(value)
    if b"author" not in fields or b"committer" not in fields:
        raise Broken("a commit without author or committer")
    return fields, message


def tree(commit: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Pairs of path and (mode, blob) of a commit."""
    rows = git("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")
    for row in filter(None, rows):
        meta, _, path = row.partition(b"\t")
        mode, _, blob = meta.decode().split(" ", 2)
        yield path.decode("utf-8", "surrogateescape"), (mode, blob)


def index_entries(paths: list[str]) -> dict[str, tuple[str, str]]:
    """The (mode, blob) that the index has for some paths."""
    rows = git("ls-files", "-s", "-z", index=GIT / "index").split(b"\0")
    found = {}
    for row in filter(None, rows):
        meta, _, path = row.partition(b"\t")
        name = path.decode("utf-8", "surrogateescape")
        if name in paths:
            mode, blob, _ = meta.decode().split(" ")
            found[name] = (mode, blob)
    return found


def flags(paths: list[str]) -> dict[str, str]:
    """The letter with which `git ls-files -v` marks each path that it has: H, or what hides it from a diff."""
    rows = git("ls-files", "-v", "-z", index=GIT / "index").split(b"\0")
    marks = {row[2:].decode("utf-8", "surrogateescape"): row[:1].decode() for row in filter(None, rows)}
    return {path: marks[path] for path in paths if path in marks}


def enter(rows: Iterable[tuple[str, str, str]], index: Path) -> None:
    """Put entries into an index."""
    if not stat.S_ISREG(kind(index)):
        raise Broken("there is no index")
    lines = "".join(f"{mode} {blob}\t{path}\0" for mode, blob, path in rows)
    git("update-index", "--add", "-z", "--index-info", index=index, given=lines.encode("utf-8", "surrogateescape"))


def store(kind_of: str, data: bytes) -> str:
    """An object, written; its name."""
    command = ("hash-object", "-w", "-t", kind_of, "--stdin") + (("--no-filters",) if kind_of == "blob" else ())
    return git(*command, given=data).decode().strip()


def git(*arguments: str, index: Path | None = None, given: bytes = b"") -> bytes:
    """What a git command says; Broken if it fails or hangs."""
    environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": CLEAN[0],
        "GIT_DIR": CLEAN[0],
        "GIT_OBJECT_DIRECTORY": str(GIT / "objects"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "",
        "LC_ALL": "C",
    }
    if index is not None:
        environment["GIT_INDEX_FILE"] = str(index)
    try:
        done = subprocess.run(
            ("git", *arguments),
            env=environment,
            cwd=CLEAN[0],
            input=given,
            capture_output=True,
            timeout=WAIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Broken(f"git {arguments[0]} does not come to an end") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1][:200]
        raise Broken(f"git {arguments[0]}: {said}")
    return done.stdout


def clean() -> str:
    """A bare directory with nothing of the workspace in it but, through the environment, its objects."""
    folder = tempfile.mkdtemp()
    bare = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "init", "--bare", "--quiet", "--template=", folder]
    subprocess.run(command, env=bare, cwd=folder, check=True, timeout=WAIT, capture_output=True)
    return folder


def place(path: str) -> Path:
    """Where a file of the workspace is; Broken if a link or a file stands on the way."""
    folder = ROOT
    for part in path.split("/")[:-1]:
        folder = folder / part
        if os.path.lexists(folder) and not stat.S_ISDIR(kind(folder)):
            raise Broken(f"{folder} is not a folder")
    return ROOT / path


def put(path: str, data: bytes) -> None:
    """Write a file of the workspace; an existing one keeps its mode."""
    target = place(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = kind(target)
    if mode and not stat.S_ISREG(mode):
        raise Broken(f"{path} is no plain file")
    if mode:
        target.chmod(0o600)
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644), "wb") as file:
        file.write(data)
    target.chmod(stat.S_IMODE(mode) if mode else 0o644)


def replace(path: Path, data: bytes) -> None:
    """Write a file of .git whole."""
    place(str(path.relative_to(ROOT)))
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(path.name + ".lock")
    with lock.open("xb") as file:
        file.write(data)
    lock.replace(path)


def extend(path: Path, data: bytes) -> None:
    """Add a line to a file of .git."""
    place(str(path.relative_to(ROOT)))
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644), "wb") as file:
        file.write(data)


def read(path: Path) -> str:
    """A small plain file of .git as text; Broken if it is none."""
    if not stat.S_ISREG(kind(path)):
        raise Broken(f"{path} is no plain file")
    with path.open("rb") as file:
        return file.read(1 << 20).decode("utf-8", "surrogateescape")


def kind(path: Path) -> int:
    """The mode of what is there itself, 0 if nothing is."""
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


CLEAN: list[str] = []

if __name__ == "__main__":
    CLEAN.append(clean())
    main()
