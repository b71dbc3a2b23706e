"""What an import says about itself: which format it found, and what of it is not in the transcript."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

MAX_WARNINGS = 50

Kind = Literal[
    "attempt", "branch", "compaction", "cut_output", "demo", "duplicate", "event", "hidden_reasoning",
    "item", "media", "side_chain", "superseded_call", "torn_line", "usage",
]  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Dropped:
    """`count` things of one kind that the source has and the transcript has not."""

    kind: Kind
    count: int
    note: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """How a transcript came to be: `format` and `version` as found, what was left out, what looked odd."""

    source: str
    format: str
    version: str | None
    dropped: tuple[Dropped, ...]
    warnings: tuple[str, ...]


@dataclass
class Tally:
    """Collects for the report while an import runs; bounded however often something recurs."""

    counts: dict[tuple[Kind, str], int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unsaid: int = 0

    def drop(self, kind: Kind, note: str, count: int = 1) -> None:
        """Count something left out; the note says why, in the same words each time."""
        if count > 0:
            self.counts[kind, note] = self.counts.get((kind, note), 0) + count

    def warn(self, text: str) -> None:
        """Note something odd, once."""
        if text in self.warnings:
            return
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(text)
        else:
            self.unsaid += 1

    def report(self, source: str, format_name: str, version: str | None) -> ImportReport:
        """The report, sorted so that the same input gives the same report."""
        dropped = tuple(sorted(Dropped(kind, count, note) for (kind, note), count in self.counts.items()))
        more = (f"and {self.unsaid} more",) if self.unsaid else ()
        return ImportReport(source, format_name, version, dropped, (*self.warnings, *more))
