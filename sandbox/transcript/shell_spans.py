"""What a shell script shows and changes, read from its commands: pipes narrow, redirections write, `cd` moves."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import shell_commands as known
from .patch import parse_patch
from .python_spans import python_spans
from .sed import changed_lines, read_arguments, shown_lines
from .shell import Command, Redirect, Word, parse_script
from .spans import UNKNOWN, Found, edit, line_count, normal_path, unique, view

MAX_NESTING = 4
MAX_PATH = 4096
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
_OUTPUTS = (">", ">>", ">|", "&>", "&>>")
_SHELLS = {"bash", "sh", "zsh", "dash"}


def shell_spans(script: str, cwd: str | None, root: str | None) -> list[Found]:
    """Spans of a script, their paths made relative to the workspace's root."""
    reader = _Reader(cwd, root)
    reader.script(script, 0)
    return unique(reader.found)


@dataclass
class _Flow:
    """What runs through a pipe: views that may still be narrowed, or text that is known."""

    views: list[Found] = field(default_factory=list)
    text: str | None = None


@dataclass
class _Reader:
    cwd: str | None
    root: str | None
    found: list[Found] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)

    def script(self, text: str, nesting: int) -> None:
        """Read a script; a subshell's `cd` ends with it."""
        if nesting > MAX_NESTING:
            return
        stack: list[str | None] = []
        flow = _Flow()
        for command in parse_script(text):
            while len(stack) > command.depth:
                self.cwd = stack.pop()
            while len(stack) < min(command.depth, 50):
                stack.append(self.cwd)
            if not command.piped:
                self.keep(flow)
                flow = _Flow()
            flow = self.command(command, flow, nesting)
        self.keep(flow)
        if stack:
            self.cwd = stack[0]

    def keep(self, flow: _Flow) -> None:
        self.found.extend(flow.views)

    def command(self, command: Command, flow: _Flow, nesting: int) -> _Flow:
        words = known.unwrapped(self.assignments(command.words))
        targets = [redirect for redirect in command.redirects if _writes(redirect)]
        if not words:
            for redirect in targets:
                self.write(redirect, "" if not redirect.operator.endswith(">>") else None)
            return _Flow()
        name = posixpath.basename(words[0].text)
        arguments = words[1:]
        text = command.heredoc if command.heredoc is not None else flow.text
        source = next((self.resolve(one.target) for one in command.redirects if one.operator == "<"), None)
        out = self.run(name, arguments, _Flow(flow.views, text), source, nesting)
        for redirect in targets:
            self.write(redirect, out.text)
        return _Flow() if targets or any(_hides(redirect) for redirect in command.redirects) else out

    def run(self, name: str, arguments: list[Word], given: _Flow, source: str | None, nesting: int) -> _Flow:
        """One command: records what it changes, returns what it shows."""
        plain = [self.resolve(word) for word in arguments]
        texts = [word.text for word in arguments]
        if name in ("cd", "pushd"):
            self.cwd = _moved(self.cwd or self.root, plain[0] if plain else None)
        elif name in _SHELLS:
            self.shell(texts, given, nesting)
        elif known.is_python(name):
            code = known.python_code(texts, given.text)
            return self.spans(python_spans(code)) if code is not None else _Flow()
        elif name == "git":
            return self.git(plain, given)
        elif name in ("apply_patch", "applypatch", "patch"):
            body = given.text if given.text is not None else (texts[0] if name != "patch" and texts else "")
            self.patch(body)
            if name == "patch":
                self.edits(known.files(plain)[:1])
        elif name == "sed":
            return self.sed(texts, plain, given)
        elif name == "tee":
            lines = line_count(given.text) if given.text is not None and "-a" not in texts else None
            start = None if "-a" in texts else 1
            self.edits(known.files(plain), start, lines)
            return given
        elif name in ("cp", "mv"):
            self.edits(known.destination(plain))
        elif name == "perl" and any(re.fullmatch(r"-\w*i\S*", text) for text in texts):
            self.edits(known.perl_files(plain, texts))
        elif name in ("echo", "printf"):
            return _Flow(text=known.spoken(name, arguments))
        else:
            return self.shows(name, texts, plain, given, source)
        return _Flow()

    def shows(self, name: str, texts: list[str], plain: list[str | None], given: _Flow, source: str | None) -> _Flow:
        """Commands that print files or what is piped into them."""
        shown = known.shown(name, texts, plain)
        if shown is None:
            return _Flow()
        paths, ranges, exact = shown
        if not paths and source is not None:
            paths = [source]
        if paths:
            made = [view(path, *lines) for path in paths for lines in ranges]
            return self.spans(made)
        if name == "cat" and given.text is not None:
            return given
        return _Flow([one for piped in given.views for one in known.narrowed(piped, ranges, exact)])

    def sed(self, texts: list[str], plain: list[str | None], given: _Flow) -> _Flow:
        call = read_arguments(texts)
        by_text = dict(zip(texts, plain, strict=True))
        files = [path for name in call.files if (path := by_text.get(name)) is not None]
        if call.in_place:
            made = [edit(path, *lines) for path in files for lines in changed_lines(call)]
            self.found.extend(self.spans(made).views)
            return _Flow()
        ranges = shown_lines(call)
        if files:
            return self.spans([view(path, *lines) for path in files for lines in ranges])
        return _Flow([one for piped in given.views for one in known.narrowed(piped, ranges, True)])

    def git(self, plain: list[str | None], given: _Flow) -> _Flow:
        folder, words = known.git_words(plain)
        before = self.cwd
        if folder is not None:
            self.cwd = _moved(self.cwd or self.root, folder)
        action = known.git_action(words)
        out = _Flow()
        if action.patches and given.text is not None:
            self.patch(given.text)
        self.edits(action.edits)
        if action.views:
            out = self.spans([view(path) for path in action.views])
        self.cwd = before
        return out

    def shell(self, texts: list[str], given: _Flow, nesting: int) -> None:
        for index, text in enumerate(texts):
            if re.fullmatch(r"-\w*c", text) and index + 1 < len(texts):
                self.script(texts[index + 1], nesting + 1)
                return
        if given.text is not None and all(text.startswith("-") for text in texts):
            self.script(given.text, nesting + 1)

    def patch(self, body: str) -> None:
        made: list[Found] = []
        for change in parse_patch(body):
            if not change.removed:
                made.extend(edit(change.path, *lines) for lines in change.ranges or ((None, None),))
        self.found.extend(self.spans(made).views)

    def edits(self, paths: Sequence[str | None], start: int | None = None, end: int | None = None) -> None:
        self.found.extend(self.spans([edit(path, start, end) for path in paths if path]).views)

    def write(self, redirect: Redirect, text: str | None) -> None:
        path = self.resolve(redirect.target)
        if path is None:
            return
        if redirect.operator.endswith(">>"):
            self.edits([path])
        else:
            self.edits([path], 1, line_count(text) if text is not None else None)

    def spans(self, made: list[Found]) -> _Flow:
        """The spans with their paths as the workspace has them; what names no file is left out."""
        kept = [(one, normal_path(one.path, self.cwd, self.root)) for one in made]
        return _Flow([one._replace(path=path) for one, path in kept if path is not None])

    def assignments(self, words: list[Word]) -> list[Word]:
        """Take the assignments in front of a command off; those that stand alone are remembered."""
        index = 0
        while index < len(words) and _ASSIGNMENT.fullmatch(words[index].text):
            index += 1
        if index == len(words):
            for word in words:
                found = _ASSIGNMENT.fullmatch(word.text)
                value = self.resolve(Word(found.group(2), word.literal)) if found else None
                if found and value is not None and len(self.variables) < 1000:
                    self.variables[found.group(1)] = value
        return words[index:]

    def resolve(self, word: Word) -> str | None:
        """The text a word stands for, if it can be known without running anything."""
        if word.literal:
            return word.text
        if len(word.text) > 4096:
            return None
        text = _VARIABLE.sub(lambda found: self.variables.get(found.group(1), "$"), word.text)
        return None if any(char in text for char in "$`*?[<") or len(text) > 4096 else text


def _writes(redirect: Redirect) -> bool:
    """Whether a redirection sends a command's output into a file (its errors alone do not count)."""
    if redirect.operator not in _OUTPUTS or redirect.descriptor == 2:
        return False
    return redirect.target.text not in ("", "/dev/null", "/dev/stdout", "/dev/stderr")


def _hides(redirect: Redirect) -> bool:
    """Whether a redirection keeps a command's output from being seen."""
    return redirect.operator in _OUTPUTS and redirect.descriptor != 2


def _moved(cwd: str | None, target: str | None) -> str | None:
    if target is None or target == "-" or len(cwd or "") + len(target) > MAX_PATH:
        return UNKNOWN
    return posixpath.normpath(posixpath.join(cwd or "", target))
