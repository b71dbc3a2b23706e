"""The conformance list against the engine of this machine: the same list as `takeover doctor`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from takeover.sandbox.conformance import CHECKS, Check, bench_of, run_check, select
from takeover.sandbox.conformance.kit import Bench
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import InputError


@pytest.fixture(scope="module")
def bench(engine: DockerEngine, image: str) -> Iterator[Bench]:
    with bench_of(engine, image) as made:
        yield made
        left = made.containers()
        made.drop()
        assert len(left) <= 1
        assert made.containers() == set()


@pytest.mark.docker
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_the_engine_conforms(bench: Bench, check: Check) -> None:
    """Every check of the list holds."""
    result = run_check(bench, check)

    assert result.passed, result.evidence


def test_the_list_is_long_and_its_names_are_unique() -> None:
    """At least 44 checks, each with a name of its own and a claim that is a sentence."""
    assert len(CHECKS) >= 44
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.claim.endswith(".") for check in CHECKS)


def test_checks_are_chosen_by_name_or_group() -> None:
    """A full name is one check, the part before the dot a group; anything else is refused."""
    assert [check.name for check in select(["net.dns"])] == ["net.dns"]
    assert {check.name.partition(".")[0] for check in select(["net", "pid1"])} == {"net", "pid1"}
    assert select() == CHECKS
    with pytest.raises(InputError, match=r"net\.dsn"):
        select(["net.dsn"])
