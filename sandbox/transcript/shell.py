"""Takes a shell script apart into simple commands, as a shell would, and runs none of them.

Quotes, escapes, operators, redirections, here-documents, comments and substitutions are understood; a word that only a
running shell could know (it holds a variable, a substitution or a pattern) is marked as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

MAX_SCRIPT = 1_000_000
_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "(", ")", "\n")
_REDIRECTS = ("<<<", "<<-", "&>>", "<<", ">>", "&>", ">&", "<&", "<>", ">|", ">", "<")
_KEYWORDS = frozenset(
    [
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "in",
        "function",
        "time",
        "!",
        "{",
        "}",
    ]
)

Role = Literal["word", "operator", "redirect"]


@dataclass(slots=True)
class Word:
    """A word with its quotes taken off; `literal` is False when a running shell would make something else of it."""

    text: str
    literal: bool = True
    quoted: bool = False


@dataclass(slots=True)
class Redirect:
    """A redirection: what stands before the operator as file descriptor (None if nothing), and its target."""

    operator: str
    descriptor: int | None
    target: Word
    body: str | None = None


@dataclass(slots=True)
class Command:
    """One simple command. `piped` says that its input is the output of the command before it; `depth` counts subshells."""

    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    piped: bool = False
    depth: int = 0

    @property
    def heredoc(self) -> str | None:
        """What a here-document or here-string gives it as input."""
        return next((one.body for one in reversed(self.redirects) if one.body is not None), None)


@dataclass(slots=True)
class _Token:
    role: Role
    text: str
    word: Word | None = None
    redirect: Redirect | None = None


def parse_script(script: str) -> list[Command]:
    """The simple commands of a script in order; what is no shell gives what can be made of it, never an error."""
    commands: list[Command] = []
    current = Command()
    depth = 0
    piped = False

    def close() -> None:
        nonlocal current
        first = next((i for i, one in enumerate(current.words) if one.quoted or one.text not in _KEYWORDS), None)
        current.words = current.words[first:] if first is not None else []
        if current.words or current.redirects:
            current.piped, current.depth = piped, depth
            commands.append(current)
        current = Command()

    for token in _Lexer(script[:MAX_SCRIPT]).tokens():
        if token.word is not None:
            current.words.append(token.word)
        elif token.redirect is not None:
            current.redirects.append(token.redirect)
        else:
            close()
            # A line end after a pipe goes on with the pipe.
            if not (token.text == "\n" and piped and commands and not current.words):
                piped = token.text in ("|", "|&")
            depth = max(0, depth + (token.text == "(") - (token.text == ")"))
    close()
    return commands


class _Lexer:
    def __init__(self, script: str) -> None:
        self.text = script
        self.at = 0
        self.waiting: list[tuple[Redirect, bool]] = []

    def tokens(self) -> Iterator[_Token]:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif (redirect := self.redirect()) is not None:
                yield _Token("redirect", redirect.operator, redirect=redirect)
            elif (
                operator := next((one for one in _OPERATORS if self.text.startswith(one, self.at)), None)
            ) is not None:
                self.at += len(operator)
                if operator == "\n":
                    self.bodies()
                yield _Token("operator", operator)
            else:
                word = self.word()
                yield _Token("word", word.text, word=word)

    def redirect(self) -> Redirect | None:
        start = self.at
        while start < len(self.text) and self.text[start].isdigit() and start - self.at < 4:
            start += 1
        operator = next((one for one in _REDIRECTS if self.text.startswith(one, start)), None)
        if operator is None or (start > self.at and operator.startswith("&")):
            return None
        digits = self.text[self.at : start]
        if self.text.startswith(("<(", ">("), start):
            # A process substitution is a word.
            return None
        self.at = start + len(operator)
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1
        target = self.word()
        made = Redirect(operator, int(digits) if digits.isascii() and digits else None, target)
        if operator == "<<<":
            made.body = target.text + "\n"
        elif operator in ("<<", "<<-"):
            self.waiting.append((made, operator == "<<-"))
        return made

    def bodies(self) -> None:
        """Read the here-documents that were announced on the line that just ended."""
        for redirect, dedent in self.waiting:
            lines: list[str] = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                line = self.text[self.at :] if end < 0 else self.text[self.at : end]
                self.at = len(self.text) if end < 0 else end + 1
                shown = line.lstrip("\t") if dedent else line
                if shown.rstrip("\r") == redirect.target.text:
                    break
                lines.append(shown + "\n")
            redirect.body = "".join(lines)
        self.waiting = []

    def word(self) -> Word:
        parts: list[str] = []
        word = Word("")
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r\n;|&<>()" and not self.text.startswith(("<(", ">("), self.at):
                break
            if char == "'":
                parts.append(self.single())
                word.quoted = True
            elif char == '"':
                parts.append(self.double(word))
                word.quoted = True
            elif char == "\\":
                parts.append(self.escaped())
            elif char in "$`" or self.text.startswith(("<(", ">("), self.at):
                parts.append(self.dollar(word))
            else:
                if char in "*?[" or (char == "~" and not parts):
                    word.literal = False
                parts.append(char)
                self.at += 1
        word.text = "".join(parts)
        return word

    def single(self) -> str:
        end = self.text.find("'", self.at + 1)
        end = len(self.text) if end < 0 else end
        found = self.text[self.at + 1 : end]
        self.at = end + 1
        return found

    def escaped(self) -> str:
        found = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        return "" if found == "\n" else found

    def double(self, word: Word) -> str:
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            char = self.text[self.at]
            if char == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                parts.append("" if following == "\n" else following if following in '$`"\\' else char + following)
                self.at += 2
            elif char in "$`":
                parts.append(self.dollar(word))
            else:
                stop = self.at + 1
                while stop < len(self.text) and self.text[stop] not in '"\\$`':
                    stop += 1
                parts.append(self.text[self.at : stop])
                self.at = stop
        self.at += 1
        return "".join(parts)

    def dollar(self, word: Word) -> str:
        """A variable or a substitution, taken as it stands; `$'...'` and a lone `$` are literal."""
        start = self.at
        opening = self.text[start : start + 2]
        if opening == "$'":
            self.at += 1
            return self.single()
        if opening == '$"':
            self.at += 1
            return self.double(word)
        if self.text[start] == "`":
            end = self.text.find("`", start + 1)
            self.at = len(self.text) if end < 0 else end + 1
        elif opening in ("$(", "<(", ">("):
            self.at = self.closing(start + 2, "(", ")")
        elif opening == "${":
            self.at = self.closing(start + 2, "{", "}")
        else:
            self.at = start + 1
            while self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] in "_@#?$!*-"):
                self.at += 1
                if not self.text[self.at - 1].isalnum() and self.text[self.at - 1] != "_":
                    break
            if self.at == start + 1:
                return "$"
        word.literal = False
        return self.text[start : self.at]

    def closing(self, at: int, opening: str, closing: str) -> int:
        """Where the bracket that was opened before `at` closes, quotes respected."""
        level = 1
        while at < len(self.text):
            char = self.text[at]
            if char == "\\":
                at += 1
            elif char in "'\"":
                end = self.text.find(char, at + 1)
                at = len(self.text) if end < 0 else end
            else:
                level += (char == opening) - (char == closing)
                if level == 0:
                    return at + 1
            at += 1
        return len(self.text)
