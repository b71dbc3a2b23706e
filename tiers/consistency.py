"""Whether the parts of a task folder fit each other. Whatever does not is an InputError with file, line and field."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ..sandbox.errors import InputError
from .task import BASE, Task, matches, stated_names
from .template import TemplateError, names
from .waves import Statement, first
from .yamlfile import Source

CHECK_NAME = re.compile(r"test_([RB]\d+)(?:_|$)")


def check(task: Task, source: Source) -> None:
    """Raises at the first thing that does not fit; `source` is the task.yaml."""
    _check_names(task, source)
    _check_requirements(task, source)
    _check_amendments(task, source)
    _check_history(task, source)
    _check_vandal(task, source)
    _check_checks(task, source)


def _check_names(task: Task, source: Source) -> None:
    flags = {*task.requirements, *task.marks, *([BASE] if task.from_scratch else [])}
    texts = {f"workspace/{path}": text for path, text in task.files.workspace.items()}
    texts |= {f"prompts/{name}": text for name, text in task.files.prompts.items()}
    texts |= {f"notes of {name}": text for name, text in task.files.notes.items()}
    for file, text in texts.items():
        where = f"{task.id}/{file}"
        try:
            values, used = names(text, where)
        except TemplateError as error:
            raise InputError(str(error)) from error
        for name in sorted((values - set(task.parameters)) | (used - flags)):
            raise InputError(f"{where}:{_line_of(name, text)}: {name}: neither parameter, requirement nor mark")
    stated = {name for one in first(task.statements).values() for name in stated_names(one.text)}
    for name in task.parameters:
        if name not in stated:
            raise source.error(("parameters", name), "no requirement states it")


def _check_requirements(task: Task, source: Source) -> None:
    stated = first(task.statements)
    for index, requirement in enumerate(task.requirements):
        if requirement not in stated:
            raise source.error(("requirements", index), f"no prompt has a heading `### {requirement} ...`")
        if not task.files_of(requirement):
            raise source.error(("requirements", index), f"no file of the workspace asks `#:if {requirement}`")
        note = task.files.notes.get(requirement)
        if note is None or names(note)[0] != set(task.parameters_of(requirement)):
            raise source.error(("notes",), f"the line of {requirement} must hold exactly the values that it states")


def _check_amendments(task: Task, source: Source) -> None:
    holds = {requirement: stated_names(one.text) for requirement, one in first(task.statements).items()}
    waves = {requirement: one.wave for requirement, one in first(task.statements).items()}
    amended = {(one.requirement, one.wave): stated_names(one.text) for one in task.amendments}
    for one in task.amendments:
        now = amended[one.requirement, one.wave]
        if foreign := sorted(set(now) - set(holds[one.requirement])):
            raise _at_heading(task, one, f"it does not state {foreign[0]}, so that cannot be amended")
        if not any(one.wave in task.definitions[name].amended for name in now):
            raise _at_heading(task, one, f"no value in it is `amended` for wave {one.wave} in task.yaml")
        if set(now) == set(holds[one.requirement]):
            raise _at_heading(task, one, "it states all values anew, so that nothing is left to remember")
    for name, definition in task.definitions.items():
        for wave in definition.amended:
            before = [r for r in task.requirements if name in holds[r] and waves[r] < wave]
            missing = [r for r in before if name not in amended.get((r, wave), ())]
            if missing or not before:
                what = f"does not amend {missing[0]}, which states it" if missing else "amends what nothing states yet"
                raise source.error(("parameters", name, "amended"), f"wave {wave} {what}")


def _at_heading(task: Task, one: Statement, what: str) -> InputError:
    text = task.files.prompts[one.prompt]
    line = text[: text.index(one.text.splitlines()[0])].count("\n") + 1
    return InputError(f"{task.id}/prompts/{one.prompt}:{line}: {one.requirement}: {what}")


def _check_history(task: Task, source: Source) -> None:
    globs = tuple(glob for commit in task.commits for glob in commit.adds)
    turned = {mark for commit in task.commits for mark in commit.turns_on}
    for path in task.workspace_files():
        if not matches(path, globs):
            raise source.error(("history",), f"no commit adds {path}")
    for mark in task.marks:
        if mark not in turned:
            raise source.error(("marks",), f"no commit turns on {mark}")
    for index, glob in enumerate(task.protected):
        if not any(matches(path, (glob,)) for path in task.workspace_files()):
            raise source.error(("protected", index), f"no file of the workspace fits {glob}")


def _check_vandal(task: Task, source: Source) -> None:
    if task.vandal is None:
        return
    reference = task.workspace_files(set(task.requirements))
    if reference.get(task.vandal.path, b"").count(task.vandal.text.encode()) != 1:
        raise source.error(("vandal", "text"), f"does not stand exactly once in {task.vandal.path}")


def _check_checks(task: Task, source: Source) -> None:
    found: list[str] = []
    for path in sorted(task.checks_dir.glob("test_*.py")):
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError as error:
            raise InputError(f"{task.id}/checks/{path.name}:{error.lineno}: {error.msg}") from error
        found += [match[1] for name in _functions(tree) if (match := CHECK_NAME.match(name))]
    for field, wanted in (("requirements", task.requirements), ("baseline", task.baseline)):
        for index, check in enumerate(wanted):
            if found.count(check) != 1:
                raise source.error((field, index), f"{found.count(check)} functions test_{check}_... in checks/, not 1")
    if extra := sorted(set(found) - set(task.check_ids)):
        raise source.error(("requirements",), f"checks/ tests {extra[0]}, which is not listed")


def _functions(tree: ast.Module) -> Iterable[str]:
    return (node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def _line_of(name: str, text: str) -> int:
    found = re.search(rf"<<{name}\b|#:if (not )?{name}\b", text)
    return text[: found.start()].count("\n") + 1 if found else 1
