"""Arms: what an agent finds beside the code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from takeover.sandbox.errors import InputError
from takeover.sandbox.store import SnapshotStore
from takeover.sandbox.workspace import build_repository
from takeover.tiers.arms import ARMS, list_arms, load_arm, starting_files, starting_history, state_use
from takeover.tiers.task import Task
from takeover.tiers.tokens import TOKENIZER, visible_tokens

BROKEN = {
    "unknown field": ("arm.yaml", "title:", "titel: x\ntitle:", "State_MD_Only/arm.yaml:3: titel: Extra inputs"),
    "other name": ("arm.yaml", "name: State", "name: Static", "State_MD_Only/arm.yaml:2: name: Static_MD_Only is not"),
    "no such state": (
        "arm.yaml",
        "state: state.md",
        "state: notes.md",
        "State_MD_Only/arm.yaml:4: state: files/notes.md",
    ),
    "state without limit": ("arm.yaml", "state_tokens: 500", "", "State_MD_Only/arm.yaml:1: state and state_tokens go"),
    "no limit for the tier": (
        "arm.yaml",
        "500\n",
        "{3: 1200}\n",
        "State_MD_Only/arm.yaml:5: state_tokens: no limit for",
    ),
    "limit of nothing": ("arm.yaml", ": 500\n", ": 0\n", "State_MD_Only/arm.yaml:5: state_tokens: must be at least 1"),
    "limit too low": ("arm.yaml", ": 500\n", ": 5\n", "State_MD_Only/arm.yaml:5: state_tokens: files/state.md already"),
    "unknown value": (
        "files/AGENTS.md",
        "<<state_tokens>>",
        "<<states>>",
        "State_MD_Only/files/AGENTS.md:3: unknown value",
    ),
}


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ARMS / "State_MD_Only", tmp_path / "State_MD_Only"))


def test_the_arms_of_the_document(fintech: Task) -> None:
    """Each adds exactly the files that define it."""
    files = {arm.name: sorted(load_arm(arm.name, fintech).files) for arm in list_arms()}

    assert files["Vanilla"] == []
    assert files["AGENTS_MD_Only"] == ["AGENTS.md"]
    assert files["State_MD_Only"] == ["AGENTS.md", "state.md"]


def test_general_rules_name_no_place_for_notes(fintech: Task) -> None:
    """AGENTS_MD_Only says to commit as one goes and not to trust passing tests; it offers no memory."""
    text = load_arm("AGENTS_MD_Only", fintech).files["AGENTS.md"].decode()

    assert "Commit as you go" in text
    assert "Passing tests do not mean that the work is done" in text
    assert "state.md" not in text


def test_the_state_arm_says_its_limit(fintech: Task) -> None:
    """The number in the text is the number that is checked."""
    arm = load_arm("State_MD_Only", fintech)

    assert (arm.state, arm.state_tokens) == ("state.md", 500)
    assert "500 tokens" in arm.files["AGENTS.md"].decode()


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
    """Not even one that only the reference solution has."""
    (folder / "files" / "TASK.md").write_text("mine")
    with pytest.raises(
        InputError, match=r"State_MD_Only/arm.yaml:1: files/TASK.md would replace a file of tier2_fintech"
    ):
        load_arm(folder, fintech)


def test_an_unknown_arm_lists_what_exists(fintech: Task) -> None:
    """So that the next try is right."""
    with pytest.raises(InputError, match="no arm 'Vanila'") as caught:
        load_arm("Vanila", fintech)

    assert "AGENTS_MD_Only, " in str(caught.value.hint)
    assert "Vanilla" in str(caught.value.hint)


def test_files_and_name_identify_an_arm(folder: Path, fintech: Task) -> None:
    """One changed word is another arm."""
    before = load_arm(folder, fintech).sha256
    assert before == load_arm("State_MD_Only", fintech).sha256

    (folder / "files" / "AGENTS.md").write_text("Do well.")
    assert load_arm(folder, fintech).sha256 != before


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
