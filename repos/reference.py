"""The reference: edits that mend each bug, alone or together, and the agent that makes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..sandbox.errors import InputError
from ..tiers.yamlfile import read_yaml
from .schema import ReferenceForm
from .task import RepoTask

FILE = "reference.yaml"

# Runs in the sandbox on its python3: one write for each file, in the order of the bugs, then a commit.
_ORACLE = """\
import json, os, subprocess, sys

plan = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "edits.json"), encoding="utf-8"))
for edit in plan:
    with open(edit["path"], encoding="utf-8", newline="") as file:
        text = file.read()
    if edit["find"] in text and not (edit["find"] in edit["by"] and edit["by"] in text):
        with open(edit["path"], "w", encoding="utf-8", newline="") as file:
            file.write(text.replace(edit["find"], edit["by"], 1))
subprocess.call(["git", "commit", "-qam", "Fix reported behaviour"])
"""


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement: `find` stands in the file of base exactly once."""

    path: str
    find: str
    by: str


Reference = Mapping[str, tuple[Edit, ...]]


def load_reference(task: RepoTask) -> Reference:
    """The edits by bug; InputError where the file does not fit the task. Empty if the task has none."""
    path = task.root / FILE
    if not path.is_file():
        return {}
    form, source = read_yaml(path, ReferenceForm, f"{task.root.name}/{FILE}")
    known = {bug.id for bug in task.known.bugs}
    for bug in form.patches:
        if bug not in known:
            raise source.error(("patches", bug), "no bug of this task")
    return {bug: tuple(Edit(e.path, e.find, e.by) for e in edits) for bug, edits in form.patches.items()}


def mended(files: Mapping[str, bytes], reference: Reference, bugs: Iterable[str]) -> dict[str, bytes]:
    """The files with these bugs mended; InputError if an edit does not fit or two of them stand in each other's way."""
    out = dict(files)
    for bug in bugs:
        if bug not in reference:
            raise InputError(f"the reference has no edits for {bug}")
        for edit in reference[bug]:
            text = out.get(edit.path, b"").decode("utf-8")
            if (count := text.count(edit.find)) != 1:
                raise InputError(f"{bug}: {edit.path}: the text to replace stands there {count} times, not once")
            out[edit.path] = text.replace(edit.find, edit.by).encode("utf-8")
    return out


def oracle_home(reference: Reference, bugs: Sequence[str]) -> dict[str, bytes]:
    """The files below HOME of an agent that mends these bugs; `oracle_command` starts it."""
    edits = [{"path": e.path, "find": e.find, "by": e.by} for bug in bugs for e in reference.get(bug, ())]
    return {"oracle/oracle.py": _ORACLE.encode(), "oracle/edits.json": json.dumps(edits).encode()}


def oracle_command(home: str) -> tuple[str, ...]:
    """The command of that agent."""
    return ("python3", str(Path(home) / "oracle" / "oracle.py"))
