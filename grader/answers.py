"""What comes back from a worker, understood: the line of JSON, and what one step came to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal, Protocol

from .plain import Malformed, Ref, decode
from .text import clean, short


class Channel(Protocol):
    """A way to a worker: one line there, one line back. Raises `SubjectGone`; a failure of the machinery
    is a `MachineryError` and passes through."""

    def ask(self, request: bytes, timeout: float) -> bytes:
        """The answering line, without its newline; `timeout` is in seconds."""
        ...


class SubjectGone(Exception):
    """The worker ended or stayed silent because of what runs in it: evidence against the code, not an error."""

    def __init__(self, how: Literal["died", "timeout", "garbled", "spent"], detail: str) -> None:
        super().__init__(detail)
        self.how = how


@dataclass(frozen=True)
class Raised:
    """The exception that the agent's code raised, as data.

    `type` is the bare class name, `mro` the names of the class and its bases (builtins without their module),
    `fields` the plain attributes. When nothing was raised, `type` is None and `what` says what happened instead.
    """

    type: str | None
    mro: tuple[str, ...] = ()
    message: str = ""
    fields: dict[str, object] = field(default_factory=dict)
    what: str = ""

    def is_a(self, name: str) -> bool:
        """Whether the exception is of this class or derives from it: "ValueError", "ledger.errors.RuleError"."""
        return any(full == name or full.endswith("." + name) for full in self.mro)

    def __repr__(self) -> str:
        if self.type is None:
            return f"<no exception: {self.what}>"
        return f"<{self.what} raised {self.mro[0] if self.mro else self.type}: {short(repr(self.message))}>"


@dataclass(frozen=True)
class Outcome:
    """What one step came to: `how` says which of the other fields hold."""

    how: Literal["value", "object", "raised", "odd", "gone"]
    value: object = None
    type: str = ""
    fields: dict[str, object] | None = None
    raised: Raised | None = None
    why: str = ""
    output: str = ""

    def describe(self, what: str) -> str:
        """One clause of English for evidence."""
        match self.how:
            case "value":
                return f"{what} returned {short(repr(self.value))}"
            case "object":
                fields = "" if self.fields is None else f" with {short(repr(self.fields))}"
                return f"{what} returned a {self.type}{fields}"
            case "raised" if self.raised is not None:
                name = self.raised.mro[0] if self.raised.mro else self.raised.type
                return f"{what} raised {name}: {short(repr(self.raised.message))}"
            case _:
                return f"{what} {self.why}"


@dataclass(frozen=True)
class Answer:
    """One line of the worker, understood."""

    outcomes: list[Outcome]
    imports: set[tuple[str, str]]


def read_answer(line: bytes, nonce: str, count: int) -> Answer:
    """Understands the worker's line or raises `SubjectGone`; nothing that it holds is believed to be well formed."""
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SubjectGone("garbled", "the answer is not JSON") from error
    if not isinstance(raw, dict) or raw.get("nonce") != nonce:
        raise SubjectGone("garbled", "the answer belongs to another question")
    how, output = raw.get("how"), raw.get("output")
    tail = clean(output)[-2000:] if isinstance(output, str) else ""
    if how != "answered":
        return Answer([Outcome("gone", why=clean(str(raw.get("why")))[:300], output=tail)] * count, set())
    outcomes = raw.get("outcomes")
    if not isinstance(outcomes, list) or len(outcomes) != count:
        raise SubjectGone("garbled", "the answer has the wrong number of outcomes")
    return Answer([_outcome(one, tail) for one in outcomes], _imports(raw.get("imports")))


def _outcome(raw: object, output: str) -> Outcome:
    if not isinstance(raw, dict):
        raise SubjectGone("garbled", "an outcome is not an object")
    try:
        name = _text(raw.get("type", ""))
        match raw.get("how"):
            case "value":
                value = decode(raw.get("value"))
                return Outcome("value", value=value, type=_type_name(value), output=output)
            case "object":
                fields = None if raw.get("fields") is None else _fields(raw["fields"])
                return Outcome("object", type=name, fields=fields, output=output)
            case "raised":
                return Outcome("raised", type=name, raised=_raised(raw, name), output=output)
            case "odd":
                return Outcome("odd", type=name, why=_text(raw.get("why", "")), output=output)
    except Malformed as error:
        raise SubjectGone("garbled", f"the answer holds {error}") from error
    raise SubjectGone("garbled", "an outcome of no known kind")


def _raised(raw: dict[str, object], name: str) -> Raised:
    mro = raw.get("mro")
    if not isinstance(mro, list) or len(mro) > 100:
        raise Malformed("a bad class")
    return Raised(
        type=name.rpartition(".")[2],
        mro=tuple(_text(base) for base in mro),
        message=_text(raw.get("message", "")),
        fields=_fields(raw.get("fields") or ["dict", []]),
        what="the call",
    )


def _fields(raw: object) -> dict[str, object]:
    fields = decode(raw)
    if not isinstance(fields, dict) or not all(type(key) is str for key in fields):
        raise Malformed("bad fields")
    return fields


def _imports(raw: object) -> set[tuple[str, str]]:
    """Pairs (importer, imported); hints from the untrusted side, so a malformed one is worth nothing."""
    if not isinstance(raw, list):
        return set()
    pairs = [p for p in raw[:5000] if isinstance(p, list) and len(p) == 2]
    return {(a[:300], b[:300]) for a, b in pairs if isinstance(a, str) and isinstance(b, str)}


def _type_name(value: object) -> str:
    if isinstance(value, Ref):
        return value.target.rpartition(".")[0].replace(":", ".")
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _text(raw: object) -> str:
    if not isinstance(raw, str) or len(raw) > 4000:
        raise Malformed("a bad text")
    return raw
