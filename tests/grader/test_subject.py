"""Questions and answers: what a check sees of the agent's code, and what it makes of nonsense."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeover.grader.answers import Channel, SubjectGone, read_answer
from takeover.grader.local import unsafe_local_channel
from takeover.grader.subject import Ref, Subject, SubjectFailed
from takeover.grader.worker import RestartingChannel

CODE = """
import dataclasses, datetime, enum
from decimal import Decimal

class Kind(enum.Enum):
    DEBIT = 1

class Level(enum.IntEnum):
    HIGH = 2

@dataclasses.dataclass
class Line:
    amount: int
    kind: Kind = Kind.DEBIT
    note: object = None

class Book:
    LIMIT = 3
    def __init__(self, owner="ann"):
        self.owner, self.lines = owner, []
    def post(self, amount):
        if amount < 0:
            raise BookError("negative", amount)
        self.lines.append(Line(amount))
        return len(self.lines)
    def __getitem__(self, index): return self.lines[index].amount

class BookError(ValueError):
    def __init__(self, message, amount):
        super().__init__(message)
        self.amount = amount

def echo(*args, **kwargs): return [args, kwargs]
def is_debit(kind): return kind is Kind.DEBIT
def extend(items): items.append(9)
def lazy(): yield from (1, 2)
"""


@pytest.fixture(name="subject", scope="module")
def _subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    root = tmp_path_factory.mktemp("workspace")
    (root / "book.py").write_text(CODE)
    with unsafe_local_channel(root) as channel:
        yield Subject(channel)


def test_arguments_and_values_of_every_kind(subject: Subject) -> None:
    """Plain data goes there and back in its exact types."""
    args = (1, -(2**70), 1.5, True, None, "ü\n\udcff", b"\0", (1,), [2], {3}, frozenset({4}), {"k": {5: 6}})
    moments = (
        decimal.Decimal("1.10"),
        datetime.date(2024, 2, 29),
        datetime.datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=datetime.UTC),
        datetime.time(1, 2),
        datetime.timedelta(days=-1, seconds=5),
    )

    assert subject.call("book:echo", *args, *moments, key=args) == [(*args, *moments), {"key": args}]


def test_objects_come_back_as_what_they_are(subject: Subject) -> None:
    """An object is its class and attributes, a member of an enum its name; neither equals plain data."""
    assert subject.call("book:Line", 5).type == "book.Line"
    assert subject.call("book:Line", 5).fields == {"amount": 5, "kind": Ref("book:Kind.DEBIT"), "note": None}
    assert subject.fields("book:Line", 5, note=7) == {"amount": 5, "kind": subject.ref("book:Kind.DEBIT"), "note": 7}
    assert subject.value("book:Kind.DEBIT") == subject.ref("book:Kind.DEBIT")
    assert subject.value("book:Kind.DEBIT").type == "book.Kind"
    assert (subject.value("book:Level.HIGH") == 2) is False
    assert (subject.call("book:Line", 5) == {"amount": 5}) is False
    assert subject.call("book:lazy").type == "generator"
    with pytest.raises(SubjectFailed, match="not an object"):
        _ = subject.fields("builtins:dict").value


def test_names_of_the_code_are_arguments(subject: Subject) -> None:
    """A `ref` is looked up in the sandbox."""
    assert subject.call("book:is_debit", subject.ref("book:Kind.DEBIT")) == True
    assert subject.value("book:Book.LIMIT") == 3


def test_exceptions_are_data(subject: Subject) -> None:
    """Class, bases, message and attributes; and no exception is no error."""
    error = subject.error("book:Book.post", subject.ref("book:Book"), -1)

    assert (error.type, error.message, error.fields) == ("BookError", "negative", {"amount": -1})
    assert error.mro[:2] == ("book.BookError", "ValueError")
    assert error.is_a("ValueError")
    assert error.is_a("BookError")
    assert error.is_a("book.BookError")
    assert not error.is_a("Book")
    assert subject.error("book:echo").type is None
    assert "returned" in repr(subject.error("book:echo"))


def test_steps_share_one_process(subject: Subject) -> None:
    """Results of steps are objects of later ones, and a look runs what was added since."""
    steps = subject.steps()
    book = steps.call("book:Book", owner="bob")
    assert steps.get(book, "owner") == "bob"
    steps.method(book, "post", 5)
    assert steps.method(book, "post", 6) == 2
    assert steps.item(book, 1) == 6
    assert steps.look(steps.get(book, "lines"), fields=True).value[0]["amount"] == 5
    items = steps.value([1])
    steps.call("book:extend", items)
    assert steps.look(items) == [1, 9]
    assert steps.call("builtins:list", steps.call("book:lazy")) == [1, 2]


def test_steps_end_at_the_first_exception(subject: Subject) -> None:
    """What came before stands, what comes after was not reached."""
    steps = subject.steps()
    book = steps.call("book:Book")
    bad = steps.method(book, "post", -1)
    after = steps.get(book, "owner")

    assert bad.raised.is_a("BookError")
    assert book.type == "book.Book"
    assert (after == "ann") is False
    with pytest.raises(SubjectFailed, match="not reached"):
        _ = after.value


def test_no_value_differs_from_nothing(subject: Subject) -> None:
    """`!=` needs a value too, and an observed value has no truth of its own."""
    with pytest.raises(SubjectFailed, match="raised"):
        assert subject.call("book:nothing") != 3
    with pytest.raises(TypeError, match="compare"):
        bool(subject.call("book:echo"))
    with pytest.raises(TypeError, match="unhashable"):
        hash(subject.call("book:echo"))


NONCE = "n" * 32
LINES = {
    "nothing": b"",
    "text": b"PASSED",
    "half a line": b'{"nonce": "' + NONCE.encode(),
    "another question's": json.dumps({"nonce": "x", "how": "answered", "outcomes": [], "imports": []}).encode(),
    "a list": b"[]",
    "no outcomes": json.dumps({"nonce": NONCE, "how": "answered"}).encode(),
    "too many outcomes": json.dumps(
        {"nonce": NONCE, "how": "answered", "outcomes": [{"how": "value", "value": None}] * 2, "imports": []}
    ).encode(),
    "an outcome of no kind": json.dumps({"nonce": NONCE, "how": "answered", "outcomes": [{"how": "passed"}]}).encode(),
    "an outcome of text": json.dumps({"nonce": NONCE, "how": "answered", "outcomes": ["passed"]}).encode(),
    "a malformed value": json.dumps(
        {"nonce": NONCE, "how": "answered", "outcomes": [{"how": "value", "value": 5}]}
    ).encode(),
    "a class of numbers": json.dumps(
        {"nonce": NONCE, "how": "answered", "outcomes": [{"how": "raised", "mro": [1], "message": ""}]}
    ).encode(),
    "a message without end": json.dumps(
        {"nonce": NONCE, "how": "answered", "outcomes": [{"how": "raised", "mro": [], "message": "x" * 10**5}]}
    ).encode(),
    "nested beyond reason": b'{"nonce":' + b"[" * 100_000,
    "a number beyond reason": b'{"nonce":' + b"9" * 10_000 + b"}",
    "bytes that are no text": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_no_answer_is_refused(name: str) -> None:
    """Whatever is written in place of an answer is evidence against the code, never an error of ours."""
    with pytest.raises(SubjectGone):
        read_answer(LINES[name], NONCE, 1)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "how": st.sampled_from(["answered", "failed"]) | ANY,
            "outcomes": ANY
            | st.lists(
                st.fixed_dictionaries(
                    {"how": st.sampled_from(["value", "object", "raised", "odd"])},
                    optional=dict.fromkeys(("value", "type", "fields", "mro", "message", "why"), ANY),
                ),
                max_size=2,
            ),
            "imports": ANY,
            "output": ANY,
            "why": ANY,
        },
    )
)
@settings(max_examples=300, deadline=None)
def test_any_answer_is_understood_or_refused(answer: dict[str, object]) -> None:
    """No content of an answer raises anything but SubjectGone."""
    with contextlib.suppress(SubjectGone):
        read_answer(json.dumps({**answer, "nonce": NONCE}).encode(), NONCE, 1)


class Script:
    """A worker that does what it is told: an answer, a stray line, or an end."""

    def __init__(self, acts: list[str]) -> None:
        self.acts = acts

    def ask(self, request: bytes, timeout: float) -> bytes:
        act = self.acts.pop(0) if self.acts else "died"
        if act == "answer":
            nonce = json.loads(request)["nonce"]
            outcome = {"how": "value", "value": "fine"}
            return json.dumps({"nonce": nonce, "how": "answered", "outcomes": [outcome], "imports": []}).encode()
        if act == "stray":
            return b'{"nonce": "forged", "how": "answered"}'
        raise SubjectGone("timeout" if act == "timeout" else "died", act)


# What successive workers do, and whether the one question is answered in the end.
RESTARTS = {
    "a good worker": ([["answer"]], True),
    "a worker that had died": ([["died"], ["answer"]], True),
    "a stray line before the answer": ([["stray", "answer"], ["answer"]], True),
    "two workers that die": ([["died"], ["died"], ["answer"]], False),
    "a worker that falls silent": ([["timeout"], ["answer"]], False),
}


@pytest.mark.parametrize("name", RESTARTS)
def test_a_lost_worker_is_replaced(name: str) -> None:
    """A question is asked once more where an earlier one may be to blame, and the next one always starts clean."""
    workers, answered = RESTARTS[name]
    left = [list(acts) for acts in workers]

    @contextlib.contextmanager
    def start() -> Iterator[Channel]:
        yield Script(left.pop(0))

    with RestartingChannel(start) as channel:
        assert (Subject(channel).call("m:f") == "fine") is answered


def test_restarts_come_to_an_end() -> None:
    """Code that brings down every worker is given up on, not served for ever."""
    started = []

    @contextlib.contextmanager
    def start() -> Iterator[Channel]:
        started.append(1)
        yield Script(["died"])

    with RestartingChannel(start, restarts=5) as channel:
        subject = Subject(channel)
        outcomes = [subject.call("m:f").outcome for _ in range(20)]

    assert len(started) == 5
    assert "too many workers" in outcomes[-1].why


def test_the_environment_of_a_worker_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's environment reaches the code."""
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("TAKEOVER_SECRET", "x")
    (tmp_path / "env.py").write_text(
        "import os, sys\ndef env(): return sorted(os.environ)\ndef path(): return sys.path\n"
    )
    with unsafe_local_channel(tmp_path) as channel:
        subject = Subject(channel)

        assert subject.call("env:env") == ["HOME", "LANG", "PATH", "PYTHONHASHSEED", "TZ"]
        assert subject.call("env:path").value[-1] == str(tmp_path)
        assert "/somewhere" not in subject.call("env:path").value
