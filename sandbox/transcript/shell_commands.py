"""What single commands do with files: which of their words are files, and which lines of them they print."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

from .shell import Word
from .spans import Found, view

Lines = tuple[int | None, int | None]
_WHOLE = {"cat", "nl", "less", "more", "tac", "bat", "batcat", "expand"}
_PARTS = {"sort", "uniq", "cut", "tr", "jq", "column", "fold", "awk", "gawk", "mawk"}
_GREPS = {"grep", "egrep", "fgrep", "rg", "zgrep", "ag"}
_GREP_TAKES = set("efABCmdDgtT")
_GREP_TAKES_LONG = {"--regexp", "--file", "--include", "--exclude", "--exclude-dir", "--glob", "--type", "--max-count"}
_GREP_TAKES_LONG |= {"--after-context", "--before-context", "--context"}
_AWK_LINES = re.compile(r"NR\s*>=\s*(\d{1,8})\s*&&\s*NR\s*<=\s*(\d{1,8})|NR\s*==\s*(\d{1,8})\s*,\s*NR\s*==\s*(\d{1,8})")


def is_python(name: str) -> bool:
    """Whether a command is Python, of whichever version."""
    return re.fullmatch(r"(?:python|pypy|ipython)[\d.]*", name) is not None


class Shown(NamedTuple):
    """Files a command prints, the lines of each; `exact` says that piped input is cut to those lines."""

    paths: list[str]
    ranges: list[Lines]
    exact: bool


def unwrapped(words: list[Word]) -> list[Word]:
    """The command inside `sudo`, `env`, `timeout` and their like."""
    while words:
        name = posixpath.basename(words[0].text)
        if name in ("sudo", "command", "builtin", "exec", "nohup", "nice", "stdbuf", "time"):
            words = words[1:]
            while words and words[0].text.startswith("-"):
                words = words[1:]
        elif name == "env":
            words = words[1:]
            while words and (words[0].text.startswith("-") or "=" in words[0].text):
                words = words[1:]
        elif name == "timeout":
            words = words[1:]
            while words and words[0].text.startswith("-"):
                words = words[2 if words[0].text in ("-k", "-s") else 1 :]
            words = words[1:]
        else:
            return words
    return words


def shown(name: str, texts: list[str], plain: list[str | None]) -> Shown | None:
    """What a command prints; None for a command that prints no file."""
    if name in _WHOLE:
        return _whole(name, texts, plain)
    if name == "head":
        return _head(texts, plain)
    if name == "tail":
        return _tail(texts, plain)
    if name in _GREPS:
        return _grep(name, texts, plain)
    if name in _PARTS:
        return _parts(name, texts, plain)
    return None


def narrowed(piped: Found, ranges: list[Lines], exact: bool) -> list[Found]:
    """What is left of a view after a command that prints only these lines of its input."""
    if not exact:
        return [piped._replace(start=None, end=None)]
    made: list[Found] = []
    for start, end in ranges:
        if (start, end) == (1, None):
            made.append(piped)
        elif start is None:
            made.append(piped._replace(start=None, end=None))
        else:
            base = (piped.start or 1) - 1
            last = None if end is None else base + end
            if piped.end is not None:
                last = piped.end if last is None else min(last, piped.end)
            made.append(view(piped.path, base + start, last))
    return made


def files(plain: list[str | None]) -> list[str]:
    """The words of a command that are no options."""
    return [path for path in plain if path and not path.startswith("-")]


def _whole(name: str, texts: list[str], plain: list[str | None]) -> Shown:
    ranges: list[Lines] = [(1, None)]
    skip: set[int] = set()
    if name in ("bat", "batcat"):
        for index, text in enumerate(texts):
            found = re.fullmatch(r"(?:-r|--line-range)=?(\d{0,8}):(\d{0,8})", text)
            if text in ("-r", "--line-range") and index + 1 < len(texts):
                found = re.fullmatch(r"()?(\d{1,8}):(\d{0,8})", texts[index + 1])
                skip.add(index + 1)
            if found:
                start, end = found.groups()[-2:]
                ranges = [(int(start or 1), int(end) if end else None)]
    paths = files([path for index, path in enumerate(plain) if index not in skip])
    return Shown(paths, ranges, True)


def _count(texts: list[str], plain: list[str | None]) -> tuple[str | None, list[str]]:
    """The N of `-n N`, `-N`, `--lines=N` or `+N`, and the files; an N of bytes reads as `bytes`."""
    count: str | None = None
    rest: list[str | None] = []
    index = 0
    while index < len(texts):
        text = texts[index]
        found = re.fullmatch(r"(?:-n|--lines=|-)([+-]?\d{1,8})|(\+\d{1,8})", text)
        if found:
            count = found.group(1) or found.group(2)
        elif text in ("-n", "--lines"):
            index += 1
            count = texts[index] if index < len(texts) else None
        elif text in ("-c", "--bytes") or re.fullmatch(r"-c\d+|--bytes=.*", text):
            index += text in ("-c", "--bytes")
            count = "bytes"
        else:
            rest.append(plain[index])
        index += 1
    return count, files(rest)


def _head(texts: list[str], plain: list[str | None]) -> Shown:
    count, paths = _count(texts, plain)
    count = "10" if count is None else count
    lines: Lines = (None, None)
    if re.fullmatch(r"\d{1,8}", count) and int(count) > 0:
        lines = (1, int(count))
    elif re.fullmatch(r"-\d{1,8}", count):
        lines = (1, None)
    return Shown(paths, [lines], True)


def _tail(texts: list[str], plain: list[str | None]) -> Shown:
    count, paths = _count(texts, plain)
    if count is not None and re.fullmatch(r"\+\d{1,8}", count):
        return Shown(paths, [(max(int(count), 1), None)], True)
    return Shown(paths, [(None, None)], True)


def _grep(name: str, texts: list[str], plain: list[str | None]) -> Shown | None:
    """The files that are searched; searching folders does not tell which, and counting shows nothing."""
    patterned = False
    recursive = name in ("rg", "ag")
    rest: list[str | None] = []
    index = 0
    while index < len(texts):
        text = texts[index]
        if text == "--":
            rest.extend(plain[index + 1 :])
            break
        if text.startswith("--"):
            head, _, value = text.partition("=")
            patterned = patterned or head in ("--regexp", "--file")
            recursive = recursive or head in ("--recursive", "--dereference-recursive")
            if head in ("--count", "--files-with-matches", "--files-without-match", "--quiet", "--silent"):
                return None
            index += head in _GREP_TAKES_LONG and not value
        elif text.startswith("-") and len(text) > 1:
            letters = text[1:]
            if set("clLq") & set(re.split(r"[efABCmdDgtT]", letters)[0]):
                return None
            patterned = patterned or letters[-1] in "ef" or letters[0] in "ef"
            recursive = recursive or bool(set("rR") & set(letters))
            index += letters[-1] in _GREP_TAKES
        else:
            rest.append(plain[index])
        index += 1
    paths = [path for path in (rest if patterned else rest[1:]) if path]
    if recursive:
        paths = [path for path in paths if "." in posixpath.basename(path.rstrip("/")).lstrip(".")]
    return Shown(paths, [(None, None)], False)


def _parts(name: str, texts: list[str], plain: list[str | None]) -> Shown:
    """Commands that print parts of their input; the first word of some is a program."""
    if name not in ("awk", "gawk", "mawk", "jq"):
        return Shown(files(plain) if name in ("sort", "uniq") else [], [(None, None)], False)
    words: list[tuple[str, str | None]] = []
    index = 0
    while index < len(texts):
        if texts[index] in ("-F", "-v", "-f", "--arg"):
            index += 1
        elif not texts[index].startswith("-"):
            words.append((texts[index], plain[index]))
        index += 1
    program = words[0][0] if words else ""
    found = _AWK_LINES.search(program) if name != "jq" else None
    paths = files([path for _, path in words[1:]])
    if found is None:
        return Shown(paths, [(None, None)], False)
    start, end = (int(number) for number in found.groups() if number is not None)
    return Shown(paths, [(start, end)], True)


def destination(plain: list[str | None]) -> list[str | None]:
    """What `cp` and `mv` write: their last word, or in a folder the file of that name."""
    words = [path for path in plain if path is None or not path.startswith("-")]
    target = words[-1] if len(words) >= 2 else None
    if target is None:
        return []
    if target.endswith("/") or len(words) > 2:
        return [posixpath.join(target, posixpath.basename(path)) for path in words[:-1] if path]
    return [target]


def perl_files(plain: list[str | None], texts: list[str]) -> list[str | None]:
    """The files that `perl -i` rewrites: what follows its program."""
    found: list[str | None] = []
    skip = False
    for text, path in zip(texts, plain, strict=True):
        if skip:
            skip = False
        elif text.startswith("-"):
            skip = text.endswith("e")
        else:
            found.append(path)
    return found


def spoken(name: str, arguments: list[Word]) -> str | None:
    """What `echo` or `printf` prints, where that is just what stands there."""
    if not all(word.literal for word in arguments):
        return None
    texts = [word.text for word in arguments]
    if name == "printf":
        return texts[0].replace("\\n", "\n") if len(texts) == 1 else None
    ends = "\n"
    while texts and re.fullmatch(r"-[neE]+", texts[0]):
        ends = "" if "n" in texts[0] else ends
        if "e" in texts[0]:
            texts[-1] = texts[-1].replace("\\n", "\n")
        texts = texts[1:]
    return " ".join(texts) + ends


def python_code(texts: list[str], given: str | None) -> str | None:
    """The program of a call of Python: after `-c`, or what it is given as input."""
    for index, text in enumerate(texts):
        if text == "-c":
            return texts[index + 1] if index + 1 < len(texts) else None
        if not text.startswith("-"):
            return None
    return given


class GitAction(NamedTuple):
    """What a git command does to files: which it writes, which it shows, whether it applies a patch it is given."""

    edits: list[str | None]
    views: list[str]
    patches: bool


def git_words(plain: list[str | None]) -> tuple[str | None, list[str]]:
    """The folder of `git -C`, and the words from the subcommand on; unknown words are left out."""
    folder: str | None = None
    words = [word if word is not None else "" for word in plain]
    while words and words[0].startswith("-"):
        if words[0] in ("-C", "-c") and len(words) > 1:
            folder = words[1] if words[0] == "-C" else folder
            words = words[2:]
        else:
            words = words[1:]
    return folder, words


def git_action(words: list[str]) -> GitAction:
    """What a git subcommand does to files."""
    name, rest = (words[0], words[1:]) if words else ("", [])
    named = files([*rest])
    after = rest[rest.index("--") + 1 :] if "--" in rest else []
    if name in ("apply", "am"):
        return GitAction([], [], "--stat" not in rest and "--check" not in rest)
    if name == "checkout":
        return GitAction([word for word in after if word], [], False)
    if name == "restore" and "--staged" not in rest:
        return GitAction([*(after or named)], [], False)
    if name == "mv":
        return GitAction(destination([*named]), [], False)
    if name == "show":
        found = [word.split(":", 1)[1] for word in named if re.fullmatch(r"[^:]+:[^:]+", word)]
        return GitAction([], found, False)
    if name == "grep":
        searched = _grep("grep", rest, list(rest))
        return GitAction([], [path for path in searched.paths if "." in path] if searched else [], False)
    return GitAction([], [], False)
