"""Parameters and their draws."""

from __future__ import annotations

import pytest

from takeover.sandbox.errors import InputError
from takeover.tiers.variants import Constraint, Parameter, check_seed, draw

PARAMETERS = [Parameter("a", 3, range(1, 9)), Parameter("b", 5, range(1, 9)), Parameter("op", ">", (">", ">="))]


def test_variant_zero_is_the_published_one() -> None:
    """It holds the defaults."""
    assert draw("t", "0", PARAMETERS) == {"a": 3, "b": 5, "op": ">"}


def test_same_seed_same_values() -> None:
    """A pinned draw: it must never change, or recorded runs of a variant could not be repeated."""
    assert draw("t", "42", PARAMETERS) == draw("t", "42", PARAMETERS) == {"a": 3, "b": 7, "op": ">"}


def test_seeds_tasks_and_names_differ() -> None:
    """Each of the three takes part in the draw."""
    one = Parameter("x", 0, range(1 << 60))
    drawn = {draw(task, seed, [one])["x"] for task in ("t", "u") for seed in ("1", "2")}
    assert len(drawn | {draw("t", "1", [Parameter("y", 0, range(1 << 60))])["y"]}) == 5


def test_a_new_parameter_leaves_the_others() -> None:
    """Adding a parameter to a task changes no other value of any variant."""
    assert draw("t", "5", PARAMETERS) == {
        k: v for k, v in draw("t", "5", [*PARAMETERS, Parameter("z", 1, (1, 2))]).items() if k != "z"
    }


@pytest.mark.parametrize("seed", [str(number) for number in range(40)])
def test_constraints_hold_in_every_variant(seed: str) -> None:
    """Names in a constraint are drawn until it holds."""
    values = draw("t", seed, PARAMETERS, [Constraint("distinct", ("a", "b")), Constraint("ascending", ("a", "b"))])
    assert int(values["a"]) < int(values["b"])


def test_constraints_that_cannot_hold_are_an_error() -> None:
    """No endless search."""
    same = [Parameter("a", 1, (1, 1)), Parameter("b", 1, (1, 1))]
    with pytest.raises(InputError, match="variant 1 of t: 1000 draws did not meet its constraints"):
        draw("t", "1", same, [Constraint("distinct", ("a", "b"))])


@pytest.mark.parametrize("seed", ["", "a b", "../x", "ä", "x" * 33, "a\n", "@1"])
def test_seeds_fit_into_file_names(seed: str) -> None:
    """Anything else is refused."""
    with pytest.raises(InputError, match="not a seed"):
        check_seed(seed)


def test_numbers_are_seeds() -> None:
    """0 and "0" are the same variant."""
    assert check_seed(0) == "0"
