"""Tier 3, warehouse: the task measures what it says, in the published variant and in a dozen others."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from itertools import combinations
from pathlib import Path
from types import CodeType, SimpleNamespace

import pytest

from takeover.grader import checks
from takeover.grader.local import unsafe_local_channel
from takeover.grader.plain import same
from takeover.tiers.load import load_task
from takeover.tiers.mutants import mutants
from takeover.tiers.task import Task
from takeover.tiers.template import recover, render, strings
from takeover.tiers.tokens import visible_tokens

SEEDS = ("0", *(f"tier3-{number}" for number in range(12)))
STATE_TOKENS = 1200


class Answer:
    """What `Observed` and `Raised` are to a check."""

    __hash__ = None

    def __init__(self, value: object = None, raised: Exception | None = None) -> None:
        self.value, self.type, self.message = value, type(raised).__name__ if raised else None, str(raised)
        self._bases = [f".{base.__module__}.{base.__name__}" for base in type(raised).__mro__]

    def __eq__(self, expected: object) -> bool:
        return self.type is None and same(self.value, expected)

    def is_a(self, name: str) -> bool:
        return any(base.endswith(f".{name}") for base in self._bases)


class Rendered(MetaPathFinder, InspectLoader):
    """A rendered workspace as the subject: each module is imported once, in this process. Our own code only."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        stem = name.replace(".", "/")
        files = (file for file in (f"{stem}/__init__.py", f"{stem}.py") if file in self._files)
        file = next(files, None)
        return file and ModuleSpec(name, self, origin=file, is_package=file.endswith("__init__.py"))

    def get_source(self, fullname: str) -> str:
        return self._files[self.find_spec(fullname).origin].decode()

    def get_code(self, fullname: str) -> CodeType:
        return compiled(self.get_source(fullname))

    def call(self, target: str, *args: object, **kwargs: object) -> Answer:
        name, _, attribute = target.partition(":")
        try:
            return Answer(getattr(importlib.import_module(name), attribute)(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - whatever our own code raises is what a check asks about
            return Answer(raised=error)

    error = call

    def steps(self) -> Rendered:
        return self


compiled = cache(lambda source: compile(source, "rendered", "exec", dont_inherit=True))


@cache
def functions(folder: Path) -> Mapping[str, Callable[..., None]]:
    found: dict[str, Callable[..., None]] = {}
    for path in sorted(folder.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"checks_{path.stem}", path)
        spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
        found |= {checks.checkrun.check_id(name): one for name, one in vars(module).items() if name.startswith("test_")}
    return found


def failures(task: Task, files: Mapping[str, bytes], ids: tuple[str, ...] = ()) -> set[str]:
    """The ids of the checks that fail."""
    subject = Rendered(files)
    available = {"subject": subject, "p": SimpleNamespace(**task.parameters)}
    failed, before = set(), set(sys.modules)
    sys.meta_path.insert(0, subject)
    try:
        for check in ids or task.check_ids:
            function = functions(task.checks_dir)[check]
            try:
                function(**{name: available[name] for name in inspect.signature(function).parameters})
            except AssertionError:
                failed.add(check)
    finally:
        sys.meta_path.remove(subject)
        for name in set(sys.modules) - before:
            if sys.modules[name].__loader__ is subject:
                del sys.modules[name]
    return failed


@pytest.fixture(name="task", scope="module", params=SEEDS)
def _task(request: pytest.FixtureRequest) -> Task:
    return load_task("tier3_warehouse", request.param)


@pytest.fixture(name="published", scope="module")
def _published() -> Task:
    return load_task("tier3_warehouse")


def write(files: Mapping[str, bytes], folder: Path) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def visible_tests(folder: Path, runner: str = "unittest") -> None:
    done = subprocess.run([sys.executable, "-B", "-m", runner], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def sources(files: Mapping[str, bytes]) -> Iterator[tuple[str, ast.Module]]:
    for path, content in files.items():
        if path.endswith(".py"):
            yield path, ast.parse(content, path, feature_version=(3, 8))


def forbidden_imports(task: Task, files: Mapping[str, bytes]) -> set[tuple[str, str]]:
    """Pairs (file, package) of absolute imports that the wiring forbids."""
    found = set()
    for path, tree in sources(files):
        for node in ast.walk(tree):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name.split(".")[0] in task.wiring.forbidden(path.split("/")[0]):
                    found.add((path, name.split(".")[0]))
    return found


class TestWorkspace:
    def test_baseline_is_the_same_in_every_variant(self, task: Task, published: Task) -> None:
        """No value of a requirement shapes the code that an agent starts from."""
        assert task.workspace_files() == published.workspace_files()
        assert task.history == published.history

    @pytest.mark.parametrize("runner", ["unittest", "pytest"])
    def test_visible_tests_pass_on_the_baseline(self, published: Task, tmp_path: Path, runner: str) -> None:
        """With both runners that the README names."""
        visible_tests(write(published.workspace_files(), tmp_path), runner)

    def test_visible_tests_pass_on_the_reference(self, task: Task, tmp_path: Path) -> None:
        """All requirements leave the delivered tests green, and the files are Python 3.8 as promised."""
        files = task.workspace_files(set(task.requirements))
        assert len(list(sources(files))) == sum(path.endswith(".py") for path in files)
        visible_tests(write(files, tmp_path))

    def test_visible_tests_pass_at_every_commit(self, published: Task, tmp_path: Path) -> None:
        """The history is one that somebody could have made."""
        for commit in published.history:
            visible_tests(write(commit.files, tmp_path))
        kept = {path: (tmp_path / path).read_bytes() for path in published.workspace_files()}
        assert kept == published.workspace_files()

    def test_first_requirement_is_one_write_of_one_file(self, published: Task) -> None:
        """R1 is met by one write, so an agent that is cut off there leaves exactly R1."""
        assert published.files_of("R1") == ("inventory/replenish.py",)

    def test_sprint_spreads_over_the_packages(self, published: Task) -> None:
        """At least seven packages change, and some files serve several requirements."""
        touched = [path for requirement in published.requirements for path in published.files_of(requirement)]
        assert len({path.split("/")[0] for path in touched}) >= 7
        assert len({path for path in touched if touched.count(path) > 1}) >= 3


class TestValues:
    def test_numbers_are_told_apart(self, published: Task) -> None:
        """No number of one parameter can pass in another's place, and none looks like those of the baseline."""
        numbers = {n: {v for v in d.allowed if isinstance(v, int)} for n, d in published.definitions.items()}
        for (one, left), (other, right) in combinations(numbers.items(), 2):
            assert not left & right, (one, other)
        assert [n for n, values in numbers.items() for v in values if v <= 12 or v % 5 == 0] == []

    def test_no_value_leaks_into_the_baseline(self, published: Task) -> None:
        """Neither a number nor a name that any variant may ask for stands in what an agent is given."""
        text = "\n".join(content.decode() for content in published.workspace_files().values())
        text += "\n".join(commit.message for commit in published.history) + published.prompt("continue.md")
        numbers = {int(digits) for digits in re.findall(r"\d+", re.sub(r"(?<=\d)_(?=\d)", "", text))}
        for name, definition in published.definitions.items():
            for value in definition.allowed:
                if isinstance(value, int):
                    assert value not in numbers, name
                elif not definition.words:
                    assert value not in text, name

    def test_variants_differ(self, task: Task, published: Task) -> None:
        """Another seed changes the values of every requirement."""
        if task.variant == published.variant:
            return
        for requirement in task.requirements:
            names = task.parameters_of(requirement)
            assert [task.parameters[n] for n in names] != [published.parameters[n] for n in names], requirement

    def test_values_can_be_read_back(self, task: Task) -> None:
        """From the prompt and from the notes, each requirement alone."""
        notes = rendered_notes(task)
        for requirement in task.requirements:
            wanted = {name: task.parameters[name] for name in task.parameters_of(requirement)}
            stated = task.requirement_template(requirement)
            assert recover(stated, task.specs, task.prompt("sprint.md")) == wanted
            assert recover(task.files.notes[requirement], task.specs, notes) == wanted

    # The tokenizer's own package reads its data in a way that Python 3.11 calls old.
    @pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")
    def test_notes_fit_their_limit(self, task: Task) -> None:
        """All 24 requirements, with every value, are fewer tokens than Tier 3 allows for state.md."""
        assert visible_tokens(rendered_notes(task)) <= STATE_TOKENS


class TestChecks:
    def test_reference_passes_all(self, task: Task) -> None:
        """The reference meets every requirement and keeps every behaviour."""
        assert failures(task, task.workspace_files(set(task.requirements))) == set()

    def test_baseline_passes_none_of_the_requirements(self, task: Task) -> None:
        """The start fails each R and passes each B."""
        assert failures(task, task.workspace_files()) == set(task.requirements)

    def test_each_requirement_stands_alone(self, task: Task) -> None:
        """With one requirement met, its check passes and no other requirement's does."""
        for requirement in task.requirements:
            failed = failures(task, task.workspace_files({requirement}))
            assert failed == set(task.requirements) - {requirement}

    def test_any_subset_passes_its_own_checks(self, published: Task) -> None:
        """Requirements do not lean on each other, and the baseline holds beside all of them."""
        chance = random.Random(3)
        for size in range(2, len(published.requirements)):
            done = set(chance.sample(published.requirements, size))
            assert failures(published, published.workspace_files(done)) == set(published.requirements) - done

    def test_every_mutant_is_killed(self, task: Task) -> None:
        """One wrong value of a requirement fails that requirement's check."""
        alive = [
            mutant.id
            for requirement in task.requirements
            for mutant in mutants(task, requirement)
            if not failures(task, mutant.files(task), (requirement,))
        ]
        assert alive == []

    def test_grader_itself_agrees(self, published: Task, tmp_path: Path) -> None:
        """The same verdicts through the real checks, subject and worker."""
        done = {"R1", "R8", "R20", "R24"}
        with unsafe_local_channel(write(published.workspace_files(done), tmp_path)) as channel:
            run = checks.run_checks(published.checks_dir, published.parameters, channel, published.check_ids)
        assert {result.id for result in run.results if result.passed} == done | set(published.baseline)


# What a hurried agent would import, where the reference keeps the shared number in catalog/policy.py.
SHORTCUTS = {
    "R17": ("packing/cartons.py", "from catalog.policy import MM3_PER_GRAM", "shipping.dimensional"),
    "R20": ("shipping/departures.py", "from catalog.policy import EXPRESS_DEADLINE, is_workday", "orders.promise"),
    "R22": ("returns/disposition.py", "from catalog.policy import NEAR_EXPIRY_DAYS", "inventory.lots"),
}


class TestBoundaries:
    def test_baseline_and_reference_keep_them(self, task: Task) -> None:
        """Every requirement can be met within the wiring."""
        for done in (set(), set(task.requirements)):
            assert forbidden_imports(task, task.workspace_files(done)) == set()

    @pytest.mark.parametrize("requirement", SHORTCUTS)
    def test_sprint_tempts_across_them(self, published: Task, requirement: str) -> None:
        """The short way to a shared number works, and the wiring forbids it."""
        path, honest, module = SHORTCUTS[requirement]
        files = published.workspace_files(set(published.requirements))
        text = files[path].decode()
        assert honest in text
        files[path] = text.replace(honest, honest.replace("catalog.policy", module)).encode()
        assert failures(published, files) == set()
        assert forbidden_imports(published, files) == {(path, module.split(".")[0])}


def rendered_notes(task: Task) -> str:
    values = strings(task.specs, task.parameters)
    return "\n".join(render(line, values, {}) for line in task.files.notes.values())
