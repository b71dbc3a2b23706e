"""How much of what a session had looked at before the cutoff the next ones look at again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..sandbox.transcript.spans import Span


@dataclass(frozen=True, slots=True)
class Rereads:
    """Looks of later sessions: how many there were, how many showed lines seen before, how many lines those are.

    `lines` is None where a repeated look has no known lines.
    """

    views: int
    repeated: int
    lines: int | None


def rereads(before: Iterable[Span], after: Iterable[Span], lengths: Mapping[str, int]) -> Rereads:
    """Counts the looks of `after` at what was seen in `before`; `lengths` are the lines of files at the cutoff.

    A look without known lines, or without an end, reaches to the end of its file.
    """
    marked: dict[str, list[range]] = {}
    whole: set[str] = set()
    for span in before:
        _mark(span, lengths, marked, whole)
    seen = {path: _Seen.of(shown) for path, shown in marked.items()}
    views, repeated, lines = 0, 0, 0
    known = True
    for span in after:
        if span.kind != "view":
            continue
        views += 1
        shown = _lines(span, lengths)
        if shown is None:
            again = span.path in whole or span.path in seen
            known = known and not again
        else:
            old = len(shown) if span.path in whole else seen.get(span.path, NOTHING).among(shown)
            again, lines = old > 0, lines + old
        repeated += again
    return Rereads(views, repeated, lines if known else None)


def session_rereads(sessions: Sequence[Sequence[Span]], lengths: Mapping[str, int]) -> Rereads | None:
    """Of the first session's looks by all later ones; None with fewer than two transcripts."""
    if len(sessions) < 2:
        return None
    return rereads(sessions[0], [span for later in sessions[1:] for span in later], lengths)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Lines of a file, as ranges that do not touch: nobody says how many lines a file that is gone had.

    `before` has how many lines all ranges before one have, and of all of them.
    """

    ranges: tuple[range, ...]
    before: tuple[int, ...]

    @classmethod
    def of(cls, shown: Iterable[range]) -> _Seen:
        """Those of all looks together."""
        found: list[range] = []
        for one in sorted(filter(None, shown), key=lambda one: one.start):
            if found and one.start <= found[-1].stop:
                found[-1] = range(found[-1].start, max(found[-1].stop, one.stop))
            else:
                found.append(one)
        return cls(tuple(found), (0, *accumulate(map(len, found))))

    def among(self, shown: range) -> int:
        """How many of these lines were seen."""
        return self._until(shown.stop) - self._until(shown.start) if shown else 0

    def _until(self, line: int) -> int:
        index = bisect_left(self.ranges, line, key=lambda one: one.start)
        beyond = max(0, self.ranges[index - 1].stop - line) if index else 0
        return self.before[index] - beyond


NOTHING = _Seen.of(())


def _mark(span: Span, lengths: Mapping[str, int], seen: dict[str, list[range]], whole: set[str]) -> None:
    if span.kind != "view":
        return
    shown = _lines(span, lengths)
    if shown is None:
        whole.add(span.path)
    else:
        seen.setdefault(span.path, []).append(shown)


def _lines(span: Span, lengths: Mapping[str, int]) -> range | None:
    last = span.end if span.end is not None else lengths.get(span.path)
    if last is None:
        return None
    return range(span.start or 1, min(last, lengths.get(span.path, last)) + 1)
