"""Visible tokens of a text, counted offline."""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpe_openai import Encoding  # type: ignore[import-untyped]

TOKENIZER = "o200k_base (bpe-openai)"


def visible_tokens(text: str) -> int:
    """How many tokens a text is, by the tokenizer that `TOKENIZER` names. Special tokens count as plain text."""
    return len(_encoding().encode_ordinary(text))


@cache
def _encoding() -> Encoding:
    with warnings.catch_warnings():
        # It reads its own files in a way that newer Pythons call old.
        warnings.simplefilter("ignore", DeprecationWarning)
        # Imported only when something is counted: the vocabularies cost more time than most commands take.
        from bpe_openai import get_encoding

        return get_encoding("o200k_base")
