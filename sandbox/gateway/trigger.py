"""The cutoff rules that only the gateway can keep: `turns:N` and `tokens:N`.

They fall at the request that follows: the N-th turn is whole, what it called has run, and no further model call is
made. So a rule always cuts at the same place, and never between a tool call and its effect.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from ..cutoff import CutoffRule
from .account import Totals


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule that has fallen, and where the counts were. `exact` is false where tokens are not all known."""

    rule: str
    turns: int
    tokens: int
    exact: bool


class Trigger:
    """Watches one rule. With `armed`, counting starts when `arm` is called."""

    def __init__(self, rule: CutoffRule | None) -> None:
        self._rule = rule if rule is not None and rule.rule in ("turns", "tokens") else None
        self._lock = threading.Lock()
        self._armed = self._rule is not None and self._rule.armed is None
        self._from = Totals()
        self._fired = False

    def arm(self, totals: Totals) -> None:
        """The event that the rule waited for has happened."""
        with self._lock:
            if self._rule is not None and not self._armed:
                self._armed, self._from = True, totals

    def waits(self, totals: Totals, under_way: int) -> bool:
        """Whether it shows only when some of the turns under way are over if one more would come too late."""
        with self._lock:
            if self._rule is None or not self._armed or self._fired or not under_way:
                return False
            # How many tokens an answer takes is known at its end.
            return self._rule.rule == "tokens" or totals.turns - self._from.turns + under_way >= (self._rule.n or 1)

    def due(self, totals: Totals) -> Fired | None:
        """Whether the session ends before the next turn; said once."""
        with self._lock:
            if self._rule is None or not self._armed or self._fired:
                return None
            turns = totals.turns - self._from.turns
            tokens = totals.billed.total - self._from.billed.total
            reached = turns if self._rule.rule == "turns" else tokens
            if reached < (self._rule.n or 1):
                return None
            self._fired = True
            exact = self._rule.rule == "turns" or totals.billed_unknown == self._from.billed_unknown
            return Fired(self._rule.text, turns, tokens, exact)
