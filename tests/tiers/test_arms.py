"""Arms: what an agent finds beside the code."""

from __future__ import annotations

import os
import shutil
from difflib import ndiff
from pathlib import Path

import pytest

from takeover.sandbox.errors import InputError
from takeover.sandbox.store import SnapshotStore
from takeover.sandbox.workspace import build_repository
from takeover.tiers.arms import ARMS, Arm, arm_folders, list_arms, load_arm, starting_files, starting_history, state_use
from takeover.tiers.load import load_task, task_folders
from takeover.tiers.task import Task
from takeover.tiers.tokens import TOKENIZER, visible_tokens

NOTES = ["AGENTS.md", "state.md"]
SHIPPED = {
    "AGENTS_MD_Only": ["AGENTS.md"],
    "State_MD_Detail_Preserving": NOTES,
    "State_MD_In_Place": NOTES,
    "State_MD_In_Place_Late_Git": NOTES,
    "State_MD_Only": NOTES,
    "State_MD_Rule4_Only_New": NOTES,
    "Tuned_Gate_I": ["AGENTS.md", "app_map.md", "gate_check.py", "state.md"],
    "Tuned_Reference": ["AGENTS.md", "app_map.md", "state.md"],
    "Vanilla": [],
}
# What a mistake in arm.yaml or a file is answered with.
BROKEN = {
    "unknown field": ("arm.yaml", "title:", "titel: x\ntitle:", "my_arm/arm.yaml:3: titel: Extra inputs"),
    "other name": ("arm.yaml", "name: my", "name: your", "my_arm/arm.yaml:2: name: your_arm is not the name of"),
    "no such state": ("arm.yaml", "state: state.md", "state: notes.md", "my_arm/arm.yaml:4: state: files/notes.md"),
    "state without limit": ("arm.yaml", "state_tokens: 500", "", "my_arm/arm.yaml:1: state and state_tokens go"),
    "no limit for the tier": (
        "arm.yaml",
        ": 500",
        ": {3: 1200}",
        "my_arm/arm.yaml:5: state_tokens: no limit for tier 2",
    ),
    "limit of nothing": ("arm.yaml", ": 500", ": 0", "my_arm/arm.yaml:5: state_tokens: must be at least 1"),
    "one limit of nothing": ("arm.yaml", ": 500", ":\n  3: 9\n  2: 0", "my_arm/arm.yaml:7: state_tokens.2: must be at"),
    "limit too low": ("arm.yaml", ": 500", ": 5", "my_arm/arm.yaml:5: state_tokens: files/state.md already has 10"),
    "unknown kind": ("arm.yaml", ": 500", ": 500\ngenerated: [map]", "my_arm/arm.yaml:6: generated.0: Input should be"),
    "kind twice": (
        "arm.yaml",
        ": 500",
        ": 500\ngenerated: [app_map, app_map]",
        "my_arm/arm.yaml:6: generated: app_map st",
    ),
    "gate alone": ("arm.yaml", ": 500", ": 500\ngenerated: [gate_check]", "my_arm/arm.yaml:1: gate_check compares the"),
    "unknown history": (
        "arm.yaml",
        ": 500",
        ": 500\nhistory: none",
        "my_arm/arm.yaml:6: history: Input should be 'full'",
    ),
    "unknown value": ("files/AGENTS.md", "<<state_tokens>>", "<<states>>", "my_arm/files/AGENTS.md:3: unknown value"),
    "no directive": ("files/AGENTS.md", "1. Read", "#:for Read", "my_arm/files/AGENTS.md:6: not a directive"),
}


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(ARMS / "State_MD_Only", tmp_path / "my_arm"))
    text = (folder / "arm.yaml").read_text()
    (folder / "arm.yaml").write_text(text.replace("State_MD_Only", "my_arm"))
    return folder


@pytest.fixture(name="published", scope="module", params=sorted(task_folders()))
def _published(request: pytest.FixtureRequest) -> Task:
    return load_task(request.param)


def text_of(arm: Arm) -> str:
    return arm.files["AGENTS.md"].decode()


def test_the_arms_that_ship(published: Task) -> None:
    """Each loads for each task and adds exactly the files that define it, notes well within their limit."""
    arms = [load_arm(arm.name, published) for arm in list_arms()]

    assert {arm.name: sorted(arm.files) for arm in arms} == SHIPPED
    assert all(arm.title and "\n" not in arm.title for arm in arms)
    assert len({arm.sha256 for arm in arms}) == len(arms)
    for arm in arms:
        use = state_use(arm, arm.files)
        # The scripted note-taker's lines for a task may take all but 20 tokens of the limit.
        assert (use is None) == ("state.md" not in arm.files)
        assert use is None or use.tokens <= 20


def test_no_arm_knows_what_a_sprint_asks_for(published: Task) -> None:
    """Its files are the same bytes in variants that ask for other values."""
    other = load_task(published.id, "arms-1")
    for name in arm_folders():
        assert load_arm(name, other).files == load_arm(name, published).files


@pytest.mark.parametrize("tier", [1, 2, 3, 4])
def test_the_limits_of_the_document(published: Task, tier: int) -> None:
    """500 tokens; the tuned arms have 1,200 on Tiers 3 and 4. The number in the text is the one that is checked."""
    if published.tier != tier:
        pytest.skip(f"tier {published.tier}")
    for arm in (load_arm(name, published) for name in arm_folders()):
        if "state.md" in arm.files:
            assert arm.state_tokens == (1200 if tier >= 3 and arm.name.startswith("Tuned") else 500)
            assert f"{arm.state_tokens} tokens" in text_of(arm)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("State_MD_Only", "State_MD_Rule4_Only_New"),
        ("State_MD_Rule4_Only_New", "State_MD_Detail_Preserving"),
        ("State_MD_Only", "State_MD_In_Place"),
    ],
)
def test_wordings_differ_in_rule_4_alone(fintech: Task, one: str, other: str) -> None:
    """So that a difference in results is one of that rule."""
    arms = [load_arm(name, fintech) for name in (one, other)]
    changed = [
        line[:5] for line in ndiff(text_of(arms[0]).splitlines(), text_of(arms[1]).splitlines()) if line[0] in "+-"
    ]

    assert changed == ["- 4. ", "+ 4. "]
    assert arms[0].files["state.md"] == arms[1].files["state.md"]


def test_what_the_wordings_say(fintech: Task) -> None:
    """The words that were found to matter stand in the arms named after them, and in no other of these."""
    said = {
        "ONLY the newly requested": {"State_MD_Rule4_Only_New", "State_MD_Detail_Preserving"},
        "exact parameter names, default values, formulas, inequalities": {"State_MD_Detail_Preserving"},
        "change it where it stands": {"State_MD_In_Place", "State_MD_In_Place_Late_Git"},
    }
    texts = {name: text_of(load_arm(name, fintech)) for name in SHIPPED if name.startswith("State")}
    for words, names in said.items():
        assert {name for name, text in texts.items() if words in text} == names


def test_late_git_differs_in_its_history_alone(fintech: Task) -> None:
    """The same files as State_MD_In_Place; another arm all the same."""
    place, late = (load_arm(name, fintech) for name in ("State_MD_In_Place", "State_MD_In_Place_Late_Git"))

    assert late.files == place.files
    assert (place.history, late.history) == ("full", "none-before-last")
    assert late.sha256 != place.sha256


def test_gate_i_adds_to_the_tuned_arm_and_takes_nothing_away(fintech: Task) -> None:
    """Its rules are those of Tuned_Reference and a section on the gate; only the last rule's number moves."""
    tuned, gate = (text_of(load_arm(name, fintech)) for name in ("Tuned_Reference", "Tuned_Gate_I"))
    start, end = gate.index("## Gate I"), gate.index("## Before you finish")

    assert (gate[:start] + gate[end:]).replace("\n20. ", "\n15. ") == tuned
    assert "python3 gate_check.py" in gate[start:end]
    assert "Gate I" not in tuned


def test_general_rules_name_no_place_for_notes(fintech: Task) -> None:
    """AGENTS_MD_Only says to commit as one goes and not to trust passing tests; it offers no memory."""
    text = load_arm("AGENTS_MD_Only", fintech).files["AGENTS.md"].decode()

    assert "Commit as you go" in text
    assert "Passing tests do not mean that the work is done" in text
    assert "state.md" not in text


def test_a_limit_can_depend_on_the_tier(folder: Path, fintech: Task) -> None:
    """As the tuned arm of the document has it."""
    text = (folder / "arm.yaml").read_text()
    (folder / "arm.yaml").write_text(text.replace(": 500", ": {1: 500, 2: 700, 3: 1200, 4: 1200}"))
    arm = load_arm(folder, fintech)

    assert arm.state_tokens == 700
    assert "700 tokens" in arm.files["AGENTS.md"].decode()


@pytest.mark.parametrize("name", list(BROKEN))
def test_mistakes_are_located(folder: Path, fintech: Task, name: str) -> None:
    """File, line and field."""
    file, right, wrong, message = BROKEN[name]
    text = (folder / file).read_text()
    assert right in text
    (folder / file).write_text(text.replace(right, wrong, 1))

    with pytest.raises(InputError) as caught:
        load_arm(folder, fintech)

    assert str(caught.value).startswith(message)


def test_an_arm_replaces_no_file_of_the_task(folder: Path, fintech: Task) -> None:
    """Nor stands where one has a folder, nor below one; not even one that only the reference solution has."""
    for name in ("TASK.md", "ledger", "TASK.md/more.md"):
        shutil.rmtree(folder / "files" / "TASK.md", ignore_errors=True)
        (folder / "files" / name).parent.mkdir(exist_ok=True)
        (folder / "files" / name).write_text("mine")
        with pytest.raises(InputError, match=rf"my_arm/arm.yaml:1: files/{name} would replace a file of tier2_fintech"):
            load_arm(folder, fintech)
        (folder / "files" / name).unlink()


def test_an_arm_writes_nothing_that_is_generated(folder: Path, fintech: Task) -> None:
    """Two truths about one file are an error."""
    (folder / "arm.yaml").write_text((folder / "arm.yaml").read_text() + "generated: [app_map]\n")
    (folder / "files" / "app_map.md").write_text("# Mine\n")
    with pytest.raises(InputError, match=r"my_arm/arm.yaml:6: generated.0: files/app_map.md is there already"):
        load_arm(folder, fintech)


def test_files_that_no_workspace_can_have(folder: Path, fintech: Task) -> None:
    """Links, FIFOs, names that do not show, .git, not UTF-8, too large: each is named."""

    def refused(path: str, match: str) -> None:
        with pytest.raises(InputError, match=match):
            load_arm(folder, fintech)
        (folder / "files" / path).unlink()

    (folder / "files" / "link.md").symlink_to("AGENTS.md")
    refused("link.md", "my_arm/files/link.md: not a regular file")
    os.mkfifo(folder / "files" / "pipe.md")
    refused("pipe.md", "my_arm/files/pipe.md: not a regular file")
    (folder / "files" / "a\x1b[2Jb").write_text("x")
    refused("a\x1b[2Jb", r"my_arm/files/a\\x1b\[2Jb: cannot be a file of an arm")
    (folder / "files" / "x.md").write_bytes(b"ab\xff")
    refused("x.md", r"my_arm/files/x.md: not UTF-8 \(byte 2\)")
    (folder / "files" / "x.md").write_bytes(b"x" * (5 << 20))
    refused("x.md", "my_arm/files/x.md: the files of an arm are more than 4 MiB")
    (folder / "files" / ".git").mkdir()
    (folder / "files" / ".git" / "config").write_text("[core]")
    refused(".git/config", "my_arm/files/.git/config: cannot be a file of an arm")


def test_files_beside_the_folder_of_files_are_noticed(folder: Path, fintech: Task) -> None:
    """They would be left out without a word; notes for people and dotfiles may lie there."""
    (folder / "README.md").write_text("What this arm is for.")
    (folder / ".DS_Store").write_bytes(b"")
    load_arm(folder, fintech)

    (folder / "AGENTS.md").write_text("Do well.")
    with pytest.raises(InputError, match=r"my_arm/AGENTS.md: not part of an arm"):
        load_arm(folder, fintech)


def test_a_folder_without_an_arm(tmp_path: Path, fintech: Task) -> None:
    """The file that is missing is named."""
    with pytest.raises(InputError, match=rf"{tmp_path.name}/arm.yaml: no such file"):
        load_arm(tmp_path, fintech)


def test_the_names_of_arms_that_ship_are_taken(tmp_path: Path, fintech: Task) -> None:
    """Else results of two arms would stand under one name."""
    folder = Path(shutil.copytree(ARMS / "Vanilla", tmp_path / "Vanilla"))
    with pytest.raises(InputError, match=r"Vanilla/arm.yaml: name: Vanilla is an arm that ships"):
        load_arm(folder, fintech)
    assert load_arm(ARMS / "Vanilla", fintech).name == "Vanilla"


def test_an_unknown_arm_lists_what_exists(fintech: Task) -> None:
    """So that the next try is right."""
    with pytest.raises(InputError, match="no arm 'Vanila'") as caught:
        load_arm("Vanila", fintech)

    assert "AGENTS_MD_Only, " in str(caught.value.hint)
    assert "Vanilla" in str(caught.value.hint)


def test_files_and_name_identify_an_arm(folder: Path, fintech: Task) -> None:
    """One changed word is another arm, and so is another limit or another history."""
    arm = folder / "arm.yaml"
    text = arm.read_text()
    found = [load_arm(folder, fintech).sha256, load_arm(folder, fintech).sha256]
    (folder / "files" / "AGENTS.md").write_text("Do well.")
    found.append(load_arm(folder, fintech).sha256)
    arm.write_text(text.replace("500", "501"))
    found.append(load_arm(folder, fintech).sha256)
    arm.write_text(text + "history: none-before-last\n")
    found.append(load_arm(folder, fintech).sha256)

    assert found[0] == found[1]
    assert len(set(found)) == 4


class TestStateUse:
    def test_a_breach_is_told(self, fintech: Task) -> None:
        """Tokens, limit and tokenizer; nothing is punished here."""
        arm = load_arm("State_MD_Only", fintech)
        use = state_use(arm, {"state.md": b"word " * 600})

        assert use is not None
        assert (use.within, use.limit, use.tokenizer) == (False, 500, TOKENIZER)
        assert use.tokens > 500

    def test_no_file_no_use(self, fintech: Task) -> None:
        """An agent may delete its notes; Vanilla has none to begin with."""
        assert state_use(load_arm("State_MD_Only", fintech), {}) is None
        assert state_use(load_arm("Vanilla", fintech), {"state.md": b"x"}) is None

    def test_bytes_that_are_no_text_are_counted_all_the_same(self, fintech: Task) -> None:
        """What an agent leaves behind never stops the count."""
        use = state_use(load_arm("State_MD_Only", fintech), {"state.md": b"\xff\x00<|endoftext|>"})
        assert use is not None
        assert use.tokens > 1


class TestRepository:
    def test_history_ends_with_the_files_of_the_arm(self, fintech: Task, store: SnapshotStore) -> None:
        """A clean checkout: the last commit holds exactly what the workspace holds."""
        arm = load_arm("State_MD_Only", fintech)
        history, files = starting_history(fintech, arm), starting_files(fintech, arm)
        committed: dict[str, bytes | None] = {}
        for commit in history:
            committed |= commit.files

        assert committed == files
        assert [commit.date for commit in history] == sorted(commit.date for commit in history)
        assert len({commit.date[:10] for commit in history}) >= 5

        snapshot = build_repository(files, history, store)
        assert {path for path in snapshot.manifest if not path.startswith(".git/")} >= set(files)

    def test_same_arm_same_repository(self, fintech: Task, tmp_path: Path) -> None:
        """Commit hashes and all: two people get the same bytes."""
        arm = load_arm("AGENTS_MD_Only", fintech)
        made = [
            build_repository(
                starting_files(fintech, arm), starting_history(fintech, arm), SnapshotStore(tmp_path / name)
            )
            for name in ("one", "two")
        ]
        assert made[0].sha256 == made[1].sha256


def test_tokens_are_counted_offline() -> None:
    """Special tokens are plain text, and the count is that of o200k_base."""
    assert visible_tokens("hello world 123456") == 5
    assert visible_tokens("") == 0
    assert visible_tokens("<|endoftext|>") > 1
