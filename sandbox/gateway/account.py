"""What a session's calls amounted to: turns, tokens (billed and counted kept apart), failures, and what was odd."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from ..transcript.model import Metrics

_FINDINGS: Final = 200
_ISSUED: Final = 20_000


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts: `prompt` is all input, `cached` the part of it that came from a cache."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        """Input and output."""
        return self.prompt + self.completion

    def plus(self, metrics: Metrics | None) -> Tokens:
        """With those of one more call; what is not known adds nothing."""
        if metrics is None:
            return self
        return Tokens(
            self.prompt + (metrics.prompt_tokens or 0),
            self.completion + (metrics.completion_tokens or 0),
            self.cached + (metrics.cached_tokens or 0),
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a reader of the run should know, and how often it happened."""

    kind: str
    detail: str
    count: int


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of a session.

    `counted` are the tokens of the answers that the agent got; `billed` are those of all attempts. Where an answer's
    usage is not known, `unmetered` counts it and no total may be made of `counted`; `billed_unknown` counts attempts
    that may have been billed for more than is known.
    """

    turns: int = 0
    answers: int = 0
    failures: int = 0
    counted: Tokens = Tokens()
    billed: Tokens = Tokens()
    unmetered: int = 0
    billed_unknown: int = 0
    cost: int | None = 0
    ended_on_failure: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass
class Account:
    """Collects; several threads may share it."""

    _totals: dict[str, Any] = field(
        default_factory=lambda: asdict(Totals()) | {"counted": Tokens(), "billed": Tokens()}
    )
    _findings: OrderedDict[tuple[str, str], int] = field(default_factory=OrderedDict)
    _issued: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _in_a_row: int = 0
    _asked: int = 0
    _left: list[bool] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, metrics: Metrics | None, cost: int | None, *, is_turn: bool, answer_id: str | None) -> None:
        """The agent got a whole answer; `metrics` is None where its usage is not known."""
        with self._lock:
            sums = self._totals
            sums["answers"] += 1
            sums["turns"] += is_turn
            sums["counted"] = sums["counted"].plus(metrics)
            sums["billed"] = sums["billed"].plus(metrics)
            sums["unmetered"] += metrics is None
            sums["billed_unknown"] += metrics is None
            self._add_cost(cost)
            sums["ended_on_failure"] = False
            self._in_a_row = 0
            if answer_id is not None:
                self._issued[answer_id] = None
                if len(self._issued) > _ISSUED:
                    self._issued.popitem(last=False)

    def asked(self) -> None:
        """The agent asks for a turn. So what it had hung up on, and had part of, it has had enough of: that was a turn."""
        with self._lock:
            self._asked += 1
            for used in self._left:
                self._went_on(used)
            self._left.clear()

    @property
    def turns_asked(self) -> int:
        """How many turns the agent has asked for."""
        with self._lock:
            return self._asked

    def failed(
        self,
        metrics: Metrics | None,
        *,
        billed: bool,
        by_provider: bool = True,
        used: bool = False,
        left_at: int | None = None,
    ) -> None:
        """An attempt gave no whole answer; `metrics` is what it is known to have used all the same.

        `used`: the agent went on with what it got of it, so that its tokens should count and are not known.
        `left_at`: it got part of a turn and hung up, when it had asked for so many turns.
        """
        with self._lock:
            sums = self._totals
            sums["failures"] += 1
            sums["billed"] = sums["billed"].plus(metrics)
            sums["billed_unknown"] += billed
            sums["unmetered"] += used
            if left_at is not None and left_at < self._asked:
                self._went_on(used)
            elif left_at is not None:
                self._left.append(used)
            if billed:
                self._add_cost(None)
            if by_provider:
                sums["ended_on_failure"] = True
                self._in_a_row += 1

    def find(self, kind: str, detail: str) -> None:
        """Note something; the same again only counts."""
        with self._lock:
            key = kind, detail[:500]
            if key in self._findings or len(self._findings) < _FINDINGS:
                self._findings[key] = self._findings.get(key, 0) + 1

    def issued(self, answer_id: str) -> bool:
        """Whether an answer of this session had this id."""
        with self._lock:
            return answer_id in self._issued

    @property
    def failures_in_a_row(self) -> int:
        """Failed attempts since the last answer."""
        with self._lock:
            return self._in_a_row

    @property
    def totals(self) -> Totals:
        """The sums so far."""
        with self._lock:
            return Totals(**self._totals)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was noted, in the order in which it first happened."""
        with self._lock:
            return tuple(Finding(kind, detail, count) for (kind, detail), count in self._findings.items())

    def _went_on(self, used: bool) -> None:
        self._totals["turns"] += 1
        self._totals["unmetered"] += not used

    def _add_cost(self, cost: int | None) -> None:
        before = self._totals["cost"]
        self._totals["cost"] = None if before is None or cost is None else before + cost
