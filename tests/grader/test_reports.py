"""Scorecards and runs as people and other tools see them."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from takeover.grader.exports import junit_xml, sarif, summary_markdown
from takeover.grader.html import report_html
from takeover.grader.report import console, number, print_run, print_scorecard
from takeover.grader.scorecard import (
    BoundaryViolation,
    Check,
    Cutoff,
    Failure,
    Note,
    NotesUse,
    ProtectedEdit,
    Provenance,
    Retention,
    Score,
    Scorecard,
    Session,
    Tokens,
    Zeroed,
    canonical_bytes,
    parse_scorecard,
    schema_bytes,
)
from takeover.grader.summary import RunSummary, reason, summarize, summary_json
from takeover.sandbox.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
# What an agent may put into a name, a message or a path, to be shown on a terminal, in a browser or to a parser.
HOSTILE = "]]><script>alert(1)</script>\x1b[2J\x00\u202e\ufffe[red]{{7*7}}|`x`&xxe;<!--\n# PASSED"


def card(
    passed: int = 2,
    *,
    agent: str = "agent",
    arm: str = "Vanilla",
    repetition: int = 1,
    text: str = "wrong",
    **more: object,
) -> Scorecard:
    checks = [
        Check(
            id=f"R{n}",
            kind="requirement",
            passed=n <= passed,
            evidence="1 check passed" if n <= passed else text,
            observed=[] if n <= passed else [text],
            error_kind=None if n <= passed else "assertion",
        )
        for n in (1, 2, 3)
    ]
    checks.append(Check(id="B1", kind="baseline", passed=True, evidence="1 check passed"))
    verdict = Retention(
        raw=Score(passed=passed, total=3),
        net=passed,
        tes=None,
        zeroed_by=[],
        baseline=Score(passed=1, total=1),
        protected_edited=[],
        boundary_violations=[],
        checks=checks,
    )
    return Scorecard(
        task="small",
        variant=0,
        arm=arm,
        agent=agent,
        repetition=repetition,
        outcome="graded",
        retention=verdict.model_copy(update=more),
        sessions=[
            Session(exit="cutoff", cutoff=Cutoff(rule="first-edit", exact=True, path="a.py"), snapshot="sha256:aa"),
            Session(exit="exited", code=0, snapshot="sha256:bb"),
        ],
        provenance=Provenance(toolkit="1", task_sha256="00"),
    )


def failure(side: str, message: str = "the container ended") -> Scorecard:
    return Scorecard(
        task="small",
        variant=0,
        arm="Vanilla",
        agent="agent",
        repetition=9,
        outcome="machinery_failure" if side == "machinery" else "agent_failure",
        failure=Failure(kind="sandbox_died", side=side, message=message),  # type: ignore[arg-type]
        provenance=Provenance(toolkit="1", task_sha256="00"),
    )


VANDAL = card(
    3,
    agent="vandal",
    net=0,
    zeroed_by=[Zeroed(reason="boundary", detail="module boundaries crossed: rbac/rules.py:3 rbac -> audit")],
    boundary_violations=[BoundaryViolation(path="rbac/a b.py", line=3, package="rbac", imports="audit", how="import")],
    protected_edited=[ProtectedEdit(path="tests/test_x.py", how="deleted")],
    notes=[Note(kind="unparsable", path="x.py", detail="line 1: no")],
)


@pytest.fixture(name="run")
def _run() -> RunSummary:
    cards = {
        "a.1": card(2, repetition=1),
        "a.2": card(3, repetition=2),
        "v.1": VANDAL,
        "d.1": failure("machinery"),
        "f.1": failure("agent", "unreadable"),
        "h.1": card(1, agent=HOSTILE, arm=HOSTILE, text=HOSTILE),
    }
    return summarize("run-1", [*cards, "late.1", "late.2"], cards)


def test_totals_add_up_and_name_the_missing(run: RunSummary) -> None:
    """Nothing that was planned vanishes, however it ended."""
    totals = run.totals

    assert (totals.graded, totals.agent_failures, totals.machinery_failures, totals.pending) == (4, 1, 1, 2)
    assert totals.graded + totals.agent_failures + totals.machinery_failures + totals.pending == totals.planned == 8
    assert totals.missing == ("late.1", "late.2")
    assert totals.sentence == "4 graded + 1 agent failures + 1 machinery failures + 2 pending = 8 planned"


def test_a_failure_of_the_agent_counts_and_one_of_the_machinery_does_not(run: RunSummary) -> None:
    """Means are over 2, 3 and the agent's own failure as 0; the dead sandbox is left out."""
    cell = run.cells[0]

    assert (cell.planned, cell.counted, cell.raw, cell.net) == (4, 3, 1.667, 1.667)
    assert cell.tes is None
    assert any("sandbox_died" in text for text in cell.reasons)


def test_summary_json_says_what_the_table_says(run: RunSummary) -> None:
    """Every trial has its line; pending ones too."""
    data = json.loads(summary_json(run))

    assert data["totals"]["planned"] == len(data["trials"]) == 8
    assert [t["outcome"] for t in data["trials"]].count("pending") == 2
    assert data["trials"][2] == {
        "name": "v.1",
        "outcome": "graded",
        "raw": {"passed": 3, "total": 3},
        "net": 0,
        "tes": None,
        "tokens": None,
        "reason": "module boundaries crossed: rbac/rules.py:3 rbac -> audit",
    }


def test_junit_is_xml_whatever_it_holds(run: RunSummary) -> None:
    """Characters that XML cannot hold are replaced, markup is text, and the counts are those of the cases."""
    root = ET.fromstring(junit_xml(run))

    assert (root.get("tests"), root.get("errors")) == (str(len(root.findall(".//testcase"))), "3")
    assert root.get("failures") == str(len(root.findall(".//failure")))
    assert [e.get("message") for e in root.iterfind("testsuite[@name='late.1']/testcase/error")] == [
        "pending: no scorecard"
    ]
    assert "<script>" in (root.find("testsuite[@name='h.1']//failure").get("message") or "")  # type: ignore[union-attr]
    assert b"<!DOCTYPE" not in junit_xml(run)
    assert b"\x00" not in junit_xml(run)


def test_sarif_points_at_files_and_lines(run: RunSummary) -> None:
    """A crossed boundary and a changed file stand where they are; rules are declared; levels are SARIF's."""
    log = json.loads(sarif(run))
    (only,) = log["runs"]
    results = only["results"]
    rules = {rule["id"] for rule in only["tool"]["driver"]["rules"]}

    assert log["version"] == "2.1.0"
    assert {result["ruleId"] for result in results} <= rules
    crossed = next(result for result in results if result["ruleId"] == "boundary-crossed")
    place = crossed["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "rbac/a%20b.py", "uriBaseId": "WORKSPACE"},
        "region": {"startLine": 3},
    }
    assert sum(result["ruleId"] == "trial-failed" for result in results) == 4
    assert all(result["level"] in ("error", "warning") for result in results)
    assert all(result["message"]["text"].isprintable() for result in results)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)


def test_the_page_is_text_and_stands_alone(run: RunSummary) -> None:
    """No script, no image, no link, nothing from elsewhere; what an agent wrote is shown, not obeyed."""
    page = report_html(run)
    tags = Tags()
    tags.feed(page)

    assert not {"script", "img", "link", "iframe", "a", "form"} & set(tags.seen)
    assert "&lt;script&gt;" in page
    assert "49" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    assert "http" not in page.replace('http-equiv="', "")
    assert "default-src 'none'" in page
    assert all(name in page for name in ("v.1", "late.1", "sha256:aa", "tests/test_x.py"))


def test_markdown_holds_its_table(run: RunSummary) -> None:
    """A hostile name neither breaks the row nor becomes markup."""
    lines = summary_markdown(run).splitlines()
    rows = [line for line in lines if line.startswith("|")]

    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {10}
    assert not any("<script>" in line for line in lines)
    assert run.totals.sentence in lines


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_terminal_is_plain_without_a_terminal(width: int, run: RunSummary, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a log there are no escapes and no line is wider than asked; nothing hostile is passed on."""
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    print_run(run, console(out))
    table = out.getvalue()
    for _, one in run.trials:
        if one:
            print_scorecard(one, console(out))
    text = out.getvalue()

    assert "\x1b" not in text
    assert "\x00" not in text
    assert "\u202e" not in text
    assert max(len(line) for line in table.splitlines()[:-1]) <= width
    assert "[red]" in text.replace("\n", "").replace(" ", "")


def test_a_scorecard_on_the_terminal_says_why(run: RunSummary) -> None:
    """The scores, the reason, and the evidence of each failed check."""
    out = io.StringIO()
    print_scorecard(VANDAL, console(out))
    print_scorecard(card(1), console(out))
    text = out.getvalue()

    assert "raw 3/3   net 0/3   TES n/a   baseline 1/1   tokens unknown" in text
    assert "net is 0: module boundaries crossed: rbac/rules.py:3 rbac -> audit" in text
    assert "session 1: cut off exactly by first-edit at a.py" in text
    assert re.search(r"R3 +FAIL +wrong", text)


def test_a_breach_of_the_notes_limit_is_reported() -> None:
    """In every report of a run and of a trial, with the tokenizer; notes within their limit are no remark, and the
    score is what it was."""
    over = NotesUse(file="state.md", tokens=612, limit=500, tokenizer="t", within=False)
    kept = over.model_copy(update={"tokens": 499, "within": True})
    breach, within = "state.md: 612 of 500 tokens (t), above its limit", "state.md: 499 of 500 tokens (t)"

    def noted(use: NotesUse, agent: str) -> Scorecard:
        made = card(3, agent=agent)
        return made.model_copy(
            update={"sessions": [one.model_copy(update={"notes_use": use}) for one in made.sessions]}
        )

    summary = summarize("r", ["a", "b"], {"a": noted(over, "long"), "b": noted(kept, "short")})
    long, short = summary.cells
    assert (long.reasons, short.reasons) == ((breach,), ())
    assert long.net == short.net == 3
    out = io.StringIO()
    print_run(summary, console(out))
    assert "above its limit" in " ".join(out.getvalue().split())
    for text in (summary_markdown(summary), summary_json(summary).decode(), report_html(summary)):
        assert text.replace("\\", "").count("above its limit") >= 1
    out = io.StringIO()
    print_scorecard(noted(over, "long"), console(out))
    print_scorecard(noted(kept, "short"), console(out))
    assert out.getvalue().count(breach) == out.getvalue().count(within) == 2


def test_conduct_stands_beside_the_points() -> None:
    """Full marks by another release are told in the table, kind by kind; what could not be read is no conduct."""
    made = card(3)
    assert made.retention is not None
    notes = [
        Note(kind=kind, path="a.py", detail="x") for kind in ("unparsable", "other_release", "rewritten", "rewritten")
    ]
    told = made.model_copy(update={"retention": made.retention.model_copy(update={"notes": notes})})

    assert summarize("r", ["a"], {"a": told}).cells[0].reasons == ("noted: other_release, rewritten",)
    assert summarize("r", ["a"], {"a": made}).cells[0].reasons == ()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "colour"),
    [({"TERM": "xterm-256color"}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": "1"}, False)],
)
def test_colour_only_where_it_is_wanted(
    variables: dict[str, str], colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR and TERM=dumb are kept."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    out = Terminal()
    print_scorecard(VANDAL, console(out))

    assert bool(re.search("\x1b\\[[0-9;]*3[0-9]m", out.getvalue())) is colour


def test_reasons_are_short() -> None:
    """Runs of checks are drawn together."""
    assert reason(card(0)) == "failed: R1-R3"
    assert reason(card(2)) == "failed: R3"
    assert reason(card(3)) == ""
    assert reason(None) == "pending: no scorecard"


def test_numbers_have_no_needless_digits() -> None:
    """Whole scores read as whole, unknown ones as n/a."""
    assert [number(x) for x in (8, 8.0, 2.891, 0.5, 1234567, None)] == ["8", "8", "2.89", "0.5", "1,234,567", "n/a"]


def test_a_scorecard_is_its_bytes() -> None:
    """Written and read again it is the same, sorted and ASCII, with a newline at the end."""
    data = canonical_bytes(card(text=HOSTILE))

    assert canonical_bytes(parse_scorecard(data)) == data
    assert data.isascii()
    assert data.endswith(b"}\n")
    assert list(json.loads(data)) == sorted(json.loads(data))


def test_a_scorecard_holds_only_what_can_be_stored() -> None:
    """Odd bytes, control characters and lone surrogates in paths and messages become escapes, once."""
    odd = "a\udcff\ud800\n\x1b\u202e"
    session = Session(exit="wall", snapshot="sha256:aa", edited=[odd], cutoff=Cutoff(rule="x", exact=False, path=odd))

    assert session.edited == [r"a\xff\ud800\n\x1b\u202e"]
    assert Session.model_validate_json(session.model_dump_json()) == session
    assert Failure(kind="x", side="agent", message=odd).message == session.edited[0]


BAD = {
    "not JSON": b"{",
    "another version": canonical_bytes(card()).replace(b'"schema_version": 1', b'"schema_version": 2'),
    "an unknown field": canonical_bytes(card()).replace(b'"task":', b'"tusk": 1, "task":'),
    "a count of text": canonical_bytes(card()).replace(b'"net": 2', b'"net": "2"'),
    "a negative score": canonical_bytes(card()).replace(b'"net": 2', b'"net": -2'),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_scorecard_is_refused_in_a_line(name: str) -> None:
    """With the file and the field, and without what the file says."""
    with pytest.raises(InputError, match=r"^card\.json: ") as caught:
        parse_scorecard(BAD[name], "card.json")

    assert "\n" not in str(caught.value)


def test_the_schema_is_current() -> None:
    """docs/schemas/scorecard.json is what `python -m takeover.grader.scorecard` prints."""
    assert (ROOT / "docs" / "schemas" / "scorecard.json").read_bytes() == schema_bytes()


def test_the_outline_that_people_script_against() -> None:
    """The names of DESIGN's outline are all there."""
    data = json.loads(canonical_bytes(card()))

    assert {"schema_version", "task", "variant", "arm", "agent", "repetition", "outcome"} <= set(data)
    assert {"retention", "tokens", "sessions", "poison", "criteria", "evidence", "provenance"} <= set(data)
    assert {"raw", "net", "zeroed_by", "tes", "baseline", "protected_edited", "boundary_violations", "checks"} <= set(
        data["retention"]
    )
    assert data["sessions"][0]["cutoff"] == {
        "rule": "first-edit",
        "exact": True,
        "path": "a.py",
        "how": None,
        "late": [],
        "open": [],
        "why_not": None,
    }
    assert Tokens().model_dump() == {"total": None, "provenance": "unknown", "budget": None}
