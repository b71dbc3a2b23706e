"""Budgets hold exactly, also when many calls go on at once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeover.sandbox.gateway.budget import Ask, Budget, Exhausted, Grant, Limits, Spent

CALL = Ask(tokens=100, floor=16, seconds=60.0)


def reserve(budget: Budget, ask: Ask = CALL) -> Grant:
    granted = budget.reserve(ask)
    assert isinstance(granted, Grant)
    return granted


@pytest.mark.parametrize(
    ("limits", "kind"),
    [
        (Limits(calls=3), "calls"),
        (Limits(tokens=30), "tokens"),
        (Limits(seconds=30), "seconds"),
        (Limits(cost=30), "cost"),
    ],
)
def test_each_kind_is_used_up(limits: Limits, kind: str) -> None:
    """After three calls of ten each, there is no fourth."""
    budget = Budget("trial", limits)
    for _ in range(3):
        reserve(budget, Ask(10, 10, 10.0, 0, 1)).settle(seconds=10, tokens=10, cost=10)

    assert budget.reserve(Ask(10, 10, 10.0, 0, 1)) == Exhausted("trial", kind)  # type: ignore[arg-type]


def test_a_grant_is_what_is_left() -> None:
    """A call gets fewer tokens rather than none, until not even a short answer fits."""
    budget = Budget("trial", Limits(tokens=120))
    reserve(budget).settle(seconds=1, tokens=70, cost=0)
    last = reserve(budget)
    last.settle(seconds=1, tokens=40, cost=0)

    assert last.tokens == 50
    assert budget.reserve(CALL) == Exhausted("trial", "tokens")
    assert budget.spent == Spent(2, 2, 110, 0, 0)


def test_dollars_bound_tokens() -> None:
    """What the prompt costs is set aside first; the rest says how much may be generated."""
    budget = Budget("trial", Limits(cost=1000))

    assert reserve(budget, Ask(100, 16, 1.0, 400, 10)).tokens == 60
    assert Budget("trial", Limits(cost=1000)).reserve(Ask(100, 16, 1.0, 900, 10)) == Exhausted("trial", "cost")


def test_unknown_use_keeps_what_was_set_aside() -> None:
    """A call of which nobody knows what it used counts as the most that it could."""
    budget = Budget("trial", Limits(tokens=150))
    reserve(budget).settle(seconds=1, tokens=None, cost=None)

    assert budget.spent == Spent(1, 1, 100, 0, 100)
    assert reserve(budget).tokens == 50


def test_a_call_that_failed_gives_all_back() -> None:
    """It took time and nothing else; settling again changes nothing."""
    budget = Budget("trial", Limits(calls=1, tokens=100))
    grant = reserve(budget)
    grant.release(2.0)
    grant.settle(seconds=9, tokens=99, cost=9)

    assert budget.spent == Spent(seconds=2.0)
    assert reserve(budget).tokens == 100


def test_the_run_holds_its_trials() -> None:
    """A trial within its own budget is stopped by the run's, which counts all trials."""
    run = Budget("run", Limits(tokens=150))
    one, other = Budget("trial", Limits(tokens=100), within=run), Budget("trial", Limits(tokens=100), within=run)
    reserve(one).settle(seconds=0, tokens=100, cost=0)

    assert reserve(other).tokens == 50
    assert one.reserve(CALL) == Exhausted("trial", "tokens")
    assert run.spent.tokens == 100


def test_a_run_that_goes_on_has_spent_what_it_had() -> None:
    """Resuming does not fill a budget up."""
    budget = Budget("run", Limits(calls=2), spent=Spent(**Spent(calls=2).to_json()))

    assert budget.reserve(CALL) == Exhausted("run", "calls")


def test_a_call_waits_for_others_rather_than_being_refused() -> None:
    """What does not fit only because of what others have set aside fits when they are done."""
    budget = Budget("trial", Limits(tokens=120))
    first = reserve(budget)
    got: list[Grant | Exhausted] = []
    waiting = threading.Thread(target=lambda: got.append(budget.reserve(CALL)))
    waiting.start()
    time.sleep(0.05)
    assert got == []
    first.settle(seconds=0, tokens=20, cost=0)
    waiting.join(5)

    assert [one.tokens for one in got if isinstance(one, Grant)] == [100]


def test_who_is_gone_does_not_wait() -> None:
    """An agent that hung up sets nothing aside."""
    budget = Budget("trial", Limits(calls=1))
    reserve(budget)

    assert isinstance(budget.reserve(CALL, lambda: True), Exhausted)


@given(
    limit=st.integers(0, 400),
    uses=st.lists(st.tuples(st.integers(1, 100), st.floats(0, 1)), max_size=20),
)
def test_no_budget_is_overrun(limit: int, uses: list[tuple[int, float]]) -> None:
    """Whatever calls ask for and use, a provider that keeps to the cap cannot overrun the budget."""
    budget = Budget("trial", Limits(tokens=limit))
    for most, share in uses:
        granted = budget.reserve(Ask(most, 1, 1.0))
        if isinstance(granted, Grant):
            granted.settle(seconds=0, tokens=int(granted.tokens * share), cost=None)

    assert budget.spent.tokens <= limit


def test_no_budget_is_overrun_at_once() -> None:
    """Eight threads share a budget of 50 calls and 3,000 tokens: neither is overrun, and the calls are all used."""
    run = Budget("run", Limits(calls=50, tokens=3000))

    def work(number: int) -> int:
        trial, made = Budget("trial", Limits(), within=run), 0
        while isinstance(granted := trial.reserve(Ask(100, 1, 1.0)), Grant):
            granted.settle(seconds=0, tokens=(number * 7 + made) % 60, cost=None)
            made += 1
        return made

    with ThreadPoolExecutor(8) as pool:
        made = sum(pool.map(work, range(8)))

    assert made == run.spent.calls == 50
    assert run.spent.tokens <= 3000


def test_what_was_spent_before_is_the_trials_alone() -> None:
    """A session that is used again takes from the trial's budget; the run's has had it already."""
    run = Budget("run", Limits(calls=10), spent=Spent(calls=3))
    trial = Budget("trial", Limits(calls=4), within=run)
    trial.had(Spent(calls=3, tokens=5))
    assert (trial.spent, run.spent) == (Spent(calls=3, tokens=5), Spent(calls=3))
    first = trial.reserve(Ask(1, 1, 1.0))
    assert isinstance(first, Grant)
    first.settle(seconds=0.5, tokens=1, cost=0)
    assert first.used == Spent(1, 0.5, 1, 0, 0)
    assert trial.reserve(Ask(1, 1, 1.0)) == Exhausted("trial", "calls")
    assert run.spent.calls == 4
