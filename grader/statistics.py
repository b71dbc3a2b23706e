"""How sure a number is: an interval for a share, and one for the difference between two conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RESAMPLES = 20_000
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Interval:
    """An estimate with its bounds at the confidence `level`."""

    estimate: float
    low: float
    high: float
    level: float = 0.95


def wilson(passed: int, total: int, *, level: float = 0.95) -> Interval:
    """Wilson's interval for a share; it stays within 0 and 1 and makes sense for few trials and for none failed."""
    if not 0 <= passed <= total or total == 0:
        raise ValueError(f"{passed} of {total} is not a share")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = passed / total
    centre = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return Interval(share, max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share)), level)


def paired_cluster_bootstrap(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[object] | None = None,
    *,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The mean of first - second over paired tasks, with a percentile interval.

    Whole clusters (say, tasks from one source) are drawn together; without `clusters` each pair is its own. The same
    seed gives the same interval.
    """
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if differences.ndim != 1 or len(first) != len(second) or len(differences) == 0:
        raise ValueError("two sequences of one length, and not empty, are needed")
    sums: Floats = differences
    sizes: Floats = np.ones(len(differences))
    if clusters is not None:
        if len(clusters) != len(differences):
            raise ValueError("every pair needs its cluster")
        index: dict[object, int] = {}
        labels = np.array([index.setdefault(label, len(index)) for label in clusters])
        sums = np.bincount(labels, weights=differences).astype(np.float64)
        sizes = np.bincount(labels).astype(np.float64)
    means = _resampled_means(sums, sizes, resamples, np.random.default_rng(seed))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(differences.mean()), float(low), float(high), level)


def _resampled_means(sums: Floats, sizes: Floats, resamples: int, random: np.random.Generator) -> Floats:
    """The mean of each resample of clusters, in pieces that fit into memory."""
    count = len(sums)
    means = np.empty(resamples)
    step = max(1, _CHUNK // count)
    alike = bool(np.all(sizes == sizes[0]))
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        drawn = random.integers(0, count, size=(stop - start, count), dtype=np.int32)
        total = sums[drawn].sum(axis=1)
        means[start:stop] = total / (count * sizes[0] if alike else sizes[drawn].sum(axis=1))
    return means
