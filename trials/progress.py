"""What a person sees while long work goes on: a bar on a terminal, a line for each piece of work elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from .trial import Outcome


class ConsoleProgress:
    """Progress on standard error, so that standard output holds the results alone."""

    def __init__(self, console: Console, planned: int, what: str = "trials") -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal or console.is_dumb_terminal,
            # What is written to standard output stays there, though a bar may be on the terminal.
            redirect_stdout=False,
        )
        self._task = self._bar.add_task(what, total=planned)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def note(self, text: str) -> None:
        """Something that a person should know."""
        self._console.print(escape(text), highlight=False, soft_wrap=True)

    def result(self, text: str, out: Console, *, style: str | None = None) -> None:
        """One piece of work is done, and `text` is what came of it: for `out`, or above the bar on the same terminal."""
        self._bar.advance(self._task)
        shown = self._console if out.is_terminal and not self._bar.disable else out
        shown.print(Text(text, style=style or ""), highlight=False, soft_wrap=True)

    def kept(self, count: int) -> None:
        """How many trials the folder held already."""
        self._bar.update(self._task, completed=count)
        if count:
            self.note(f"{count} trials are recorded already and kept")

    def finished(self, outcome: Outcome) -> None:
        """One trial is over."""
        self._bar.advance(self._task)
        self.note(f"{outcome.name}: {verdict(outcome)} ({outcome.seconds:.1f} s)")


def verdict(outcome: Outcome) -> str:
    """The outcome of a trial in a few words."""
    card = outcome.scorecard
    if card.failure is not None:
        return f"{card.outcome.replace('_', ' ')}: {card.failure.message}"
    if card.retention is None:
        return card.outcome
    raw = card.retention.raw
    return f"raw {raw.passed}/{raw.total}, net {card.retention.net}/{raw.total}"
