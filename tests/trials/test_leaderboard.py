"""The leaderboard: recorded results beside runs, in four formats, over folders that nobody vouches for."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from takeover.grader.scorecard import (
    Check,
    Cutoff,
    NotesUse,
    Provenance,
    Retention,
    Score,
    Scorecard,
    Session,
    Tokens,
    canonical_bytes,
)
from takeover.sandbox.dsse import SigningKey, generate_key
from takeover.sandbox.errors import InputError
from takeover.sandbox.store import SnapshotStore
from takeover.trials.leaderboard import leaderboard, leaderboard_command
from takeover.trials.published import load_published
from takeover.trials.record import RunPaths, write_bytes, write_json
from takeover.trials.sessions import SessionMeta, write_meta
from takeover.trials.signing import Signer
from takeover.trials.standings import find_runs, read_board

# What an agent may write into a path, a note or its output, to be read in a terminal, a browser or a pull request.
HOSTILE = '</pre><script>alert(1)</script>\x1b[2J\x00\u202e{{7*7}}|`x`"&<img src=x>'
NOTE = f"# State\n\nR2 limit 17 {HOSTILE}\n"


@pytest.fixture(scope="module", name="key")
def _key() -> SigningKey:
    return generate_key()


class MadeRun:
    """A run's folder as `takeover run` leaves it, without a container."""

    def __init__(self, root: Path, key: SigningKey, settings: dict[str, object] | None = None) -> None:
        self.paths, self.signer = RunPaths(root), Signer(key)
        self.store = SnapshotStore(self.paths.snapshots)
        self.names: list[str] = []
        self.settings = settings or {"cutoff": None, "declared_tokens": None, "wall_seconds": None}
        write_bytes(self.paths.public_key, self.signer.public_pem)
        self.freeze()

    def freeze(self) -> None:
        hashes = dict.fromkeys(("toolkit", "toolkit_sha256", "guest_sha256"), "0")
        empty: dict[str, object] = {"tasks": [], "arms": [], "agents": [], "images": {}}
        identity = {"schema_version": 1, **hashes, **empty, "trials": self.names, "settings": self.settings}
        write_json(self.paths.identity, identity)

    def trial(self, arm: str, agent: str, net: int, tokens: int | None = None, source: str = "metered") -> str:
        """A trial of two sessions: the first is cut at its first edit, with a note on the disk."""
        name = f"tier2_fintech.{arm}.{agent}.1"
        start = self.store.put_files({"a.py": b"x = 1\n", "state.md": b"# State\n"})
        cut = self.store.put_files({"a.py": b"x = 2\n", "state.md": NOTE.encode(), ".git/HEAD": b"ref\n"})
        end = self.store.put_files({"a.py": b"x = 3\n", "state.md": b"done\n", "blob.bin": b"\0" * 9})
        rule = Cutoff(rule="first-edit:1", exact=True, path="a.py", how="written")
        use = NotesUse(file="state.md", tokens=612, limit=500, tokenizer="t", within=False)
        sessions = [
            Session(exit="cutoff", cutoff=rule, snapshot=f"sha256:{cut.sha256}", edited=["a.py"], notes_use=use),
            Session(exit="exited", code=0, snapshot=f"sha256:{end.sha256}"),
        ]
        for number, (session, before) in enumerate(zip(sessions, (start, cut), strict=True), 1):
            step = self.paths.trial(name).step(number, "session")
            event = {"t": "edit", "n": 1, "at": 0.5, "path": "a.py" + HOSTILE, "how": "written"}
            write_bytes(step.events, json.dumps(event).encode() + b"\nnot json\n[]\n")
            write_bytes(step.output, b"bye " + HOSTILE.encode())
            meta = SessionMeta(start=f"sha256:{before.sha256}", image="i", guest={}, omitted=[], session=session)
            write_meta(step, meta)
        card = scorecard(arm, agent, net, sessions, Tokens(total=tokens, provenance=source if tokens else "unknown"))  # type: ignore[arg-type]
        write_bytes(self.paths.trial(name).signature, self.signer.sign(canonical_bytes(card)))
        write_bytes(self.paths.trial(name).scorecard, canonical_bytes(card))
        self.names.append(name)
        self.freeze()
        return name


def scorecard(arm: str, agent: str, net: int, sessions: list[Session], tokens: Tokens) -> Scorecard:
    checks = [Check(id=f"R{n}", kind="requirement", passed=n <= net, evidence=HOSTILE) for n in range(1, 9)]
    verdict = Retention(
        raw=Score(passed=net, total=8),
        net=net,
        tes=None,
        zeroed_by=[],
        baseline=Score(passed=1, total=1),
        protected_edited=[],
        boundary_violations=[],
        checks=checks,
    )
    return Scorecard(
        task="tier2_fintech",
        variant=0,
        arm=arm,
        agent=agent,
        repetition=1,
        outcome="graded",
        retention=verdict,
        tokens=tokens,
        sessions=sessions,
        provenance=Provenance(toolkit="t", task_sha256="0"),
    )


@pytest.fixture(name="run")
def _run(tmp_path: Path, key: SigningKey) -> MadeRun:
    run = MadeRun(tmp_path / "runs" / "mine", key)
    run.trial("Vanilla", "agent", 1, tokens=1000)
    run.trial("State_MD_Only", "agent", 8, tokens=2500)
    return run


def board(root: Path) -> dict[str, object]:
    return json.loads(leaderboard(find_runs(root), "json"))


def rows(root: Path, section: str) -> list[dict[str, object]]:
    return next(part["rows"] for part in board(root)["sections"] if part["id"] == section)


def test_runs_stand_beside_what_is_recorded(run: MadeRun) -> None:
    """A section holds the published cells, marked so, and then the run's, marked with where their tokens come from."""
    found = [
        (row["source"], row["arm"], row["kept"], row["net"], row["provenance"]) for row in rows(run.paths.root, "tier2")
    ]

    assert found == [
        ("published", "State_MD_Only", 8, None, ""),
        ("mine", "Vanilla", None, 1, "metered"),
        ("mine", "State_MD_Only", None, 8, "metered"),
    ]


def test_the_cost_is_a_multiple_of_vanilla(run: MadeRun, key: SigningKey, tmp_path: Path) -> None:
    """Tokens are compared with Vanilla's of the same agent, and not at all where one is unknown or counted otherwise."""
    other = MadeRun(tmp_path / "runs" / "other", key)
    other.trial("Vanilla", "agent", 1, tokens=1000, source="declared")
    other.trial("State_MD_Only", "agent", 8, tokens=2500)
    other.trial("State_MD_Only", "lonely", 8, tokens=2500)
    other.trial("AGENTS_MD_Only", "agent", 8)
    costs = {(row["source"], row["arm"], row["agent"]): row["cost"] for row in rows(tmp_path / "runs", "tier2")}

    assert costs[("mine", "Vanilla", "agent")] == 1
    assert costs[("mine", "State_MD_Only", "agent")] == 2.5
    assert [cost for (source, arm, _), cost in costs.items() if source == "other" and arm != "Vanilla"] == [None] * 3


def test_a_cell_opens_to_the_disk_at_the_cutoff(run: MadeRun) -> None:
    """Edits, notes and diff are those of the moment of the cutoff; git's own files are counted, not shown."""
    [view] = rows(run.paths.root, "tier2")[2]["trials"]
    first, second = view["sessions"]

    assert (first["cut"], second["cut"]) == (True, False)
    assert [edit["n"] for edit in first["edits"]] == [1]
    assert [note["path"] for note in first["notes"]] == ["state.md"]
    assert "R2 limit 17" in first["notes"][0]["text"]
    assert {file["path"]: file["diff"] for file in first["changes"]["files"]}["a.py"] == "@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    assert first["changes"]["git"] == "1 added"
    assert first["limit"] == "state.md: 612 of 500 tokens (t), above its limit"
    assert second["notes"][0]["text"] == "done\n"
    assert {file["path"]: file["note"] for file in second["changes"]["files"]}["blob.bin"].startswith("binary")


def test_what_was_planted_between_sessions_is_seen(run: MadeRun) -> None:
    """A second session that began with another snapshot than the first one left shows the difference."""
    step = run.paths.trial(run.names[0]).step(2, "session")
    planted = run.store.put_files({"a.py": b"x = 2\n", "tax.py": b"cents - 1\n"})
    data = json.loads(step.meta.read_bytes())
    write_json(step.meta, {**data, "start": f"sha256:{planted.sha256}"})
    [view] = rows(run.paths.root, "tier2")[1]["trials"]

    assert [file["path"] for file in view["sessions"][1]["planted"]["files"]] == ["state.md", "tax.py"]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_hostile_text_is_text_on_the_page(run: MadeRun) -> None:
    """Nothing that an agent wrote becomes a tag, a template or a control character, and no script may run at all."""
    page = leaderboard([run.paths.root], "html")
    tags = Tags()
    tags.feed(page)

    assert not {"script", "img"} & tags.seen
    assert "default-src 'none'" in page
    assert "<script>alert(1)</script>\\x1b[2J\\x00\\u202e{{7*7}}" in tags.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", page)


def test_a_table_and_markdown_hold_no_control_characters_and_no_tags(run: MadeRun) -> None:
    """The other formats give the folder to open, and show odd text as escapes."""
    for form in ("table", "markdown"):
        text = leaderboard([run.paths.root], form)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]|<script|<img", text)
        assert run.names[0].replace("_", "" if form == "table" else "\\_") in text.replace(
            "_", "_" if form == "markdown" else ""
        )


def test_a_wrong_format_or_folder_is_said(tmp_path: Path) -> None:
    """An unknown format lists the formats; a file in the folder's place is refused; no folder means no runs."""
    with pytest.raises(InputError, match="table, markdown, json, html"):
        leaderboard([], "yaml")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="not a folder"):
        find_runs(tmp_path / "file")
    assert find_runs(tmp_path / "none") == []


def test_the_command_writes_a_file(run: MadeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With `out` the text goes there, and its path is printed."""
    target = tmp_path / "board.json"

    assert leaderboard_command("json", run.paths.root, target) == 0
    assert json.loads(target.read_bytes())["schema_version"] == 1
    assert capsys.readouterr().out.replace("\n", "") == str(target)


def test_a_folder_that_is_no_run_is_listed_with_the_reason(tmp_path: Path, run: MadeRun) -> None:
    """Missing, broken, foreign and malicious run.json files are unreadable entries; the good run stays."""
    bad = {
        "empty": None,
        "broken": b"{",
        "later": b'{"schema_version": 2}',
        "deep": b'{"schema_version": 1, "trials": 5}',
        "outside": json.dumps({**json.loads(run.paths.identity.read_bytes()), "trials": ["../x"]}).encode(),
    }
    for name, data in bad.items():
        (tmp_path / "runs" / name).mkdir()
        if data is not None:
            (tmp_path / "runs" / name / "run.json").write_bytes(data)
    (tmp_path / "runs" / "linked").mkdir()
    (tmp_path / "runs" / "linked" / "run.json").symlink_to(run.paths.identity)
    found = board(tmp_path / "runs")

    assert [one["name"] for one in found["runs"]] == ["mine"]
    reasons = {Path(one["folder"]).name: one["reason"] for one in found["unreadable"]}
    assert set(reasons) == {*bad, "linked"}
    assert "trials: not names of trials" in reasons["outside"]
    assert "leads out of" in reasons["linked"]


def test_a_damaged_part_costs_only_itself(run: MadeRun) -> None:
    """An unreadable scorecard, a changed one and a lost snapshot are named; everything else is still shown."""
    broken = run.trial("AGENTS_MD_Only", "agent", 3)
    forged = run.trial("Tuned_Reference", "agent", 3)
    run.paths.trial(broken).scorecard.write_bytes(b"{}")
    card = run.paths.trial(forged).scorecard
    card.write_bytes(card.read_bytes().replace(b'"net": 3', b'"net": 8'))
    for snapshot in run.paths.snapshots.iterdir():
        snapshot.write_bytes(b"")
    found = board(run.paths.root)
    [only] = found["runs"]

    problems = {one["trial"]: one["problem"] for one in only["problems"]}
    assert set(problems) == {broken, forged}
    assert "another scorecard" in problems[forged]
    assert rows(run.paths.root, "tier2")[-1]["notes"][0] == problems[forged]
    [view] = rows(run.paths.root, "tier2")[1]["trials"]
    assert "damaged" in view["sessions"][0]["problem"]
    assert leaderboard([run.paths.root], "html").count("Cannot be shown") == 6


def test_nothing_outside_a_run_is_read(run: MadeRun, tmp_path: Path) -> None:
    """An output log that is a link to a file elsewhere is not shown."""
    (tmp_path / "secret").write_text("TOP SECRET")
    output = run.paths.trial(run.names[0]).step(1, "session").output
    output.unlink()
    output.symlink_to(tmp_path / "secret")

    assert "TOP SECRET" not in leaderboard([run.paths.root], "html")


def test_the_recorded_numbers_are_those_of_the_document() -> None:
    """Cells that the text states, and the ways in which it states them: raw, net, neither, a range, a multiple."""
    found = {
        (row.source, section.id, row.arm, row.agent, row.condition): row
        for section in read_board([], load_published()).sections
        for row in section.rows
    }
    one = found["published", "tier3", "Vanilla", "Gemini 4 Argon", ""]
    assert (one.raw, one.net, one.letters) == ((1, 1), (0, 0), ("a",))
    assert found["published", "tier4", "State_MD_Only", "Claude Opus 5.5", ""].kept == (10, 10)
    assert found["published", "tier4", "Tuned_Reference", "", ""].kept == (30, 36)
    assert found["published", "tier4", "Tuned_Reference", "Grok Build 4.7", "first version"].net == (0, 0)
    assert found["published", "real", "memory arms", "Claude Opus 5.5", "no hints"].cost == (2.1, 5.2)
    assert found["published", "poison", "Tuned_Reference", "", "v3 with Gate I"].net == (8, 8)
    assert set(load_published().notes) == set("abcdef")


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("{arm: Vanilla, kept: 9}", r"published.yaml:12: tables.0.rows.0.kept: more than 8"),
        ("{arm: Vanilla, kept: 1, net: 1}", r"published.yaml:12: .*neither raw nor net"),
        ("{arm: Vanilla, raw: [3, 2]}", r"published.yaml:12: .*from low to high"),
        ("{arm: Vanilla, notes: [z]}", r"published.yaml:12: tables.0.rows.0.notes: there is no note z"),
        ("{arm: Vanilla, score: 1}", r"published.yaml:12: tables.0.rows.0.score: Extra"),
    ],
)
def test_a_broken_record_is_an_error_with_its_place(tmp_path: Path, row: str, what: str) -> None:
    """What published.yaml may not say is refused with file, line and field."""
    head = "schema_version: 1\nsource: s\nremarks: []\nnotes: {a: x}\n\n\ntables:\n- id: t\n  title: T\n  of: 8\n  rows:\n  - "
    (tmp_path / "published.yaml").write_text(head + row + "\n")

    with pytest.raises(InputError, match=what):
        load_published(tmp_path / "published.yaml")
