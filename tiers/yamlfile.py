"""YAML files that people write, read strictly: every error names file, line and field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from ..sandbox.errors import InputError

M = TypeVar("M", bound=BaseModel)
Step = int | str


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed file that still knows on which line each field stands."""

    name: str
    lines: Mapping[tuple[Step, ...], int]

    def error(self, where: tuple[Step, ...], what: str) -> InputError:
        """An InputError `file:line: field: what`, at the nearest enclosing field that exists."""
        at = where
        while at and at not in self.lines:
            at = at[:-1]
        field = ".".join(str(step) for step in where)
        prefix = f"{field}: " if field else ""
        return InputError(f"{self.name}:{self.lines.get(at, 1)}: {prefix}{what}")


def read_yaml(path: Path, model: type[M], name: str) -> tuple[M, Source]:
    """The file as `model`, and where its fields stand. `name` is what errors call the file."""
    try:
        text = path.read_bytes().decode("utf-8")
        root, data = _parsed(text, name)
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 (byte {error.start})") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{name}:{line}: not YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{name}: not YAML: {error}") from error
    source = Source(name, _lines(root, name))
    return validate(data, model, source), source


def validate(data: object, model: type[M], source: Source) -> M:
    """`data` as `model`; the first thing that does not fit becomes an InputError."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise source.error(_existing(first["loc"], source), first["msg"].removeprefix("Value error, ")) from error


def _parsed(text: str, name: str) -> tuple[yaml.Node | None, object]:
    # The same loader in C where PyYAML has it, ten times as fast.
    kind = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for event in yaml.parse(text, Loader=kind):
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise InputError(f"{name}:{line}: not YAML: aliases (*name) are not read here; write the value out")
    loader = kind(text)
    try:
        root = loader.get_single_node()
        return root, None if root is None else loader.construct_document(root)
    finally:
        loader.dispose()


def _existing(location: tuple[Step, ...], source: Source) -> tuple[Step, ...]:
    # pydantic puts names of union members into the location; a reader knows only what stands in the file.
    where: tuple[Step, ...] = ()
    for index, step in enumerate(location):
        if (*where, step) in source.lines or index == len(location) - 1:
            where = (*where, step)
    return where


def _lines(root: yaml.Node | None, name: str) -> dict[tuple[Step, ...], int]:
    found: dict[tuple[Step, ...], int] = {}
    todo: list[tuple[tuple[Step, ...], yaml.Node | None]] = [((), root)]
    while todo:
        where, node = todo.pop()
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                here = (*where, str(key.value))
                if here in found:
                    raise InputError(f"{name}:{key.start_mark.line + 1}: {'.'.join(map(str, here))}: stands twice")
                found[here] = key.start_mark.line + 1
                todo.append((here, value))
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                found[(*where, index)] = value.start_mark.line + 1
                todo.append(((*where, index), value))
    return found
