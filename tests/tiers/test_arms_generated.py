"""Arms with an app map, and those with Gate I: the copy of it that an agent has."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from takeover.sandbox.appmap import build_map
from takeover.sandbox.appmap_render import render
from takeover.sandbox.gate_copy import COMMAND_NAME, in_sandbox_check_source, read_hashes
from takeover.tiers.arms import Arm, arm_folders, load_arm, starting_files
from takeover.tiers.arms_generated import APP_MAP, boundary_rules
from takeover.tiers.load import load_task, task_folders
from takeover.tiers.task import Task

WITH_MAP = ("Tuned_Reference", "Tuned_Gate_I")


@pytest.fixture(name="task", scope="module", params=sorted(task_folders()))
def _task(request: pytest.FixtureRequest) -> Task:
    return load_task(request.param)


@pytest.fixture(name="arm", params=WITH_MAP)
def _arm(request: pytest.FixtureRequest, task: Task) -> Arm:
    return load_arm(request.param, task)


@pytest.fixture(name="workspace")
def _workspace(task: Task, tmp_path: Path) -> Path:
    """The workspace of Gate I on a disk."""
    for path, content in starting_files(task, load_arm("Tuned_Gate_I", task)).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    return tmp_path


def gate(workspace: Path) -> tuple[int, list[str]]:
    command = [sys.executable, "-B", COMMAND_NAME]
    done = subprocess.run(command, cwd=workspace, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_the_map_is_that_of_the_workspace(task: Task, arm: Arm, tmp_path: Path) -> None:
    """Made from the very files that the agent finds, whether read from memory or from a disk."""
    files = starting_files(task, arm)
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    digits = 64 if arm.name == "Tuned_Gate_I" else 0

    for source in (files, tmp_path):
        assert arm.files[APP_MAP].decode() == render(
            build_map(source, rules=boundary_rules(task.wiring)), hash_digits=digits
        )


def test_hashes_go_with_the_command(task: Task, arm: Arm) -> None:
    """Gate I has a hash for every module of the workspace, its own command included; the plain map has none."""
    files = starting_files(task, arm)
    sources = {path: hashlib.sha256(data).hexdigest() for path, data in files.items() if path.endswith(".py")}
    expected = sources if COMMAND_NAME in files else {}

    assert read_hashes(arm.files[APP_MAP]) == expected
    assert (COMMAND_NAME in files) == (arm.name == "Tuned_Gate_I")
    assert set(arm.generated) == {APP_MAP, COMMAND_NAME} & set(files)


def test_the_command_is_the_toolkit_s(task: Task) -> None:
    """Byte for byte, in every task."""
    assert load_arm("Tuned_Gate_I", task).files[COMMAND_NAME] == in_sandbox_check_source().encode()


def test_boundaries_and_tags_stand_in_the_map(fintech: Task) -> None:
    """What wiring.yaml forbids a package, at each of its modules."""
    sections = load_arm("Tuned_Reference", fintech).files[APP_MAP].decode().split("\n## ")
    rules = next(section for section in sections if section.startswith("rbac/rules.py"))

    assert "- boundary: may not import audit, billing, payments, reporting, notifications\n" in rules
    assert any("\n- tags: " in section for section in sections)
    for package in fintech.guarded:
        said = boundary_rules(fintech.wiring).get(package, "may not import ").removeprefix("may not import ")
        assert set(filter(None, said.split(", "))) == fintech.wiring.forbidden(package)


def test_other_arms_generate_nothing(task: Task) -> None:
    """A map is what sets the tuned arms apart."""
    assert {name for name in arm_folders() if load_arm(name, task).generated} == set(WITH_MAP)


class TestGate:
    def test_a_fresh_workspace_is_clean(self, workspace: Path) -> None:
        """Every module compared, none drifted, none unlisted."""
        modules = len(list(workspace.rglob("*.py")))
        assert gate(workspace) == (0, [f"{modules} modules compared, 0 drifted"])

    def test_an_edit_is_drift(self, workspace: Path, task: Task) -> None:
        """One cent more in one module is one line."""
        path = next(path for path in task.workspace_files() if path.endswith(".py") and "/" in path)
        with (workspace / path).open("a") as file:
            file.write("\nCENT = 1\n")
        code, lines = gate(workspace)

        assert code == 1
        assert [line.split(":")[0] for line in lines[:-1]] == [f"DRIFT {path}"]
        assert lines[-1].endswith(" 1 drifted")

    def test_a_new_module_is_unlisted_and_a_lost_one_is_drift(self, workspace: Path, task: Task) -> None:
        """Both are told; a new module alone is no drift."""
        (workspace / "extra.py").write_text("")
        assert gate(workspace)[0] == 0
        assert gate(workspace)[1][0] == "UNLISTED extra.py"

        path = next(path for path in task.workspace_files() if path.endswith(".py"))
        (workspace / path).unlink()
        assert gate(workspace)[0] == 1

    def test_without_its_map_it_vouches_for_nothing(self, workspace: Path) -> None:
        """Exit code 2."""
        (workspace / APP_MAP).unlink()
        assert gate(workspace)[0] == 2
