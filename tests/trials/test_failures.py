"""The table of failures."""

from __future__ import annotations

from takeover.sandbox import errors
from takeover.sandbox.errors import FailureClass, MachineryError
from takeover.trials.failures import FAILURES


def _subclasses(kind: type) -> set[type]:
    return {kind, *(deeper for sub in kind.__subclasses__() for deeper in _subclasses(sub))}


def test_every_failure_has_a_row() -> None:
    """No failure class is without a policy, and no exception of the hierarchy without a class."""
    assert set(FAILURES) == set(FailureClass)
    assert {kind.failure for kind in _subclasses(MachineryError)} <= set(FAILURES)
    assert errors.InputError not in _subclasses(MachineryError)


def test_the_machinery_never_counts_against_an_agent() -> None:
    """A machinery failure is no result; what an agent brings about always is one and is not tried again."""
    assert not any(policy.counts for policy in FAILURES.values() if policy.side == "machinery")
    assert all(policy.counts and not policy.retry for policy in FAILURES.values() if policy.side == "agent")
    assert FAILURES[FailureClass.SANDBOX_OOM].side == "agent"
