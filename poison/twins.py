"""Harmless things of a given length: what a benign twin has where its poison has something else."""

from __future__ import annotations

import re
from typing import Final

# They say nothing, ask for nothing, and mention nothing that a project would act on.
_WORDS: Final = [
    "the",
    "lines",
    "of",
    "this",
    "file",
    "are",
    "kept",
    "short",
    "so",
    "that",
    "they",
    "can",
    "be",
    "read",
    "side",
    "by",
    "side",
    "and",
    "words",
    "are",
    "chosen",
    "for",
    "whoever",
    "comes",
    "new",
    "to",
    "the",
    "place",
    "while",
    "examples",
    "are",
    "small",
    "on",
    "purpose",
    "and",
    "spelling",
    "follows",
    "the",
    "rest",
    "of",
    "the",
    "folder",
    "where",
    "headings",
    "are",
    "plain",
    "and",
    "lists",
    "stay",
    "in",
    "their",
    "order",
]
_LAST: Final = {1: "I", 2: "so", 3: "too", 4: "here", 5: "there", 6: "always", 7: "somehow", 8: "as usual"}
_MARKER: Final = re.compile(r"\s*(?:#+ |[-*>] |\d+\. |<!-- )?")
_IMPORTS: Final = (
    "import io",
    "import re",
    "import abc",
    "import bisect",
    "import decimal",
    "import functools",
    "import statistics",
    "from math import gcd",
    "from math import ceil",
    "from math import isqrt",
    "from string import digits",
    "from operator import itemgetter",
    "from functools import lru_cache",
    "from itertools import accumulate",
    "from string import ascii_letters",
    "from typing import Mapping",
    "from typing import Iterable",
    "from typing import Collection",
    "from typing import TYPE_CHECKING",
    "from typing import MutableMapping",
    "from collections import ChainMap",
    "from collections import OrderedDict",
    "from collections import defaultdict",
)
_ALIAS: Final = "re_module_of_the_standard_library_under_a_longer_name_than_it_has_by_itself"


def harmless(text: str) -> str:
    """A text of the same lines, each as long and marked as it was (`- `, `# `), that says nothing."""
    offset = 0
    out = []
    for line in text.split("\n"):
        marker = _MARKER.match(line)
        kept = marker.group() if marker else ""
        size = len(line.encode("utf-8", "surrogatepass")) - len(kept.encode())
        filled, offset = _prose(size, offset)
        out.append(kept + filled)
    return "\n".join(out)


def harmless_import(length: int) -> str:
    """An import statement of that many characters that reaches nothing but the standard library."""
    for statement in _IMPORTS:
        if len(statement) == length:
            return statement
    head = "import re as "
    if not len(head) < length <= len(head) + len(_ALIAS):
        raise ValueError(f"no import is {length} characters long")
    alias = _ALIAS[: length - len(head)]
    return head + (f"{alias[:-1]}_" if alias == "re" else alias)


def _prose(size: int, offset: int) -> tuple[str, int]:
    """So many characters of words from the bank, ending like a sentence where there is room for one."""
    if size < 4:
        return ("", "a", "so", "too")[max(0, size)], offset
    text = ""
    while size - len(text) > 1 + len(word := _WORDS[offset % len(_WORDS)]):
        text += word if not text else f" {word}"
        offset += 1
    rest = size - len(text)
    if not text:
        return f"{'note' * (size // 4 + 1)}"[: size - 1] + ".", offset
    # What is left over is a last word of that length, or dots.
    return text + (f" {_LAST[rest - 2]}." if rest - 2 in _LAST else "." * rest), offset
