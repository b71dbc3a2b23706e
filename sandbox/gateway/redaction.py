"""Keys: read from the environment, sent to their provider, and found nowhere else.

Whatever is written (transcripts, cassettes, logs, errors) passes a `Redactor`, which knows each key as it is and as it
looks in base64, in hexadecimal, in a URL and in JSON.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote

MARK: Final = "[redacted]"
# What local servers are given as a key (`x`, `EMPTY`, `dummy`) is no secret, and taking it out would wreck texts.
SHORTEST: Final = 8


class Secret:
    """A key that does not show itself; `reveal` is for the one header it belongs to."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(...)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")


class Redactor:
    """Takes secrets out of text, bytes and plain data."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        forms = sorted({form for secret in secrets for form in _forms(secret.reveal())}, key=len, reverse=True)
        self._forms = forms
        self._starts = {form[:length] for form in forms for length in range(1, len(form))}
        self._longest = max(map(len, forms), default=0)
        self._pattern = re.compile("|".join(map(re.escape, forms))) if forms else None
        self._bytes = re.compile(b"|".join(re.escape(form.encode()) for form in forms)) if forms else None

    def __repr__(self) -> str:
        return "Redactor(...)"

    def text(self, text: str) -> str:
        """The text without secrets."""
        return self._pattern.sub(MARK, text) if self._pattern else text

    def data(self, data: bytes) -> bytes:
        """The bytes without secrets."""
        return self._bytes.sub(MARK.encode(), data) if self._bytes else data

    def chunks(self, chunks: list[bytes]) -> list[bytes]:
        """The chunks of a stream without secrets, also of one that two chunks share."""
        clean = [self.data(chunk) for chunk in chunks]
        if self._bytes is None or not self._bytes.search(b"".join(clean)):
            return clean
        return [self.data(b"".join(clean))]

    def value(self, value: Any) -> Any:
        """JSON data without secrets, in keys too."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key) if isinstance(key, str) else key: self.value(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(one) for one in value]
        return value

    def growing(self) -> GrowingText:
        """For a text that arrives in pieces."""
        return GrowingText(self)

    def growing_data(self) -> GrowingData:
        """For bytes that arrive in pieces."""
        return GrowingData(self)

    def held(self, text: str) -> int:
        """How many characters at the end of a text could be the beginning of a secret."""
        for length in range(min(len(text), self._longest - 1), 0, -1):
            if text[-length:] in self._starts:
                return length
        return 0


class GrowingText:
    """A text in pieces: what could become a secret is held back until it has or has not."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""

    def add(self, text: str) -> str:
        """What can be written now."""
        text = self._held + text
        keep = self._redactor.held(text) if text else 0
        self._held = text[len(text) - keep :]
        return self._redactor.text(text[: len(text) - keep])

    def end(self) -> str:
        """What was held back."""
        text, self._held = self._held, ""
        return self._redactor.text(text)


class GrowingData:
    """Bytes in pieces, as `GrowingText`; without secrets they pass as they came."""

    def __init__(self, redactor: Redactor) -> None:
        # One character for each byte: the forms of a secret are ASCII.
        self._text = redactor.growing()

    def add(self, data: bytes) -> bytes:
        """What can go out now."""
        return self._text.add(data.decode("latin-1")).encode("latin-1")

    def end(self) -> bytes:
        """What was held back."""
        return self._text.end().encode("latin-1")


def _forms(value: str) -> set[str]:
    value = value.strip()
    if len(value) < SHORTEST:
        return set()
    raw = value.encode()
    forms = {value, quote(value, safe=""), json.dumps(value)[1:-1], raw.hex(), raw.hex().upper()}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):
            forms.add(_middle(encode(b"\0" * shift + raw).decode(), shift, len(raw)))
    return {form for form in forms if len(form) >= SHORTEST}


def _middle(text: str, shift: int, size: int) -> str:
    """The part of a base64 text that no neighbour of the secret has a bit in."""
    first = (0, 2, 3)[shift]
    return text[first : (shift + size) * 8 // 6]
