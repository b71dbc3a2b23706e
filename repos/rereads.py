"""How much of what a session had looked at before the cutoff the next ones look at again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
    seen: dict[str, set[int]] = {}
    whole: set[str] = set()
    for span in before:
        _mark(span, lengths, seen, whole)
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
            old = len(shown) if span.path in whole else len(seen.get(span.path, set()).intersection(shown))
            again, lines = old > 0, lines + old
        repeated += again
    return Rereads(views, repeated, lines if known else None)


def session_rereads(sessions: Sequence[Sequence[Span]], lengths: Mapping[str, int]) -> Rereads | None:
    """Of the first session's looks by all later ones; None with fewer than two transcripts."""
    if len(sessions) < 2:
        return None
    return rereads(sessions[0], [span for later in sessions[1:] for span in later], lengths)


def _mark(span: Span, lengths: Mapping[str, int], seen: dict[str, set[int]], whole: set[str]) -> None:
    if span.kind != "view":
        return
    shown = _lines(span, lengths)
    if shown is None:
        whole.add(span.path)
    else:
        seen.setdefault(span.path, set()).update(shown)


def _lines(span: Span, lengths: Mapping[str, int]) -> range | None:
    last = span.end if span.end is not None else lengths.get(span.path)
    if last is None:
        return None
    return range(span.start or 1, min(last, lengths.get(span.path, last)) + 1)
