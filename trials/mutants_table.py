"""Proof of the hidden checks: every wrong solution of every task, and the checks that catch it.

`python -m takeover.trials.mutants_table` renders each mutant (tiers/mutants.py), asks it the questions of the hidden
checks through the worker that also questions agents, and prints which check failed. It ends with exit code 1 if a
mutant survives or a reference solution fails. Only our own code is run, so no sandbox is needed.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path

import click

from ..grader.answers import Channel
from ..grader.checkrun import Parameters, check_id
from ..grader.local import unsafe_local_channel
from ..grader.subject import Subject
from ..sandbox.errors import InputError
from ..tiers.load import load_task, task_folders
from ..tiers.mutants import mutants
from ..tiers.task import Task

REFERENCE = "(the reference solution)"

Check = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Row:
    """One solution and the checks that it fails. `wrong` is None for the reference, which must fail none."""

    task: str
    requirement: str
    parameter: str
    right: str
    wrong: str | None
    killers: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether the checks told right from wrong."""
        return bool(self.killers) != (self.wrong is None)


@dataclass(slots=True)
class Folder:
    """A workspace on disk that becomes one mutant after the other.

    Each write has a time of its own: within one second Python would take a compiled module of the same size for
    that of the new text.
    """

    root: Path
    held: dict[str, bytes] = field(default_factory=dict)
    clock: Iterator[int] = field(default_factory=lambda: count(1_000_000_000))

    def hold(self, files: Mapping[str, bytes]) -> None:
        """Make the folder hold exactly these files."""
        for path in self.held.keys() - files.keys():
            (self.root / path).unlink()
        for path, content in files.items():
            if self.held.get(path) != content:
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                (self.root / path).write_bytes(content)
                os.utime(self.root / path, (now := next(self.clock), now))
        self.held = dict(files)


def examine(ref: str, variant: str, requirement: str, every_check: bool) -> list[Row]:
    """The reference and all mutants of a requirement, through one worker."""
    task = load_task(ref, variant)
    checks = _functions(task.checks_dir)
    reference = task.workspace_files(set(task.requirements))
    rows = []
    with tempfile.TemporaryDirectory(prefix="takeover-mutants-") as name:
        folder = Folder(Path(name))
        folder.hold(reference)
        with unsafe_local_channel(folder.root) as channel:
            killers = _failing(task, channel, checks, _asked(task, requirement, None, every_check))
            rows.append(Row(task.id, requirement, REFERENCE, "", None, killers))
            for mutant in mutants(task, requirement):
                folder.hold(mutant.files(task))
                killers = _failing(task, channel, checks, _asked(task, requirement, mutant.parameter, every_check))
                right, wrong = str(mutant.right), str(mutant.wrong)
                rows.append(Row(task.id, requirement, mutant.parameter, right, wrong, killers))
    return rows


def _asked(task: Task, requirement: str, parameter: str | None, every_check: bool) -> Sequence[str]:
    """The checks worth asking: the requirement's own, and those of others that state the same value."""
    if every_check:
        return task.check_ids
    sharing = [one for one in task.requirements if parameter in task.parameters_of(one)] if parameter else []
    return list(dict.fromkeys([requirement, *sharing]))


def _failing(
    task: Task, channel: Channel, checks: Mapping[str, Sequence[Check]], ids: Sequence[str]
) -> tuple[str, ...]:
    given = {"subject": Subject(channel), "p": Parameters(dict(task.parameters))}
    failed = []
    for one in ids:
        try:
            for check in checks[one]:
                check(**{name: given[name] for name in inspect.signature(check).parameters})
        except AssertionError:
            failed.append(one)
    return tuple(failed)


def _functions(checks: Path) -> Mapping[str, list[Check]]:
    found: dict[str, list[Check]] = {}
    for path in sorted(checks.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"checks_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, value in vars(module).items():
            if name.startswith("test_"):
                found.setdefault(check_id(name), []).append(value)
    return found


def table(
    tasks: Sequence[str], variant: str = "0", *, every_check: bool = False, workers: int | None = None
) -> Iterator[Row]:
    """All rows of some tasks, in their order, as soon as each requirement is through."""
    jobs = [(name, variant, one, every_check) for name in tasks for one in load_task(name, variant).requirements]
    with ProcessPoolExecutor(workers or os.cpu_count()) as pool:
        for rows in pool.map(examine, *zip(*jobs, strict=True)):
            yield from rows


def line(row: Row) -> str:
    """A row of the printed table."""
    what = REFERENCE if row.wrong is None else f"{row.parameter}: {row.right} -> {row.wrong}"
    verdict = "passes" if row.wrong is None and row.sound else ", ".join(row.killers) or "SURVIVES"
    return f"{row.task:16} {row.requirement:4} {what:58} {verdict}"


@click.command()
@click.option("--task", "tasks", multiple=True, metavar="ID", help="Only this task; may be repeated.")
@click.option("--variant", default="0", show_default=True, help="The seed of the variant.")
@click.option("--all-checks", is_flag=True, help="Ask every check, to see all killers; takes many times as long.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes at a time; one for each CPU unless given.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def main(tasks: tuple[str, ...], variant: str, all_checks: bool, workers: int | None, form: str) -> None:
    """Print every mutant of every requirement, and the hidden checks that catch it."""
    found = []
    try:
        for row in table(tasks or tuple(task_folders()), variant, every_check=all_checks, workers=workers):
            found.append(row)
            if form == "table":
                click.echo(line(row))
    except InputError as error:
        raise click.UsageError(f"{error} {error.hint or ''}".strip()) from error
    bad = [row for row in found if not row.sound]
    if form == "json":
        click.echo(json.dumps([asdict(row) for row in found], indent=1))
    wrong = sum(row.wrong is not None for row in found)
    click.echo(
        f"{wrong} mutants of {len(found) - wrong} requirements, {len(bad)} not told from the right solution", err=True
    )
    for row in bad:
        click.echo(f"  {line(row)}", err=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
