"""Typed plain data: what goes over and comes back is the same, and what is malformed is said to be."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeover.grader.plain import Malformed, Ref, decode, encode, same, shown
from takeover.sandbox.guest import worker_values

ZONES = st.none() | st.timedeltas(min_value=datetime.timedelta(hours=-23), max_value=datetime.timedelta(hours=23)).map(
    datetime.timezone
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.decimals(allow_nan=False)  # a signalling NaN cannot even be hashed
    | st.dates()
    | st.datetimes(timezones=ZONES)
    | st.times()
    | st.timedeltas()
)
HASHABLE = st.recursive(SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.sets(HASHABLE, max_size=3)
        | st.dictionaries(HASHABLE, inner, max_size=4)
    ),
    max_leaves=12,
)


def over_the_wire(raw: object) -> object:
    return json.loads(json.dumps(raw, ensure_ascii=True, allow_nan=False))


@given(VALUES)
@settings(max_examples=300, deadline=None)
def test_what_the_worker_says_is_what_is_heard(value: object) -> None:
    """The worker's encoding and the strict reader agree on every plain value."""
    heard = decode(over_the_wire(worker_values.Encoder().encode(value)))

    assert same(value, heard)
    assert type(heard) is type(value)


@given(VALUES)
@settings(max_examples=300, deadline=None)
def test_what_a_check_sends_is_what_arrives(value: object) -> None:
    """Arguments reach the code unchanged."""
    assert same(worker_values.decode(over_the_wire(encode(value)), []), value)


@given(VALUES, VALUES)
@settings(max_examples=200, deadline=None)
def test_same_is_never_looser_than_equality(left: object, right: object) -> None:
    """Values that are the same are equal and of one type (NaN, which equals nothing, aside)."""
    if same(left, right) and "nan" not in repr(left).lower():
        assert left == right
        assert type(left) is type(right)


DIFFERENT = [
    (1, True),
    (1, 1.0),
    (0, False),
    (1.0, decimal.Decimal(1)),
    ("1", 1),
    ("a", b"a"),
    ([1], (1,)),
    ([1], [True]),
    ({1: "a"}, {True: "a"}),
    ({"a": 1}, {"a": 1.0}),
    ({"a": [1, (2,)]}, {"a": [1, [2]]}),
    ({1}, frozenset({1})),
    ({1, 2}, [1, 2]),
    ([1, 2], [2, 1]),
    (None, False),
    (datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)),
    (Ref("a:B.C"), "a:B.C"),
]


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_other_types_are_other_values(left: object, right: object) -> None:
    """Exact types are compared at every depth."""
    assert not same(left, right)
    assert not same(right, left)


def test_order_of_a_dict_and_nan() -> None:
    """The order of keys does not count; NaN equals NaN."""
    assert same({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert same([math.nan], [math.nan])
    assert same(decimal.Decimal("1.0"), decimal.Decimal("1.00"))
    assert same(decimal.Decimal("sNaN"), decimal.Decimal("sNaN"))


MALFORMED = {
    "an int in the open": 5,
    "a float in the open": 1.5,
    "an object": {"int": "0x1"},
    "an empty list": [],
    "a list without a tag": [1, 2],
    "an unknown tag": ["exec", "1"],
    "a tag alone": ["int"],
    "one part too many": ["int", "0x1", "0x2"],
    "an int that is none": ["int", "zz"],
    "an int with spaces": ["int", " 1"],
    "an int with underscores": ["int", "0x1_0"],
    "an int in other digits": ["int", "١"],
    "an int as a number": ["int", 1],
    "an int of a million digits": ["int", "0x" + "f" * 10**6],
    "a float that is none": ["float", "zz"],
    "a decimal that is none": ["decimal", "one"],
    "a decimal of a million digits": ["decimal", "1" * 10**6],
    "bytes that are none": ["bytes", "***"],
    "a list of text": ["list", "abc"],
    "a set of lists": ["set", [["list", []]]],
    "a dict of text": ["dict", "abc"],
    "a dict of triples": ["dict", [["a", "b", "c"]]],
    "a dict with equal keys": ["dict", [["a", None], ["a", None]]],
    "a dict with a list as key": ["dict", [[["list", []], None]]],
    "a date that is none": ["date", "2024-13-01"],
    "a datetime of two parts": ["datetime", "2024-01-01"],
    "a fold of True": ["datetime", "2024-01-01T00:00:00", True, None],
    "a zone of text": ["datetime", "2024-01-01T00:00:00", 0, "UTC"],
    "a zone beyond a day": ["datetime", "2024-01-01T00:00:00", 0, [2, 0, 0]],
    "a timedelta beyond all bounds": ["timedelta", 10**12, 0, 0],
    "a timedelta of floats": ["timedelta", 1.5, 0, 0],
    "a target of numbers": ["target", 5],
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_value_is_refused(name: str) -> None:
    """Nothing that the untrusted side can write makes the reader do anything but refuse."""
    with pytest.raises(Malformed):
        decode(MALFORMED[name])
    with pytest.raises(Malformed):
        decode(["list", [MALFORMED[name]]])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        | st.tuples(
            st.sampled_from(
                ["int", "float", "bytes", "list", "set", "dict", "date", "datetime", "time", "decimal", "target"]
            ),
            inner,
        ).map(list)
    ),
    max_leaves=20,
)


@given(JSON)
@settings(max_examples=400, deadline=None)
def test_any_json_is_read_or_refused(raw: object) -> None:
    """No JSON of any shape raises anything but Malformed."""
    with contextlib.suppress(Malformed):
        decode(raw)


def test_depth_and_breadth_are_bounded() -> None:
    """A value that is nested or long beyond the limits is refused before it costs anything."""
    deep: list[object] = ["list", []]
    for _ in range(100):
        deep = ["list", [deep]]
    with pytest.raises(Malformed):
        decode(deep)
    with pytest.raises(Malformed):
        decode(["list", [None] * 300_000])


@pytest.mark.parametrize("value", [object(), print, range(3), 1j, bytearray(b"x"), [object()], {"a": {1: print}}])
def test_only_plain_data_can_be_sent(value: object) -> None:
    """A check that sends anything else is told so at once."""
    with pytest.raises(TypeError, match="plain"):
        encode(value)


def test_shown_is_the_same_on_every_run() -> None:
    """The parts of sets stand in order; everything else reads as Python writes it."""
    assert shown({"b", "a", "c"}) == "{'a', 'b', 'c'}"
    assert shown(frozenset({2, 1})) == "frozenset({1, 2})"
    assert shown(set()) == "set()"
    assert shown(frozenset()) == "frozenset()"
    assert shown({"k": [(1,), (), {"x"}]}) == "{'k': [(1,), (), {'x'}]}"
    assert shown(Ref("a.b:C.D")) == "a.b:C.D"
