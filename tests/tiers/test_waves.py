"""Waves: prompts that come one after the other, and amend what was asked before."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from takeover.sandbox.errors import InputError
from takeover.tiers.arms import load_arm, state_use
from takeover.tiers.load import TIERS, load_task
from takeover.tiers.mutants import mutants
from takeover.tiers.skills import SCRIPTED_ROLES, scripted_home
from takeover.tiers.task import Task
from takeover.tiers.variants import Constraint, Parameter, draw_waves
from takeover.tiers.waves import amendments, first, statements

Checked = Callable[..., dict[str, str]]
Played = Callable[..., Any]
UNSEEN = "waves-7"


@pytest.fixture(name="library", scope="module")
def _library() -> Task:
    return load_task("tier4_library", UNSEEN)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TIERS / "tier4_library", tmp_path / "tier4_library"))


PROMPTS = {
    "a.md": "# Go\n\n### R1 One\n\n<<x>>\n\n### R2 Two\n\n<<y>>\n",
    "b.md": "### R2 Two, amended\n\n<<y>>\n\n### R3 Three\n\n<<z>>\n",
    "c.md": "Carry on.\n",
}


class TestStatements:
    def test_a_later_section_of_the_same_requirement_amends_it(self) -> None:
        """The first one states it; a prompt that states nothing is no wave."""
        found = statements(PROMPTS, ["a.md", "c.md", "b.md", "c.md"])
        assert [(one.requirement, one.wave, one.prompt) for one in found] == [
            ("R1", 1, "a.md"), ("R2", 1, "a.md"), ("R2", 2, "b.md"), ("R3", 2, "b.md"),
        ]  # fmt: skip
        assert {name: one.wave for name, one in first(found).items()} == {"R1": 1, "R2": 1, "R3": 2}
        assert [one.text for one in amendments(found)] == ["### R2 Two, amended\n\n<<y>>"]

    def test_the_script_decides_the_order(self) -> None:
        """Not the names of files; a prompt that no session gets states nothing."""
        assert [one.wave for one in statements(PROMPTS, ["b.md", "a.md"])] == [1, 1, 2, 2]
        assert statements(PROMPTS, ["c.md"]) == ()


class TestDraws:
    PARAMETERS = (
        Parameter("a", 3, range(1, 9), amended={2: 5, 4: 6}),
        Parameter("b", 7, range(1, 9)),
        Parameter("op", ">", (">", ">="), amended={3: ">="}),
    )

    def test_published_values_by_wave(self) -> None:
        """An amended value stays until the next amendment of it."""
        found = draw_waves("t", "0", self.PARAMETERS, [], waves=4)
        assert [one["a"] for one in found] == [3, 5, 5, 6]
        assert [one["op"] for one in found] == [">", ">", ">=", ">="]
        assert [one["b"] for one in found] == [7] * 4

    @pytest.mark.parametrize("seed", [str(number) for number in range(1, 40)])
    def test_amended_values_differ_and_constraints_hold_after_every_wave(self, seed: str) -> None:
        """In every variant."""
        found = draw_waves("t", seed, self.PARAMETERS, [Constraint("ascending", ("a", "b"))], waves=4)
        assert len({found[0]["a"], found[1]["a"], found[3]["a"]}) == 3
        assert found[1]["op"] != found[2]["op"]
        assert all(int(one["a"]) < int(one["b"]) for one in found)

    @pytest.mark.parametrize("seed", [str(number) for number in range(1, 40)])
    def test_no_group_ends_as_published(self, seed: str) -> None:
        """Whoever remembers the published values of a requirement has at least one wrong."""
        last = draw_waves("t", seed, self.PARAMETERS, [], waves=4, groups=[["op"], ["a", "op"], ["b"]])[-1]
        assert last["op"] == ">"
        assert last["b"] != 7

    def test_a_parameter_that_is_not_amended_is_drawn_as_ever(self) -> None:
        """Waves change no value of a task that had none."""
        plain = [self.PARAMETERS[1]]
        assert draw_waves("t", "9", plain, [], waves=3)[0] == draw_waves("t", "9", plain, [], waves=1)[0]


BROKEN = {
    "first wave": ("task.yaml", "step: 5, amended: {2: 63}}", "step: 5, amended: {1: 63}}", "parameters.ren_days: only"),
    "no such wave": ("task.yaml", "amended: {2: 63}", "amended: {4: 63}", "parameters.ren_days.amended: the script has 3"),
    "no such value": ("task.yaml", "amended: {2: 63}", "amended: {2: 64}", "parameters.ren_days: an amended value is not"),
    "same value": ("task.yaml", "amended: {2: 63}", "amended: {2: 73}", "parameters.ren_days: every amended value"),
    "not stated": ("task.yaml", ", amended: {2: 63}", ", amended: {3: 63}", "parameters.ren_days.amended: wave 3 does not"),
    "too early": (
        "task.yaml", "step: 100}", "step: 100, amended: {2: 2411}}",
        "parameters.block_cents.amended: wave 2 does not amend R11, which states it",
    ),
    "nothing yet": (
        "task.yaml", "idle_days: {default: 656, from: 641, to: 681, step: 5}",
        "idle_days: {default: 656, from: 641, to: 681, step: 5, amended: {2: 661}}",
        "parameters.idle_days.amended: wave 2 amends what nothing states yet",
    ),
    "foreign value": ("prompts/wave2.md", "than <<ren_min>>.", "than <<worn_times>>.", "R2: it does not state worn_times"),
    "no change": ("prompts/wave3.md", "is now <<late_count>>", "is now <<late_op.words>>", "parameters.late_count.amended"),
    "all of it": (
        "prompts/wave2.md", "of days is now <<lost_days>>", "is now <<lost_op.words>> <<lost_days>>", "R6: it states all",
    ),
}  # fmt: skip


class TestFolders:
    @pytest.mark.parametrize("name", list(BROKEN))
    def test_mistakes_are_located(self, folder: Path, name: str) -> None:
        """File, line and what is wrong, in one line."""
        file, right, wrong, message = BROKEN[name]
        text = (folder / file).read_text()
        assert right in text
        (folder / file).write_text(text.replace(right, wrong, 1))
        with pytest.raises(InputError) as caught:
            load_task(folder)

        where, _, what = str(caught.value).partition(": ")
        assert what.startswith(message)
        named = "task.yaml" if message.startswith("parameters") else file
        assert where.startswith(f"tier4_library/{named}:")
        line = (folder / named).read_text().splitlines()[int(where.rpartition(":")[2]) - 1]
        assert message.split(".")[1].split(":")[0] in line if named == "task.yaml" else message[:2] in line

    def test_an_amendment_of_nothing_new(self, folder: Path) -> None:
        """A section that restates a value which does not change amends nothing."""
        path = folder / "prompts" / "wave3.md"
        path.write_text(path.read_text() + "\n### R1 Overdue level, amended\n\nThe top is now <<lvl_top>>.\n")
        with pytest.raises(InputError, match=r"wave3.md:\d+: R1: no value in it is `amended` for wave 3 in task.yaml"):
            load_task(folder)

    def test_each_prompt_has_the_values_of_its_wave(self, library: Task) -> None:
        """The sprint states what the first amendment replaces, and so on."""
        caps = [str(library.values_at(wave)["fine_cap"]) for wave in (1, 2, 3)]
        assert len(set(caps)) == 3
        for prompt, cap in zip(("sprint.md", "wave2.md", "wave3.md"), caps, strict=True):
            assert [one for one in caps if one in library.prompt(prompt)] == [cap]

    def test_values_before_an_amendment_are_mutants(self, library: Task) -> None:
        """Of the requirement that was amended."""
        wrong = {mutant.wrong for mutant in mutants(library, "R10") if mutant.parameter == "fine_cap"}
        assert {values["fine_cap"] for values in library.earlier} <= wrong
        assert library.parameters["fine_cap"] not in wrong


# By role and arm: the requirements that it must get, of 36. Wave 1's first edit is R1, the others' R13 and R25.
ALL = frozenset(f"R{number}" for number in range(1, 37))
EDITS = frozenset({"R1", "R13", "R25"})
# What the overwritten notes still have at the end, and what was edited on the way.
OVERWRITTEN = frozenset({"R1", "R2", "R10", "R16", "R20", "R21"}) | {f"R{number}" for number in range(25, 37)}
REACHED = [
    ("oracle", "Vanilla", ALL),
    ("note-taker", "State_MD_Only", ALL),
    ("note-taker", "Vanilla", EDITS),
    ("amnesiac", "State_MD_Only", EDITS),
    ("first-only", "AGENTS_MD_Only", EDITS),
    ("diligent", "Vanilla", ALL),
    ("literalist", "State_MD_Rule4_Only_New", OVERWRITTEN),
    ("literalist", "State_MD_In_Place", ALL),
    ("note-taker", "State_MD_Rule4_Only_New", ALL),
    ("nop", "Vanilla", frozenset()),
]


class TestAgents:
    @pytest.mark.parametrize(("role", "arm", "wanted"), REACHED)
    def test_what_each_role_reaches(
        self,
        library: Task,
        checked: Checked,
        played: Played,
        tmp_path: Path,
        role: str,
        arm: str,
        wanted: frozenset[str],
    ) -> None:
        """Known beforehand, in a variant that nobody has seen; the baseline holds in any case."""
        found = played(library, role, arm, tmp_path)
        assert found.codes == ([0] * 4 if role == "nop" else [99, 99, 99, 0])
        assert set(library.check_ids) - set(checked(library, found.files)) == wanted | set(library.baseline)

    def test_notes_are_amended_in_place(self, library: Task, played: Played, tmp_path: Path) -> None:
        """One line for each requirement, always in its latest form, within the limit of the tuned arm."""
        found = played(library, "note-taker", "Tuned_Reference", tmp_path)
        for wave, files in enumerate(found.after[:3], 1):
            lines = files["state.md"].decode().splitlines()
            entries = [line.split(" ")[0] for line in lines if line.startswith("R")]
            assert entries == [name for names in library.waves[:wave] for name in names]
            cap = next(line for line in lines if line.startswith("R10 ")).rpartition(" ")[2]
            assert cap == str(library.values_at(wave)["fine_cap"])

        use = state_use(load_arm("Tuned_Reference", library), found.files)
        assert use is not None
        assert use.within

    def test_who_forgets_undoes_nothing(self, library: Task, played: Played, tmp_path: Path) -> None:
        """A file that meets a requirement which nobody remembers keeps it when another one is added to it."""
        found = played(library, "literalist", "State_MD_Rule4_Only_New", tmp_path)
        for path in ("loans/overdue.py", "loans/renewal.py"):
            assert found.files[path] == library.workspace_files({"R1", "R2", "R21"})[path]

    def test_no_wave_is_in_a_sandbox_before_its_session(self, library: Task) -> None:
        """What a scripted agent carries is the same in all variants, so it tells no value; only the oracle knows them."""
        other = load_task("tier4_library", "0")
        for role in SCRIPTED_ROLES - {"oracle"}:
            assert scripted_home(library, role) == scripted_home(other, role)
        for wave, prompt in ((2, "wave2.md"), (3, "wave3.md")):
            section = next(one for one in library.statements if one.wave == wave and one.requirement == f"R{12 * wave}")
            assert section.text.splitlines()[0] in library.prompt(prompt)
            early = library.prompt("sprint.md") + "".join(map(bytes.decode, library.workspace_files().values()))
            assert section.text.splitlines()[0] not in early
