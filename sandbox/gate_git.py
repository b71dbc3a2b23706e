"""What lies in `.git`: which of it is bookkeeping, and what of the rest runs programs, hides changes or misleads.

Git's own bookkeeping (objects, index, reflogs, refs) changes with every command and decides nothing about the
files of the workspace, so it is not recorded; a file of any other shape in `.git` is recorded like any file.
Nothing here runs git: configuration is read as text, generously, because a finding too many costs a look.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from .gate_model import Entry, Finding, FindingKind

Reader = Callable[[str], bytes | None]

_BOOKKEEPING = re.compile(
    r"""(?: objects/[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?
        | objects/pack/[\w.-]+\.(?:pack|idx|rev|bitmap|keep|mtimes|midx) | objects/pack/multi-pack-index
        | objects/info/(?:packs|commit-graph|commit-graphs/[\w.-]+)
        | (?:logs|refs)/(?!replace/).+ | index | sharedindex\.[0-9a-f]+ | packed-refs | description
        | (?:[A-Z]+_)*HEAD | AUTO_MERGE | COMMIT_EDITMSG | MERGE_MSG | MERGE_MODE | SQUASH_MSG | info/refs
        | hooks/[a-z-]+\.sample )""",
    re.VERBOSE,
)
_IMPORTABLE = re.compile(r"\.(?:py|pyc|pyw|so|pth)\Z")
_MODULES = re.compile(r"modules/[^/]+/")
_SECTION = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?")

_DRIVER = re.compile(r"(?<=\s)(?:filter|diff|merge)=(\S+)")
# Names that git knows without any configuration.
_BUILT_IN = re.compile(
    r"ada|bash|bibtex|cpp|csharp|css|dts|elixir|fortran|fountain|golang|html|java|kotlin|markdown|matlab|objc|pascal"
    r"|perl|php|python|ruby|rust|scheme|tex|text|binary|union|lfs"
)

_REPLACED = "git shows other objects or another history than the ids name"
_RUNS = "runs a program of the repository's choosing"
_HIDES = "hides changes from git"
_ELSEWHERE = "reads or writes elsewhere"
CONFIG_KEYS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), why)
    for pattern, why in {
        r"core\.(fsmonitor|hookspath|sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand)": _RUNS,
        r"(filter\..*\.(clean|smudge|process)|diff\.external|diff\..*\.(command|textconv)|merge\..*\.driver)": _RUNS,
        r"(gpg\.(.*\.)?program|credential\.(.*\.)?helper|alias\..+|sequence\.editor|pager\..+|browser\..+)": _RUNS,
        r"((diff|merge)tool\..*\.cmd|remote\..*\.(uploadpack|receivepack|vcs)|protocol\.(.*\.)?allow)": _RUNS,
        r"core\.(excludesfile|checkstat|filemode|trustctime|ignorestat|untrackedcache|sparsecheckout)": _HIDES,
        r"(core\.(autocrlf|eol|ignorecase|attributesfile)|status\.showuntrackedfiles|core\.usereplacerefs)": _HIDES,
        r"(include\.path|includeif\..*\.path|core\.worktree|url\..*\.(insteadof|pushinsteadof))": _ELSEWHERE,
    }.items()
)
# `git init` itself writes these; they hide nothing.
_HARMLESS = {("core.filemode", "true"), ("core.ignorecase", "false"), ("core.autocrlf", "false")}


def git_part(path: str) -> str | None:
    """The part of a path below its `.git`, "" for `.git` itself, None outside."""
    if ".git" not in path:
        return None
    parts = path.split("/")
    return "/".join(parts[parts.index(".git") + 1 :]) if ".git" in parts else None


def is_bookkeeping(path: str) -> bool:
    """Whether a regular file is one that git rewrites in the course of its ordinary work."""
    part = git_part(path)
    if not part or _IMPORTABLE.search(part):
        return False
    while match := _MODULES.match(part):
        part = part[match.end() :]
    return _BOOKKEEPING.fullmatch(part) is not None


def git_findings(entries: Mapping[str, Entry], read: Reader) -> Iterator[Finding]:
    """What a person should know before git runs here; `read` gives a file's bytes, or None."""
    for path, entry in entries.items():
        part = git_part(path)
        if part is None:
            if path.endswith("/HEAD") and _is_bare(entries, path.removesuffix("/HEAD")):
                detail = "a bare repository among the files: git run in this directory obeys its configuration"
                yield Finding(FindingKind.NESTED_REPOSITORY, path.removesuffix("/HEAD"), detail)
            elif path.rpartition("/")[2] == ".gitattributes":
                yield from _attributes(path, read(path))
        elif part == "":
            yield from _git_itself(entry, read)
        elif entry.kind != "directory":
            yield from _inside(part, entry, read)


def _git_itself(entry: Entry, read: Reader) -> Iterator[Finding]:
    path = entry.path
    if entry.kind != "directory":
        yield Finding(FindingKind.GIT_POINTER, path, f"`.git` is a {entry.kind}: the repository lies elsewhere")
        return
    if "/" in path:
        detail = "a repository within the workspace, with configuration of its own"
        yield Finding(FindingKind.NESTED_REPOSITORY, path, detail)
    if b" refs/replace/" in (read(f"{path}/packed-refs") or b""):
        yield Finding(FindingKind.GIT_REPLACE, f"{path}/packed-refs", _REPLACED)


def _inside(part: str, entry: Entry, read: Reader) -> Iterator[Finding]:
    path = entry.path
    while match := _MODULES.match(part):
        part = part[match.end() :]
    if entry.kind != "file":
        yield Finding(FindingKind.GIT_SPECIAL, path, f"a {entry.kind} where git expects a file of its own")
    elif part.startswith("hooks/"):
        state = "runs" if entry.mode & 0o111 else "would run if it were executable"
        yield Finding(FindingKind.GIT_HOOK, path, f"a hook that {state} at git commands")
    elif part in ("config", "config.worktree"):
        yield from _config(path, read(path))
    elif part == "info/exclude":
        patterns = _lines(read(path))
        if patterns:
            yield Finding(FindingKind.GIT_EXCLUDE, path, f"hides untracked files: {', '.join(patterns[:5])}")
    elif part == "info/attributes":
        yield from _attributes(path, read(path))
    elif part in ("objects/info/alternates", "objects/info/http-alternates", "commondir"):
        yield Finding(FindingKind.GIT_ALTERNATES, path, "objects are read from outside this repository")
    elif part.startswith("refs/replace/") or part in ("info/grafts", "shallow"):
        yield Finding(FindingKind.GIT_REPLACE, path, _REPLACED)
    elif part == "info/sparse-checkout":
        yield Finding(FindingKind.GIT_EXCLUDE, path, "paths outside the sparse checkout are not compared by git")


def _config(path: str, content: bytes | None) -> Iterator[Finding]:
    if content is None:
        yield Finding(FindingKind.GIT_CONFIG, path, "the configuration could not be read")
        return
    for key, value in config_keys(content.decode("utf-8", "replace")):
        for pattern, why in CONFIG_KEYS:
            if pattern.fullmatch(key) and (key, value.lower()) not in _HARMLESS:
                yield Finding(FindingKind.GIT_CONFIG, path, f"{key} = {value[:200]}: {why}")
                break


def config_keys(text: str) -> Iterator[tuple[str, str]]:
    """`(section.subsection.key, value)` of a git configuration, section and key in lower case."""
    section = ""
    for line in text.replace("\\\n", " ").splitlines():
        rest = line.strip()
        while match := _SECTION.match(rest):
            name, subsection = match.groups()
            section = name.lower() + (f".{subsection}" if subsection is not None else "")
            rest = rest[match.end() :].strip()
        if match := _KEY.match(rest):
            yield f"{section}.{match[1].lower()}", (match[2] or "").strip()


def _attributes(path: str, content: bytes | None) -> Iterator[Finding]:
    drivers = [
        match[0] for line in _lines(content) for match in _DRIVER.finditer(line) if not _BUILT_IN.fullmatch(match[1])
    ]
    if drivers:
        yield Finding(FindingKind.GIT_ATTRIBUTES, path, f"names drivers that git may run: {', '.join(drivers[:5])}")


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode("utf-8", "replace")
    return [line.strip()[:200] for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


def _is_bare(entries: Mapping[str, Entry], folder: str) -> bool:
    return all(
        below in entries and entries[below].kind == "directory" for below in (f"{folder}/objects", f"{folder}/refs")
    )
