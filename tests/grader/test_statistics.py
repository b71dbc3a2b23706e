"""Intervals: properties that any right implementation has, and a few known values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeover.grader.statistics import paired_cluster_bootstrap, wilson

SHARES = st.integers(1, 2000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))
PAIRS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40)


# Newcombe (1998), table I, method 3.
KNOWN = [
    ((81, 263), (0.2553, 0.3662)),
    ((15, 148), (0.0624, 0.1605)),
    ((0, 20), (0.0, 0.1611)),
    ((1, 29), (0.0061, 0.1718)),
]


@pytest.mark.parametrize(("share", "bounds"), KNOWN)
def test_wilson_gives_published_values(share: tuple[int, int], bounds: tuple[float, float]) -> None:
    """To four digits."""
    found = wilson(*share)

    assert (round(found.low, 4), round(found.high, 4)) == bounds


@given(SHARES, st.floats(0.5, 0.999))
def test_wilson_holds_its_estimate(share: tuple[int, int], level: float) -> None:
    """0 <= low <= estimate <= high <= 1, and the mirror image is the interval of the other share."""
    passed, total = share
    found, mirror = wilson(passed, total, level=level), wilson(total - passed, total, level=level)

    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert math.isclose(found.low, 1 - mirror.high, abs_tol=1e-9)


@given(SHARES)
def test_wilson_narrows_with_more_trials(share: tuple[int, int]) -> None:
    """Ten times as many trials of one share are surer."""
    passed, total = share
    few, many = wilson(passed, total), wilson(10 * passed, 10 * total)

    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize("share", [(0, 0), (-1, 5), (6, 5)])
def test_wilson_refuses_what_is_no_share(share: tuple[int, int]) -> None:
    """Nothing of nothing has no interval."""
    with pytest.raises(ValueError, match="not a share"):
        wilson(*share)


@given(PAIRS)
@settings(max_examples=60, deadline=None)
def test_the_bootstrap_holds_its_estimate(pairs: list[tuple[float, float]]) -> None:
    """The interval lies within what the differences span; the other way round it is mirrored."""
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = paired_cluster_bootstrap(first, second, resamples=500)
    mirror = paired_cluster_bootstrap(second, first, resamples=500)
    differences = [a - b for a, b in pairs]

    assert min(differences) - 1e-9 <= found.low <= found.high <= max(differences) + 1e-9
    assert math.isclose(found.estimate, float(np.mean(differences)), abs_tol=1e-9)
    assert math.isclose(found.low, -mirror.high, abs_tol=1e-9)


@given(PAIRS, st.floats(-2, 2))
@settings(max_examples=60, deadline=None)
def test_the_bootstrap_moves_with_its_data(pairs: list[tuple[float, float]], shift: float) -> None:
    """A constant added to one side moves the interval by as much; a constant difference has no width."""
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = paired_cluster_bootstrap(first, second, resamples=300)
    moved = paired_cluster_bootstrap([a + shift for a in first], second, resamples=300)
    alike = paired_cluster_bootstrap([b + shift for b in second], second, resamples=300)

    assert math.isclose(moved.low, found.low + shift, abs_tol=1e-6)
    assert math.isclose(alike.low, alike.high, abs_tol=1e-9)


def test_the_bootstrap_is_repeatable() -> None:
    """One seed, one interval; another seed, nearly the same one."""
    random = np.random.default_rng(7)
    first, second = random.random(200).tolist(), random.random(200).tolist()
    found = paired_cluster_bootstrap(first, second)

    assert paired_cluster_bootstrap(first, second) == found
    assert abs(paired_cluster_bootstrap(first, second, seed=1).low - found.low) < 0.01


def test_clusters_are_drawn_whole() -> None:
    """Pairs that always agree within their cluster tell no more than one pair of it, and the interval says so."""
    random = np.random.default_rng(7)
    by_cluster = random.normal(size=20)
    first = np.repeat(by_cluster, 10).tolist()
    labels = [f"c{n // 10}" for n in range(200)]
    zero = [0.0] * 200
    apart = paired_cluster_bootstrap(first, zero)
    together = paired_cluster_bootstrap(first, zero, labels)
    once = paired_cluster_bootstrap(by_cluster.tolist(), [0.0] * 20)

    assert together.high - together.low > 2.5 * (apart.high - apart.low)
    assert math.isclose(together.high - together.low, once.high - once.low, rel_tol=0.05)


def test_clusters_of_unequal_size_keep_the_mean() -> None:
    """The estimate is the mean over pairs, not over clusters."""
    found = paired_cluster_bootstrap([1, 0, 0, 0], [0, 0, 0, 0], ["a", "b", "b", "b"])

    assert (found.estimate, found.low, found.high) == (0.25, 0.0, 1.0)


def test_it_covers_the_truth_about_as_often_as_it_says() -> None:
    """Of 200 samples with a true difference of 0.1, about 95 % of the intervals hold it."""
    random = np.random.default_rng(11)
    held = 0
    for n in range(200):
        first = random.normal(0.1, 1, 60)
        found = paired_cluster_bootstrap(first.tolist(), [0.0] * 60, resamples=600, seed=n)
        held += found.low <= 0.1 <= found.high

    assert 0.88 <= held / 200 <= 0.99


@pytest.mark.parametrize(
    ("first", "second", "clusters"), [([], [], None), ([1], [1, 2], None), ([1, 2], [1, 2], ["a"])]
)
def test_the_bootstrap_refuses_what_is_not_paired(first: list[float], second: list[float], clusters: object) -> None:
    """Lengths must agree."""
    with pytest.raises(ValueError, match=r"needed|cluster|broadcast"):
        paired_cluster_bootstrap(first, second, clusters)  # type: ignore[arg-type]
