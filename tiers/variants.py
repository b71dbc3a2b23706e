"""Parameters of a task and how a seed draws them.

Variant 0 is the published one: every parameter at its default.
Any other seed gives each parameter an independent draw from a hash of task, seed and name,
so the same seed means the same task on every machine, and a new parameter leaves the others as they were.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ..sandbox.errors import InputError

Value = int | str
Values = dict[str, Value]

PUBLISHED = "0"
ATTEMPTS = 1000


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing a requirement fixes: all values it may take, and how they read in prose and in source.

    `vocabulary` says that its values are words of the code base, which the baseline may hold. `amended` holds, by
    wave, the published value that a later wave gives it.
    """

    name: str
    default: Value
    allowed: Sequence[Value]
    words: Mapping[str, str] | None = None
    code: Mapping[str, str] | None = None
    vocabulary: bool = False
    amended: Mapping[int, Value] = field(default_factory=dict)

    @property
    def spec(self) -> dict[str, object]:
        """What a template needs to know of it; holds no value, so it may be shown to a scripted agent."""
        kind = "int" if isinstance(self.default, int) else "str"
        return {"kind": kind, "words": dict(self.words or {}), "code": dict(self.code or {})}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A relation that every variant keeps between some parameters.

    All `distinct`; strictly `ascending`; or `fresh`: not all of them as in `published`.
    """

    kind: str
    names: tuple[str, ...]
    published: tuple[Value, ...] = ()

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Whether the values keep it."""
        given = [values[name] for name in self.names]
        if self.kind == "fresh":
            return tuple(given) != self.published
        if self.kind == "distinct":
            return len(set(given)) == len(given)
        numbers = [value for value in given if isinstance(value, int)]
        return len(numbers) == len(given) and all(a < b for a, b in pairwise(numbers))

    def __str__(self) -> str:
        return f"{self.kind}: {', '.join(self.names)}"


def check_seed(seed: int | str) -> str:
    """The seed in its one spelling; InputError if it could not stand in a file name."""
    text = str(seed)
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", text):
        raise InputError(f"--variant {text!r}: not a seed", hint="Use 1 to 32 letters, digits, '-' or '_'.")
    return text


def draw(task: str, seed: str, parameters: Sequence[Parameter], constraints: Sequence[Constraint] = ()) -> Values:
    """The values of one variant. Names in a broken constraint are drawn again, all others stay."""
    if seed == PUBLISHED:
        return {parameter.name: parameter.default for parameter in parameters}
    values = {parameter.name: _pick(task, seed, parameter, 0) for parameter in parameters}
    for attempt in range(1, ATTEMPTS):
        broken = {name for constraint in constraints if not constraint.holds(values) for name in constraint.names}
        if not broken:
            return values
        values.update({p.name: _pick(task, seed, p, attempt) for p in parameters if p.name in broken})
    raise InputError(
        f"variant {seed} of {task}: {ATTEMPTS} draws did not meet its constraints",
        hint="Widen the ranges of the parameters that the constraints name.",
    )


def draw_waves(
    task: str,
    seed: str,
    parameters: Sequence[Parameter],
    constraints: Sequence[Constraint],
    *,
    waves: int,
    groups: Sequence[Sequence[str]] = (),
) -> tuple[Values, ...]:
    """The values that are in force after each wave, the first wave's first.

    Each value of an amended parameter is a draw of its own, under a name of its own, and differs from those before.
    The constraints hold after every wave. Of each group of parameters at least one ends as another than the published.
    """
    by_name = {parameter.name: parameter for parameter in parameters}
    forms = [form for parameter in parameters for form in _forms(parameter)]
    rules = [
        replace(constraint, names=tuple(_form_at(by_name[name], wave) for name in constraint.names))
        for constraint in constraints
        for wave in range(1, waves + 1)
    ]
    rules += [Constraint("distinct", tuple(form.name for form in _forms(one))) for one in parameters if one.amended]
    published = {form.name: form.default for form in forms}
    for group in groups:
        last = tuple(_form_at(by_name[name], waves) for name in group)
        rules.append(Constraint("fresh", last, tuple(published[name] for name in last)))
    drawn = draw(task, seed, forms, list(dict.fromkeys(rules)))
    return tuple({one.name: drawn[_form_at(one, wave)] for one in parameters} for wave in range(1, waves + 1))


def _forms(parameter: Parameter) -> list[Parameter]:
    later = sorted(parameter.amended)
    return [
        parameter,
        *(replace(parameter, name=_form_at(parameter, wave), default=parameter.amended[wave]) for wave in later),
    ]


def _form_at(parameter: Parameter, wave: int) -> str:
    """What the value that is in force after a wave is drawn under."""
    last = max((given for given in parameter.amended if given <= wave), default=None)
    return parameter.name if last is None else f"{parameter.name}@{last}"


def _pick(task: str, seed: str, parameter: Parameter, attempt: int) -> Value:
    digest = hashlib.sha256(f"{task}|{seed}|{parameter.name}|{attempt}".encode()).digest()
    return parameter.allowed[int.from_bytes(digest, "big") % len(parameter.allowed)]
