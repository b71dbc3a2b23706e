"""Wrong solutions, derived from the right one: each must fail at least one check of its requirement.

For every value that a requirement states: a number one more and one less, every other choice, and for a comparison
every other operator. Names, defaults, orders, roundings, errors and return keys are such values, so a wrong one of
each comes out of the same rule. For a value that a later wave amended, also those of the waves before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .task import Task
from .variants import Parameter, Value

OPERATORS = ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A solution in which one value of one requirement is wrong."""

    requirement: str
    parameter: str
    right: Value
    wrong: Value

    @property
    def id(self) -> str:
        """A name that is unique within a task."""
        return f"{self.requirement}:{self.parameter}:{self.right}->{self.wrong}"

    def files(self, task: Task) -> dict[str, bytes]:
        """The reference solution with the wrong value in it."""
        return task.with_parameters(**{self.parameter: self.wrong}).workspace_files(set(task.requirements))


def mutants(task: Task, requirement: str) -> Iterator[Mutant]:
    """All mutants of a requirement, in the order in which it states its values."""
    for name in task.parameters_of(requirement):
        right = task.parameters[name]
        earlier = [values[name] for values in task.earlier]
        for wrong in dict.fromkeys([*_wrong(task.definitions[name], right), *earlier]):
            if wrong != right:
                yield Mutant(requirement, name, right, wrong)


def _wrong(parameter: Parameter, right: Value) -> list[Value]:
    if isinstance(right, int):
        return [right - 1, right + 1]
    return list(OPERATORS if set(parameter.allowed) <= set(OPERATORS) else parameter.allowed)
