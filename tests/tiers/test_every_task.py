"""What every task that ships must be. A new folder under tiers/ is tested as soon as it exists.

TAKEOVER_TASK_SEEDS=N tests N variants of each beside the published one; the default is enough to notice a mistake.
"""

from __future__ import annotations

import json
import os
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
from takeover.tiers.task import Task, stated_names
from takeover.tiers.template import recover, render, sections, strings
from takeover.tiers.tokens import visible_tokens

Checked = Callable[..., dict[str, str]]

# Imports the modules of each package in a process of its own, and tells what was loaded then.
LOADED = """
import importlib, json, os, sys
told = {}
for package, modules in json.loads(sys.argv[1]).items():
    reading, writing = os.pipe()
    if not os.fork():
        for module in modules:
            importlib.import_module(module)
        os.write(writing, json.dumps(sorted({name.split(".")[0] for name in sys.modules})).encode())
        os._exit(0)
    assert os.wait()[1] == 0, package
    told[package] = json.loads(os.read(reading, 1 << 16))
print(json.dumps(told))
"""

SEEDS = ["0", *(f"every-{number + 1}" for number in range(int(os.environ.get("TAKEOVER_TASK_SEEDS", "1"))))]
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


@pytest.fixture(name="task", scope="module", params=SEEDS)
def _task(request: pytest.FixtureRequest, published: Task) -> Task:
    return load_task(published.id, request.param)


def test_baseline_and_reference_meet_the_checks(task: Task, checked: Checked) -> None:
    """The reference passes all; the baseline fails each requirement and nothing else."""
    assert checked(task, all_done(task)) == {}
    assert tuple(checked(task, task.built)) == task.requirements


def test_the_first_requirement_of_each_wave_is_one_edit(published: Task, checked: Checked) -> None:
    """The first edit for a new prompt is worth exactly one requirement, and no later wave changes that one."""
    amended = {one.requirement for one in published.amendments}
    for first, *_ in published.waves:
        assert len(published.files_of(first)) == 1
        failed = checked(published, published.workspace_files({first}))
        assert set(failed) == set(published.requirements) - {first}
        assert first not in amended


def test_amendments_change_some_requirements_and_leave_the_others(task: Task, checked: Checked) -> None:
    """What was right after an earlier wave fails at the end exactly where a later wave amended it."""
    assert [name for wave in task.waves for name in wave] == list(task.requirements)
    for wave in range(1, len(task.waves)):
        stale = {one.requirement for one in task.amendments if one.wave > wave}
        assert set(checked(task, task.workspace_files(set(task.requirements), wave))) == stale


def test_visible_tests_pass_at_both_ends(task: Task, tmp_path: Path) -> None:
    """On the baseline and on the reference, with nothing but the standard library; not before the baseline is built."""
    workspaces = {"baseline": task.built, "reference": all_done(task)}
    if task.from_scratch:
        workspaces["start"] = task.workspace_files()
    for name, files in workspaces.items():
        command = [sys.executable, "-B", *task.visible_tests[1:]]
        done = subprocess.run(command, cwd=lay(files, tmp_path / name), capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == (name != "start"), done.stderr


def test_no_boundary_is_crossed(task: Task, tmp_path: Path) -> None:
    """Importing a package with all its modules never loads a package that it may not import."""
    files = all_done(task)
    folder = lay(files, tmp_path)
    modules = {
        package: [path[:-3].replace("/", ".") for path in files if re.match(rf"{package}/[a-z]\w*\.py$", path)]
        for package in task.guarded
    }
    done = subprocess.run(
        [sys.executable, "-B", "-c", LOADED, json.dumps(modules)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    for package, loaded in json.loads(done.stdout).items():
        assert set(loaded) & task.wiring.forbidden(package) == set()


def test_variants_ask_for_other_things_of_the_same_code(task: Task, published: Task) -> None:
    """Prompt and reference differ from the published ones, the baseline does not."""
    assert task.workspace_files() == published.workspace_files()
    assert task.built == published.built
    assert (task.variant == "0") == (all_done(task) == all_done(published))
    assert skill_pack(task) == skill_pack(published)


def test_who_remembers_the_published_values_fails(published: Task, checked: Checked) -> None:
    """The published solution meets no requirement of another variant."""
    other = load_task(published.id, "every-1")
    assert tuple(checked(other, all_done(published))) == other.requirements


def test_no_value_leaks(published: Task) -> None:
    """What any variant may ask for stands nowhere in the baseline, its history, an arm or the last prompt."""
    texts = [content.decode() for files in (published.workspace_files(), published.built) for content in files.values()]
    texts += [commit.message for commit in published.history] + [published.prompt("continue.md")]
    for arm in list_arms():
        loaded = load_arm(arm.name, published)
        # A generated file says what the workspace is, in hashes too, whose digits may spell any number.
        texts += [content.decode() for path, content in loaded.files.items() if path not in loaded.generated]
    whole = "\n".join(texts)
    numbers = {int(re.sub("[_,]", "", found)) for found in re.findall(r"\d[\d_,]*\d|\d", whole)}
    words = set(re.findall(r"\w+", whole))
    for name, definition in published.definitions.items():
        telling = [value for value in definition.allowed if is_telling(published, name, value)]
        assert not set(telling) & (numbers | words), name


def test_from_prompts_to_notes_to_the_same_bytes(task: Task) -> None:
    """Notes of one line for each requirement, amended as the waves go, hold enough for the reference, to the byte."""
    known: dict[str, dict[str, int | str]] = {name: {} for name in task.requirements}
    for one in task.statements:
        stated = recover(one.text, task.specs, sections(task.prompt(one.prompt))[one.requirement])
        known[one.requirement] |= stated or {}
    values = {name: value for found in known.values() for name, value in found.items()}
    assert values == task.parameters

    shown = strings(task.specs, values)
    notes = "\n".join(render(task.files.notes[name], shown, {}) for name in task.requirements)
    assert {name: recover(task.files.notes[name], task.specs, notes) for name in task.requirements} == known
    assert all_done(task.with_parameters(**values)) == all_done(task)
    assert visible_tokens(notes) <= (480 if task.tier <= 2 else 1180)


def test_no_prompt_tells_a_later_wave(published: Task) -> None:
    """Neither its sections nor its values."""
    for wave in range(1, len(published.waves)):
        early = "\n".join(published.prompt(one.prompt) for one in published.statements if one.wave <= wave)
        words = set(re.findall(r"\w+", early))
        assert not {name for later in published.waves[wave:] for name in later} & set(sections(early))
        known = {name for one in published.statements if one.wave <= wave for name in stated_names(one.text)}
        values = {name: [value] for name, value in published.parameters.items() if name not in known}
        for name, one in published.definitions.items():
            values.setdefault(name, []).extend(value for at, value in one.amended.items() if at > wave)
        for name, hidden in values.items():
            telling = [value for value in hidden if is_telling(published, name, value)]
            assert not {str(value) for value in telling} & words, name


def is_telling(task: Task, name: str, value: int | str) -> bool:
    """Whether a value says something where it stands, and is no common word or small count."""
    definition = task.definitions[name]
    if isinstance(value, int):
        return value >= TELLING
    return len(value) > 2 and not (definition.words or definition.code or definition.vocabulary)


def test_every_wrong_value_is_caught(published: Task, checked: Checked) -> None:
    """A number one off, another choice or operator, a value from before its amendment: each fails its requirement."""
    found = [mutant for requirement in published.requirements for mutant in mutants(published, requirement)]
    assert {mutant.parameter for mutant in found} == set(published.parameters)
    for wave, values in enumerate(published.earlier, 1):
        changed = {name for name in values if values[name] != published.values_at(wave + 1)[name]}
        assert changed <= {m.parameter for m in found if m.wrong == values[m.parameter]}

    caught = {m.id for m in found if m.requirement in checked(published, m.files(published), (m.requirement,))}
    assert [mutant.id for mutant in found if mutant.id not in caught] == []
