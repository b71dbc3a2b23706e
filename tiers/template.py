"""The micro template: one text that renders to the baseline, to the reference and to everything between.

`<<name>>` stands for a value; `<<name.words>>` and `<<name.code>>` for its wording and its source form.
Lines whose stripped text is `#:if NAME`, `#:if not NAME`, `#:else` or `#:end` choose the lines between them.
The same text read backwards recovers the values from what was rendered (`recover`).

Standard library and Python 3.8 only: the scripted agents carry this file into the sandbox.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    # By parameter: its kind ("int" or "str"), and the words and code of its choices.
    Specs = Mapping[str, Mapping[str, Any]]

FIELD = re.compile(r"<<([a-z][a-z0-9_]*(?:\.(?:words|code))?)>>")
DIRECTIVE = re.compile(r"#:(if|else|end)\b(?:[ ]+(not[ ]+)?([A-Za-z][\w.]*))?$")
HEADING = re.compile(r"^#{1,3} (?:(R\d+)\b)?.*$", re.MULTILINE)
FACES = ("words", "code")


class TemplateError(Exception):
    """A template that cannot be rendered: where, and why."""

    def __init__(self, file: str, line: int, what: str) -> None:
        super().__init__(f"{file}:{line}: {what}")
        self.file, self.line, self.what = file, line, what


def render(text: str, values: Mapping[str, str], flags: Mapping[str, bool], file: str = "template") -> str:
    """The text with its values filled in; TemplateError on an unknown name or an unbalanced `#:if`."""
    out: list[str] = []
    for number, line in _chosen(text, flags, file):
        for index, piece in enumerate(FIELD.split(line)):
            out.append(_value(piece, values, file, number) if index % 2 else piece)
    return "".join(out)


def choose(text: str, flags: Mapping[str, bool], file: str = "template") -> str:
    """The lines that `render` would fill in, with their values still open."""
    return "".join(line for _, line in _chosen(text, flags, file))


def names(text: str, file: str = "template") -> tuple[set[str], set[str]]:
    """All value names and all flag names that the text mentions, on any branch."""
    flags = {m.group(3) for m in map(_directive, text.splitlines()) if m and m.group(3)}
    for _ in _chosen(text, dict.fromkeys(flags, True), file):
        pass
    return {field.partition(".")[0] for field in FIELD.findall(text)}, flags


def strings(specs: Specs, values: Mapping[str, Any]) -> dict[str, str]:
    """What `render` fills in: each value as text, and the faces that its parameter has."""
    out = {name: str(value) for name, value in values.items()}
    for name, value in values.items():
        for face in FACES:
            table = specs[name].get(face) or {}
            if str(value) in table:
                out[f"{name}.{face}"] = table[str(value)]
    return out


def sections(text: str) -> dict[str, str]:
    """The parts of a prompt by requirement: from the heading that names it to the next heading."""
    found = {}
    end = len(text)
    for heading in reversed(list(HEADING.finditer(text))):
        if heading.group(1):
            found[heading.group(1)] = text[heading.start() : end].strip()
        end = heading.start()
    return dict(reversed(list(found.items())))


def recover(text: str, specs: Specs, seen: str, whole: bool = False) -> dict[str, Any] | None:
    """The values with which `text` must have been rendered to give a part of `seen`, or the whole; None if it was not."""
    match = (re.fullmatch if whole else re.search)(_pattern(text, specs), seen.strip())
    if match is None:
        return None
    found: dict[str, Any] = {}
    for group, shown in match.groupdict().items():
        name, _, face = group.partition("__")
        if face:
            shown = next(v for v, words in specs[name][face].items() if words.split() == shown.split())
        found[name] = int(shown) if specs[name]["kind"] == "int" else shown
    return found


def _pattern(text: str, specs: Specs) -> str:
    out: list[str] = []
    seen: set[str] = set()
    for index, piece in enumerate(FIELD.split(text.strip())):
        if index % 2 == 0:
            out.append(_literal(piece))
            continue
        group = piece.replace(".", "__")
        out.append(f"(?P={group})" if group in seen else f"(?P<{group}>{_shape(piece, specs)})")
        seen.add(group)
    return "".join(out)


def _shape(field: str, specs: Specs) -> str:
    name, _, face = field.partition(".")
    spec = specs[name]
    known = list(spec[face].values()) if face else list(spec.get("words") or spec.get("code") or ())
    if known:
        return "|".join(_literal(word) for word in sorted(known, key=len, reverse=True))
    return r"-?\d+" if spec["kind"] == "int" else r"[^\s,;`]+"


def _literal(text: str) -> str:
    return r"\s+".join(re.escape(part) for part in re.split(r"\s+", text))


def _directive(line: str) -> Any:
    return DIRECTIVE.match(line.strip()) if "#:" in line else None


def _value(name: str, values: Mapping[str, str], file: str, line: int) -> str:
    if name not in values:
        raise TemplateError(file, line, f"unknown value <<{name}>>")
    return values[name]


def _chosen(text: str, flags: Mapping[str, bool], file: str) -> Iterable[tuple[int, str]]:
    # Each open `#:if` as [line of it, whether its lines are taken, whether `#:else` was seen].
    stack: list[list[Any]] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        found = _directive(line)
        if found is None:
            if line.strip().startswith("#:"):
                raise TemplateError(file, number, f"not a directive: {line.strip()}")
            if all(taken for _, taken, _ in stack):
                yield number, line
            continue
        _turn(found, stack, flags, file, number)
    if stack:
        raise TemplateError(file, stack[-1][0], "#:if without #:end")


def _turn(found: Any, stack: list[list[Any]], flags: Mapping[str, bool], file: str, number: int) -> None:
    word, negated, flag = found.groups()
    if (word == "if") != bool(flag):
        raise TemplateError(file, number, "#:if takes a name, #:else and #:end take none")
    if word == "if":
        if flag not in flags:
            raise TemplateError(file, number, f"unknown flag {flag}")
        stack.append([number, flags[flag] != bool(negated), False])
        return
    if not stack or (word == "else" and stack[-1][2]):
        raise TemplateError(file, number, f"#:{word} without #:if")
    if word == "else":
        stack[-1][1:] = [not stack[-1][1], True]
    else:
        stack.pop()
