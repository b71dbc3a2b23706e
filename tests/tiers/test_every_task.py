"""What every task that ships must be. A new folder under tiers/ is tested as soon as it exists."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from takeover.tiers.arms import list_arms, load_arm
from takeover.tiers.load import load_task, task_folders
from takeover.tiers.mutants import mutants
from takeover.tiers.skills import skill_pack
from takeover.tiers.task import Task
from takeover.tiers.template import recover, render, strings
from takeover.tiers.tokens import visible_tokens

Checked = Callable[..., dict[str, str]]

# Smaller numbers are counts of letters, years or approvals, which stand everywhere.
TELLING = 20


def lay(files: Mapping[str, bytes], folder: Path) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def all_done(task: Task) -> dict[str, bytes]:
    return task.workspace_files(set(task.requirements))


@pytest.fixture(name="published", scope="module", params=sorted(task_folders()))
def _published(request: pytest.FixtureRequest) -> Task:
    return load_task(request.param)


@pytest.fixture(name="task", scope="module", params=["0", "every-1", "every-2"])
def _task(request: pytest.FixtureRequest, published: Task) -> Task:
    return load_task(published.id, request.param)


def test_baseline_and_reference_meet_the_checks(task: Task, checked: Checked) -> None:
    """The reference passes all; the baseline fails each requirement and nothing else."""
    assert checked(task, all_done(task)) == {}
    assert tuple(checked(task, task.workspace_files())) == task.requirements


def test_the_first_requirement_is_one_edit(published: Task, checked: Checked) -> None:
    """The first edit of the sprint is worth exactly one requirement."""
    first, *others = published.requirements
    assert len(published.files_of(first)) == 1
    assert list(checked(published, published.workspace_files({first}))) == others


def test_visible_tests_pass_at_both_ends(task: Task, tmp_path: Path) -> None:
    """On the baseline and on the reference, with nothing but the standard library."""
    for name, files in (("baseline", task.workspace_files()), ("reference", all_done(task))):
        folder = lay(files, tmp_path / name)
        command = [sys.executable, "-B", "-m", "unittest", "-q"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_no_boundary_is_crossed(task: Task, tmp_path: Path) -> None:
    """Importing a package with all its modules never loads a package that it may not import."""
    files = all_done(task)
    folder = lay(files, tmp_path)
    for package in task.guarded:
        modules = [path[:-3].replace("/", ".") for path in files if re.match(rf"{package}/[a-z]\w*\.py$", path)]
        code = f"import sys, {', '.join(modules)}; print(*{{name.split('.')[0] for name in sys.modules}})"
        command = [sys.executable, "-B", "-c", code]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        assert set(done.stdout.split()) & task.wiring.forbidden(package) == set()


def test_variants_ask_for_other_things_of_the_same_code(task: Task, published: Task) -> None:
    """Prompt and reference differ from the published ones, the baseline does not."""
    assert task.workspace_files() == published.workspace_files()
    assert (task.variant == "0") == (all_done(task) == all_done(published))
    assert skill_pack(task) == skill_pack(published)


def test_who_remembers_the_published_values_fails(published: Task, checked: Checked) -> None:
    """The published solution meets no requirement of another variant."""
    other = load_task(published.id, "every-1")
    assert tuple(checked(other, all_done(published))) == other.requirements


def test_no_value_leaks(published: Task) -> None:
    """What any variant may ask for stands nowhere in the baseline, its history, an arm or the last prompt."""
    texts = [content.decode() for content in published.workspace_files().values()]
    texts += [commit.message for commit in published.history] + [published.prompt("continue.md")]
    for arm in list_arms():
        loaded = load_arm(arm.name, published)
        # A generated file says what the workspace is, in hashes too, whose digits may spell any number.
        texts += [content.decode() for path, content in loaded.files.items() if path not in loaded.generated]
    whole = "\n".join(texts)
    numbers = {int(re.sub("[_,]", "", found)) for found in re.findall(r"\d[\d_,]*\d|\d", whole)}
    words = set(re.findall(r"\w+", whole))
    for name, definition in published.definitions.items():
        for value in definition.allowed:
            if isinstance(value, int):
                assert value < TELLING or value not in numbers, name
            elif len(value) > 2 and not (definition.words or definition.code or definition.vocabulary):
                assert value not in words, name


def test_from_prompt_to_notes_to_the_same_bytes(task: Task) -> None:
    """Notes of one line for each requirement hold enough for the reference, to the byte."""
    values = strings(task.specs, task.parameters)
    notes = "\n".join(render(task.files.notes[name], values, {}) for name in task.requirements)
    prompts = "\n".join(task.prompt(name) for name in task.files.prompts)
    recovered: dict[str, int | str] = {}
    for name in task.requirements:
        from_prompt = recover(task.requirement_template(name), task.specs, prompts)
        assert from_prompt == recover(task.files.notes[name], task.specs, notes)
        recovered |= from_prompt or {}

    assert recovered == task.parameters
    assert all_done(task.with_parameters(**recovered)) == all_done(task)
    assert visible_tokens(notes) <= (480 if task.tier <= 2 else 1180)


def test_every_wrong_value_is_caught(published: Task, checked: Checked) -> None:
    """A number one off, another choice, another operator: each fails the check of its requirement."""
    found = [mutant for requirement in published.requirements for mutant in mutants(published, requirement)]
    assert {mutant.parameter for mutant in found} == set(published.parameters)

    caught = {m.id for m in found if m.requirement in checked(published, m.files(published), (m.requirement,))}
    assert [mutant.id for mutant in found if mutant.id not in caught] == []
