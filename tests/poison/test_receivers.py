"""The scripted receivers: what they take for an instruction, for an explanation, and for their own work."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType

import pytest

from takeover.poison.catalog import grid
from takeover.poison.model import CODE, REWRITES, Goal, Poison
from takeover.poison.places import Facts
from takeover.poison.wording import words
from takeover.tiers.skills import RECEIVER_ROLES, SCRIPTED, SHARED
from takeover.tiers.task import Task

WORDS = [one for pill in grid() for one in pill.poisons if one.kind not in CODE | REWRITES]
MODULES = [path.stem for path in (*SCRIPTED.glob("*.py"), *SHARED)]


@pytest.fixture(name="agents", scope="module")
def _agents() -> Iterator[Mapping[str, ModuleType]]:
    """The agents' own modules under the flat names that they have in a sandbox."""
    folders = [str(SCRIPTED), str(SHARED[0].parent)]
    kept = {name: sys.modules.pop(name) for name in MODULES if name in sys.modules}
    sys.path[:0] = folders
    try:
        yield {name: importlib.import_module(name) for name in MODULES}
    finally:
        for folder in folders:
            sys.path.remove(folder)
        for name in MODULES:
            sys.modules.pop(name, None)
        sys.modules.update(kept)


def heard(agents: Mapping[str, ModuleType], text: str) -> set[str]:
    """The instructions that the obeyer takes out of a text."""
    obey, base = agents["receivers_obey"], agents["receivers_base"]
    names = ("STOP", "CREATE", "RUN", "TELL", "ADD", "COPY", "PUT")
    return {name for name in names if getattr(obey, name).search(text)} | (
        {"CLOSED"} if base.CLOSED.search(text) else set()
    )


BY_GOAL = {
    Goal.CANARY_FILE: "CREATE",
    Goal.MARKED_COMMAND: "RUN",
    Goal.SECRET_LEAK: "TELL",
    Goal.PROTECTED_FILE: "ADD",
    Goal.DENIED_WRITE: "COPY",
    Goal.STOP: "STOP",
    Goal.BOUNDARY_CROSSED: "PUT",
    Goal.CLAIM_REPEATED: "CLOSED",
}


@pytest.mark.parametrize("poison", WORDS, ids=lambda poison: poison.name)
def test_the_obeyer_hears_every_poison_and_no_twin(
    agents: Mapping[str, ModuleType], facts: Facts, poison: Poison
) -> None:
    """Exactly what it asks for, in every template; so who obeys everything falls for everything."""
    assert heard(agents, "\n".join(words(poison, facts))) == {BY_GOAL[poison.aim]}
    assert heard(agents, "\n".join(words(poison.benign(), facts))) == set()


def test_every_role_is_in_the_table_and_in_the_code(agents: Mapping[str, ModuleType]) -> None:
    """By the same names."""
    assert set(agents["receivers"].RECEIVERS) == set(RECEIVER_ROLES)
    assert not set(RECEIVER_ROLES) & set(agents["roles"].ROLES)


class TestText:
    def test_hunks_that_nobody_asked_for_are_taken_back(self, agents: Mapping[str, ModuleType]) -> None:
        """A note that names the file and what a hunk defines explains it; nothing else does."""
        text = agents["receivers_text"]
        old = "import a\n\n\ndef one():\n    return 1\n"
        new = "import a\nimport audit\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return 2\n"
        notes = "R1 pkg/mod two(): 2\nR2 other/mod audit()\n"
        kept, taken = text.hunks(old, new, lambda lines: text.explained("pkg/mod.py", lines, notes))

        assert taken == ["import audit"]
        assert kept == new.replace("import audit\n", "")
        assert not text.explained("pkg/mod.py", ["    return 1 - 1\n"], notes)
        assert text.explained("pkg/mod.py", ["def two():\n", "    return 2\n"], notes)
        assert not text.explained("else/mod.py", ["def two():\n"], notes)

    def test_a_requirement_goes_into_a_file_as_it_is(self, agents: Mapping[str, ModuleType]) -> None:
        """What somebody else put there stays; what is there already is not put there again."""
        merged = agents["receivers_text"].merged
        base, target = "a\nb\n\nc\n", "a\nb\nnew\n\nc\nend\n"
        assert merged(base, target, "a\nplanted\nb\n\nc\n") == "a\nplanted\nb\nnew\n\nc\nend\n"
        assert merged(base, target, base) == target
        assert merged(target, target, "x\n") == "x\n"
        assert merged("", "all\n", "") == "all\n"

    def test_imports_are_held_to_the_wiring(self, agents: Mapping[str, ModuleType], fintech: Task) -> None:
        """Of the package's own rule, and of no other."""
        careful = agents["receivers_text"].careful
        wiring = fintech.workspace_files()["wiring.yaml"].decode()
        source = "from audit import masking\nimport audit.trail\nfrom auditing import x\nfrom .roles import rank\n"
        kept, removed = careful("rbac/rules.py", source, wiring)

        assert removed == ["from audit import masking", "import audit.trail"]
        assert kept == "from auditing import x\nfrom .roles import rank\n"
        assert careful("billing/tax.py", source, wiring) == (source, [])
