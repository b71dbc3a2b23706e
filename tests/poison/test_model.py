"""Poisons as data, the catalogue, and the twins."""

from __future__ import annotations

import ast

import pytest

from takeover.poison.catalog import UNSEEN, V1, V2, V3, VOUCHED, find_pill, grid
from takeover.poison.model import CHANNELS, INJECTED, Channel, Goal, Kind, Landing, Mode, Pill, Poison, Template
from takeover.poison.record import PlantRecord, PoisonForm, parse_record, record_bytes
from takeover.poison.twins import harmless, harmless_import
from takeover.sandbox.errors import InputError


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((Channel.README, Kind.REGRESSION), "no silent_regression in readme"),
        ((Channel.README, Kind.INJECTION), "has a template and a goal"),
        ((Channel.README, Kind.DENIAL, Landing.COMMITTED, Mode.APPEND, "end", False, Template.DIRECT), "nothing else"),
        ((Channel.STATE, Kind.DROPPED_CONSTRAINT), "mode replace"),
        ((Channel.SOURCE, Kind.REGRESSION), "mode replace"),
    ],
)
def test_what_cannot_exist_is_refused(arguments: tuple[object, ...], complaint: str) -> None:
    """There is no poison that no channel carries or that says nothing of itself."""
    with pytest.raises(InputError, match=complaint):
        Poison(*arguments)  # type: ignore[arg-type]


def test_an_injection_asks_for_what_can_be_asked_for() -> None:
    """The goals of defects are no goals of words."""
    with pytest.raises(InputError, match="cannot be asked for"):
        Poison(Channel.README, Kind.INJECTION, template=Template.DIRECT, goal=Goal.DEFECT_KEPT)


def test_the_documents_three_are_points_of_the_grid() -> None:
    """v1 is uncommitted with comments, v2 without, v3 amended; each the same two defects."""
    for pill, landing, commented in ((V1, "uncommitted", True), (V2, "uncommitted", False), (V3, "committed", False)):
        kinds = [(one.kind, str(one.landing), one.commented) for one in pill.poisons]
        assert kinds == [(Kind.REGRESSION, landing, commented), (Kind.BOUNDARY, landing, commented)]
    assert [find_pill(name) for name in ("commented", "uncommitted", "committed")] == [V1, V2, V3]


def test_the_grid_has_every_point_that_it_must() -> None:
    """Every channel with every kind that it carries, every template with every goal, and no name twice."""
    poisons = [poison for pill in grid() for poison in pill.poisons]
    pairs = {(poison.kind, poison.channel) for poison in poisons}
    wanted = {(kind, channel) for kind, channels in CHANNELS.items() for channel in channels}
    rewritten = {Kind.DROPPED_CONSTRAINT, Kind.STALE_OVER_NEW}

    assert wanted - pairs == {(kind, Channel.HANDOFF) for kind in rewritten}
    assert {(one.template, one.goal) for one in poisons if one.template} == {(t, g) for t in Template for g in INJECTED}
    assert len({pill.name for pill in grid(full=True)}) == len(grid(full=True))
    for template in Template:
        assert len({one.channel for one in poisons if one.template is template}) >= len(INJECTED)


def test_every_pill_is_found_by_its_name() -> None:
    """And so is its twin; a name that means nothing lists the ones that have a name."""
    for pill in grid():
        assert find_pill(pill.name) == pill
        assert find_pill(f"{pill.name}.twin").twin
    with pytest.raises(InputError, match="no poison 'v9'") as error:
        find_pill("v9")
    assert "v1" in str(error.value.hint)


def test_pills_are_of_one_piece() -> None:
    """What is planted together lands together."""
    with pytest.raises(InputError, match="land together"):
        Pill("mixed", "both", (V1.poisons[0], V3.poisons[0]))


@pytest.mark.parametrize("size", [*range(1, 12), 57, 58, 59, 60, 500])
def test_harmless_text_is_as_long(size: int) -> None:
    """Byte for byte, with the marks and the lines of the original."""
    assert len(harmless("x" * size)) == size
    text = f"- {'é' * size}\n\n  > {'y' * size}\n# {'z' * size}"
    lines = harmless(text).split("\n")
    assert [len(line.encode()) for line in lines] == [len(line.encode()) for line in text.split("\n")]
    assert [line[:4].strip()[:1] for line in lines] == ["-", "", ">", "#"]


@pytest.mark.parametrize("length", range(15, 70))
def test_harmless_imports_are_as_long_and_stay_in_the_library(length: int) -> None:
    """They parse, have the length that is asked for, and reach nothing of a workspace."""
    statement = harmless_import(length)
    (node,) = ast.parse(statement).body
    name = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name  # type: ignore[attr-defined]

    assert len(statement) == length
    assert name.split(".")[0] in {"re", "io", "abc", "math", "string", "typing", "bisect", "decimal"} | {
        "functools", "statistics", "operator", "itertools", "collections",
    }  # fmt: skip


def test_a_record_is_read_back_as_it_was_written() -> None:
    """record.json keeps the poisons as data; bytes that JSON cannot hold become escapes."""
    record = PlantRecord(
        pill="p", title="t", twin=False, task="x", variant="0", start="a", snapshot="b", changed=["a\udcff\n"]
    )
    again = parse_record(record_bytes(record))

    assert again.changed == ["a\\udcff\n"]
    for pill in (V1, VOUCHED, UNSEEN):
        for poison in pill.poisons:
            assert PoisonForm.of(poison).poison() == poison
    with pytest.raises(InputError, match=r"record.json: title: Field required"):
        parse_record(b'{"places": [], "pill": "p"}')
