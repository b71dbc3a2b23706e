"""Budgets: so many calls, seconds, generated tokens and dollars, for a trial and for the whole run.

Before a call the most that it can use is set aside, after it what it did use is taken off. A call whose use is not
known keeps what was set aside. So no budget is overrun, however many calls go on at once.
A call that does not fit only because others have set something aside waits until they are done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

Kind = Literal["calls", "seconds", "tokens", "cost"]
_POLL: Final = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """None is no limit. `tokens` are generated ones, `cost` is in billionths of a dollar (`prices.dollars`)."""

    calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost: int | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used. `kept` is how much of `tokens` was set aside for calls whose use never became known."""

    calls: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost: int = 0
    kept: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            self.seconds + other.seconds,
            self.tokens + other.tokens,
            self.cost + other.cost,
            self.kept + other.kept,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data, for the run's folder: a run that goes on must not get its budget anew."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Ask:
    """The most that a call can use. Below `floor` generated tokens it is not worth making."""

    tokens: int
    floor: int
    seconds: float
    cost_fixed: int = 0
    cost_token: int = 0


@dataclass(frozen=True, slots=True)
class Exhausted:
    """Which budget does not allow the call."""

    budget: str
    kind: Kind


class Budget:
    """One budget. `within` is the larger one that it is a part of; a call must fit into both."""

    def __init__(self, name: str, limits: Limits, *, within: Budget | None = None, spent: Spent | None = None) -> None:
        self.name = name
        self.limits = limits
        self._within = within
        self._spent = spent or Spent()
        self._aside = Spent()
        self._changed: threading.Condition = within._changed if within is not None else threading.Condition()

    @property
    def spent(self) -> Spent:
        """What was used so far."""
        with self._changed:
            return self._spent

    def had(self, spent: Spent) -> None:
        """This was spent before, and the larger budgets know it already."""
        with self._changed:
            self._spent += spent

    @property
    def bounds_tokens(self) -> bool:
        """Whether generated tokens are limited, by their number or by their price."""
        return any(level.limits.tokens is not None or level.limits.cost is not None for level in self._levels())

    @property
    def bounds_seconds(self) -> bool:
        """Whether the time of calls is limited."""
        return any(level.limits.seconds is not None for level in self._levels())

    @property
    def bounds_cost(self) -> bool:
        """Whether the cost is limited, so that every model needs a price."""
        return any(level.limits.cost is not None for level in self._levels())

    def reserve(self, ask: Ask, gone: Callable[[], bool] = lambda: False) -> Grant | Exhausted:
        """Set aside what a call can use; it may be granted fewer tokens and seconds than asked for."""
        with self._changed:
            while True:
                found = self._fit(ask)
                if isinstance(found, Grant):
                    for level in self._levels():
                        level._aside += found.aside
                    return found
                if isinstance(found, Exhausted):
                    return found
                if gone():
                    return Exhausted(self.name, "calls")
                self._changed.wait(_POLL)

    def _levels(self) -> list[Budget]:
        return [self, *(self._within._levels() if self._within is not None else [])]

    def _fit(self, ask: Ask) -> Grant | Exhausted | None:
        """The grant; None if it has to wait for others."""
        tokens, seconds, wait = ask.tokens, ask.seconds, False
        for level in self._levels():
            limits, spent, aside = level.limits, level._spent, level._aside
            if limits.calls is not None:
                if limits.calls - spent.calls < 1:
                    return Exhausted(level.name, "calls")
                wait = wait or limits.calls - spent.calls - aside.calls < 1
            if limits.seconds is not None:
                left = limits.seconds - spent.seconds
                if left <= 0:
                    return Exhausted(level.name, "seconds")
                wait = wait or (aside.calls > 0 and left - aside.seconds < ask.seconds)
                seconds = min(seconds, left - aside.seconds)
            if limits.tokens is not None:
                more = limits.tokens - spent.tokens
                if more < ask.floor:
                    return Exhausted(level.name, "tokens")
                wait = wait or (aside.calls > 0 and more - aside.tokens < ask.tokens)
                tokens = min(tokens, more - aside.tokens)
            if limits.cost is not None:
                money = limits.cost - spent.cost - ask.cost_fixed
                if money < ask.floor * ask.cost_token or money < 0:
                    return Exhausted(level.name, "cost")
                if ask.cost_token:
                    wait = wait or (aside.calls > 0 and (money - aside.cost) // ask.cost_token < ask.tokens)
                    tokens = min(tokens, (money - aside.cost) // ask.cost_token)
        if wait:
            return None
        return Grant(self, Spent(1, seconds, tokens, ask.cost_fixed + tokens * ask.cost_token))

    def _settle(self, aside: Spent, used: Spent) -> None:
        with self._changed:
            for level in self._levels():
                level._aside = _less(level._aside, aside)
                level._spent += used
            self._changed.notify_all()


class Grant:
    """What was set aside for one call; settle it once, whatever became of the call."""

    def __init__(self, budget: Budget, aside: Spent) -> None:
        self.aside = aside
        self.used = Spent()
        self._budget = budget
        self._open = True

    @property
    def tokens(self) -> int:
        """How many tokens the call may generate."""
        return self.aside.tokens

    @property
    def seconds(self) -> float:
        """How long it may take."""
        return self.aside.seconds

    def settle(self, *, seconds: float, tokens: int | None, cost: int | None) -> None:
        """The call is over and used this; None, where it is not known, keeps what was set aside."""
        kept = self.aside.tokens if tokens is None else 0
        used = Spent(
            1,
            seconds,
            self.aside.tokens if tokens is None else tokens,
            self.aside.cost if cost is None else cost,
            kept,
        )
        self._finish(used)

    def release(self, seconds: float = 0.0) -> None:
        """The call was refused or never arrived: it took time and nothing else."""
        self._finish(Spent(seconds=seconds))

    def _finish(self, used: Spent) -> None:
        if self._open:
            self._open, self.used = False, used
            self._budget._settle(self.aside, used)


def unlimited(name: str = "trial") -> Budget:
    """A budget that only counts."""
    return Budget(name, Limits())


def _less(one: Spent, other: Spent) -> Spent:
    return replace(
        one,
        calls=one.calls - other.calls,
        seconds=max(0.0, one.seconds - other.seconds),
        tokens=one.tokens - other.tokens,
        cost=one.cost - other.cost,
    )
