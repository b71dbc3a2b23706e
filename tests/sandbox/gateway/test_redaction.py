"""A key is found in no text, in none of the forms that it may take there."""

from __future__ import annotations

import base64
import json
import pickle
from itertools import pairwise
from urllib.parse import quote

import pytest
from gateway_kit import KEY
from hypothesis import given
from hypothesis import strategies as st

from takeover.sandbox.gateway.redaction import MARK, Redactor, Secret

REDACTOR = Redactor([Secret(KEY)])
FORMS = {
    "plain": KEY,
    "url": quote(KEY, safe=""),
    "hex": KEY.encode().hex(),
    "json": json.dumps(KEY)[1:-1],
    **{f"base64 after {n}": base64.b64encode(b"#" * n + KEY.encode() + b"!" * (n % 2)).decode() for n in range(7)},
    **{f"url-safe base64 after {n}": base64.urlsafe_b64encode(b"#" * n + KEY.encode()).decode() for n in range(3)},
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    """Plain, in a URL, in hexadecimal, in JSON, in base64 at any offset: what is left tells nothing of it."""
    text = f"before {FORMS[form]} after"
    clean = REDACTOR.text(text)

    assert MARK in clean
    assert not any(piece in clean for piece in (FORMS[form][4:20], FORMS[form][10:26]))
    assert REDACTOR.data(text.encode()) == clean.encode()


def test_a_secret_does_not_show_itself() -> None:
    """Not in its repr, not in a format, not in a pickle."""
    secret = Secret(KEY)

    assert KEY not in f"{secret!r} {secret} {[secret]} {REDACTOR!r}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert secret.reveal() == KEY


@given(st.text(max_size=20), st.text(max_size=20), st.lists(st.integers(0, 100), max_size=6))
def test_a_text_in_pieces(before: str, after: str, cuts: list[int]) -> None:
    """However a text is cut, its key is gone, and nothing else of it."""
    text = before + KEY + after
    points = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    growing = REDACTOR.growing()
    pieces = [growing.add(text[a:b]) for a, b in pairwise(points)] + [growing.end()]

    assert "".join(pieces) == before + MARK + after
    assert KEY not in "".join(pieces)


def test_what_cannot_become_a_key_is_not_held_back() -> None:
    """A text is written as it comes."""
    growing = REDACTOR.growing()

    assert [growing.add(piece) for piece in ("Hello, ", "world", ".")] == ["Hello, ", "world", "."]


def test_chunks_keep_their_boundaries_unless_a_key_spans_them() -> None:
    """A key that two chunks share is taken out too."""
    half = len(KEY) // 2
    spanning = [f"a{KEY[:half]}".encode(), f"{KEY[half:]}b".encode()]

    assert REDACTOR.chunks([b"a", f"x{KEY}".encode(), b"b"]) == [b"a", f"x{MARK}".encode(), b"b"]
    assert REDACTOR.chunks(spanning) == [f"a{MARK}b".encode()]


def test_values() -> None:
    """Keys and values of plain data, at any depth."""
    assert REDACTOR.value({KEY: [KEY, {"a": (KEY, 1, None)}]}) == {MARK: [MARK, {"a": [MARK, 1, None]}]}


def test_what_is_no_secret_stays() -> None:
    """Placeholders that local servers are given as keys must not wreck every text."""
    redactor = Redactor([Secret("x"), Secret("EMPTY"), Secret("dummy"), Secret("")])

    assert redactor.text("x EMPTY dummy") == "x EMPTY dummy"


@given(st.data())
def test_a_key_in_a_stream_of_bytes(data: st.DataObject) -> None:
    """However the bytes are cut: the key is out, everything else is in, nothing is lost at the end."""
    before, after = data.draw(st.binary(max_size=20)), data.draw(st.binary(max_size=20))
    stream = before + KEY.encode() + after
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    growing = REDACTOR.growing_data()
    pieces = [growing.add(stream[start:end]) for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert b"".join([*pieces, growing.end()]) == REDACTOR.data(stream)
    assert KEY.encode() not in b"".join(pieces)
