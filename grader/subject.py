"""Questions to the code an agent left behind; the hidden checks are written in these words.

    assert subject.call("billing.tax:tax_cents", 2600) == 208
    assert subject.error("ledger.rules:post", -1).is_a("ledger.errors.RuleError")
    assert subject.fields("billing.invoice:make", 5) == {"total": 5, "lines": []}
    assert subject.value("ledger.rules:LATE_FEE_BPS") == 175

    steps = subject.steps()
    book = steps.call("ledger.book:Book", owner="ann")
    steps.method(book, "post", 100)
    assert steps.get(book, "balance") == 100

An object comes back as its class and its plain attributes, a member of an enum as `subject.ref("mod:Kind.MEMBER")`.
Every question is answered by a fresh child process in a sandbox. What comes back is data: the agent's objects,
with their `__eq__`, never reach the check. Code that hangs, dies or answers nonsense is an answer too, one that
equals nothing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import Any, NoReturn

from .answers import Channel, Outcome, Raised, SubjectGone, read_answer
from .plain import Ref, StepRef, encode, same
from .text import short

# The worker ends a request by itself; only when it is stopped or dead does this grace run out.
GRACE = 5.0
CALL_LIMIT = 10.0

__all__ = ["Channel", "Observed", "Raised", "Ref", "Subject", "SubjectFailed", "SubjectGone", "SubjectSteps"]


class SubjectFailed(AssertionError):
    """A check asked for a value and the code gave none; the check fails with this text."""


class Observed:
    """What a call came to. Compare it with `==`: exact types, in every depth; no value equals nothing."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, what: str, look: Callable[[], Outcome]) -> None:
        self.what = what
        self._look = look

    @property
    def outcome(self) -> Outcome:
        """The whole answer, for checks that look closer."""
        return self._look()

    @property
    def value(self) -> Any:
        """The plain value; `SubjectFailed` when there is none."""
        outcome = self.outcome
        if outcome.how != "value":
            self._fail(outcome)
        return outcome.value

    @property
    def type(self) -> str:
        """The name of the returned value's class: "int", "ledger.kinds.Kind"; `SubjectFailed` when none returned."""
        outcome = self.outcome
        if outcome.how not in ("value", "object"):
            self._fail(outcome)
        return outcome.type

    @property
    def fields(self) -> dict[str, object]:
        """The plain attributes of a returned object; `SubjectFailed` when no object returned."""
        outcome = self.outcome
        if outcome.how != "object" or outcome.fields is None:
            self._fail(outcome)
        return outcome.fields

    @property
    def raised(self) -> Raised:
        """The exception; its `type` is None when the code raised none."""
        outcome = self.outcome
        return outcome.raised or Raised(type=None, what=outcome.describe(self.what))

    def _fail(self, outcome: Outcome) -> NoReturn:
        raise SubjectFailed(outcome.describe(self.what))

    def __eq__(self, expected: object) -> bool:
        other = expected.value if isinstance(expected, Observed) else expected
        outcome = self.outcome
        return outcome.how == "value" and same(outcome.value, other)

    def __ne__(self, expected: object) -> bool:
        """Differs from `not ==` on purpose: code that died must not pass as "something else"."""
        other = expected.value if isinstance(expected, Observed) else expected
        return not same(self.value, other)

    def __bool__(self) -> NoReturn:
        raise TypeError("compare an observed value with ==, or take its .value")

    def __repr__(self) -> str:
        return f"<{self.outcome.describe(self.what)}>"


class Subject:
    """The agent's code in a sandbox, asked through a channel; `limit` is in seconds for each question."""

    def __init__(self, channel: Channel, *, limit: float = CALL_LIMIT) -> None:
        self._channel = channel
        self._limit = limit
        self.imports: set[tuple[str, str]] = set()
        self.log: list[str] = []

    def call(self, target: str, *args: object, **kwargs: object) -> Observed:
        """What the function (or class) returns: `call("pkg.mod:func", 1, key=2)`."""
        return self._one(_call(target, args, kwargs), _signature(target, args, kwargs))

    def error(self, target: str, *args: object, **kwargs: object) -> Raised:
        """The exception that the call raises."""
        return self.call(target, *args, **kwargs).raised

    def fields(self, target: str, *args: object, **kwargs: object) -> Observed:
        """The attributes of the object that the call returns, as a dict; objects below it, or in a list, likewise."""
        step = _call(target, args, kwargs)
        return self._one({**step, "as_fields": True}, f"the fields of {_signature(target, args, kwargs)}")

    def value(self, target: str) -> Observed:
        """The value of a name of a module: `value("pkg.mod:LIMIT")`."""
        return self._one({"op": "target", "target": target}, target)

    def ref(self, target: str) -> Ref:
        """Something of the agent's code as an argument: `ref("ledger.kinds:Kind.DEBIT")`."""
        return Ref(target)

    def steps(self) -> SubjectSteps:
        """A script whose steps share one process and can use each other's results."""
        return SubjectSteps(self)

    def import_module(self, name: str) -> Observed:
        """Whether a module can be imported: None when it can."""
        return self._one({"op": "import", "module": name}, f"import {name}")

    def probe(self, source: str, *folders: str) -> Observed:
        """What a script leaves in its name `result`; it imports from these folders of the workspace first."""
        return self._one({"op": "probe", "source": source, "folders": list(folders)}, "the probe")

    def _one(self, step: dict[str, object], what: str) -> Observed:
        outcome = self.run([step])[0]
        self.note(outcome.describe(what))
        return Observed(what, lambda: outcome)

    def note(self, text: str) -> None:
        """Keeps what was observed as evidence for the check that runs."""
        self.log.append(text)

    def run(self, steps: list[dict[str, object]]) -> list[Outcome]:
        """The outcomes of a script, one for each step; those after the first exception are `odd`."""
        nonce = secrets.token_hex(16)
        request = {"nonce": nonce, "limit": self._limit, "steps": steps}
        line = json.dumps(request, ensure_ascii=True, allow_nan=False).encode("ascii")
        try:
            answer = read_answer(self._channel.ask(line, self._limit + GRACE), nonce, len(steps))
        except SubjectGone as gone:
            return [Outcome("gone", why=f"did not answer: {gone}")] * len(steps)
        self.imports |= answer.imports
        return answer.outcomes


class SubjectSteps:
    """A script of steps. It runs when a result is looked at, whole and in a fresh process each time it has grown."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._steps: list[dict[str, object]] = []
        self._outcomes: list[Outcome] = []

    def call(self, target: str, *args: object, **kwargs: object) -> SubjectStep:
        """Calls a function or class of a module."""
        return self._add(_call(target, args, kwargs), _signature(target, args, kwargs))

    def method(self, on: SubjectStep, name: str, *args: object, **kwargs: object) -> SubjectStep:
        """Calls a method of an earlier result."""
        step = {**_call("", args, kwargs), "op": "method", "on": on.index, "name": name}
        return self._add(step, f"{on.what}.{_signature(name, args, kwargs)}")

    def get(self, on: SubjectStep, name: str) -> SubjectStep:
        """Reads an attribute of an earlier result."""
        return self._add({"op": "get", "on": on.index, "name": name}, f"{on.what}.{name}")

    def item(self, on: SubjectStep, key: object) -> SubjectStep:
        """Subscripts an earlier result."""
        return self._add({"op": "item", "on": on.index, "key": encode(key)}, f"{on.what}[{key!r}]")

    def value(self, value: object) -> SubjectStep:
        """A plain value (or a `Ref`) that later steps share, so that a change to it can be seen with `look`."""
        return self._add({"op": "value", "value": encode(value)}, short(repr(value)))

    def look(self, on: SubjectStep, *, fields: bool = False) -> SubjectStep:
        """An earlier result as it is by now."""
        return self._add({"op": "look", "on": on.index, "as_fields": fields}, f"{on.what}, later")

    def _add(self, step: dict[str, object], what: str) -> SubjectStep:
        self._steps.append(step)
        return SubjectStep(self, len(self._steps) - 1, what)

    def outcome(self, index: int) -> Outcome:
        """What a step came to, running the script if it has grown."""
        if len(self._outcomes) != len(self._steps):
            self._outcomes = self._subject.run(self._steps)
        return self._outcomes[index]


class SubjectStep(Observed):
    """One step: an `Observed`, and an argument of later steps of the same script."""

    def __init__(self, script: SubjectSteps, index: int, what: str) -> None:
        super().__init__(what, self._outcome)
        self.index = index
        self._script = script

    def _outcome(self) -> Outcome:
        outcome = self._script.outcome(self.index)
        self._script._subject.note(outcome.describe(self.what))
        return outcome


def _call(target: str, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
    return {
        "op": "call",
        "target": target,
        "args": [encode(_plain(a)) for a in args],
        "kwargs": {key: encode(_plain(value)) for key, value in kwargs.items()},
    }


def _plain(value: object) -> object:
    return StepRef(value.index) if isinstance(value, SubjectStep) else value


def _signature(target: str, args: tuple[object, ...], kwargs: dict[str, object]) -> str:
    shown = [a.what if isinstance(a, SubjectStep) else repr(a) for a in args]
    shown += [f"{key}={value.what if isinstance(value, SubjectStep) else repr(value)}" for key, value in kwargs.items()]
    return f"{target}({short(', '.join(shown))})"
