"""The fakes that other rooms test with are asked in exactly the same way as the real sandbox."""

from __future__ import annotations

import inspect

import pytest
from fakes import FakeEngine, FakeProcess, FakeSandbox

from takeover.sandbox.engine import DockerEngine, Engine
from takeover.sandbox.limits import Limits
from takeover.sandbox.sandbox import Process, Sandbox
from takeover.sandbox.wiresandbox import WireProcess, WireSandbox

PAIRS = [(Engine, DockerEngine), (Engine, FakeEngine), (Sandbox, WireSandbox), (Sandbox, FakeSandbox)]
PAIRS += [(Process, WireProcess), (Process, FakeProcess)]


@pytest.mark.parametrize(("protocol", "made"), PAIRS, ids=lambda kind: kind.__name__)
def test_every_method_takes_the_same_arguments(protocol: type, made: type) -> None:
    """Names and kinds of parameters are those of the protocol."""
    for name, method in vars(protocol).items():
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        asked = [(p.name, p.kind) for p in inspect.signature(method).parameters.values()]
        taken = [(p.name, p.kind) for p in inspect.signature(inspect.unwrap(getattr(made, name))).parameters.values()]
        assert taken == asked, name


def test_a_fake_engine_counts_what_is_open() -> None:
    """So that tests can see whether everything was closed."""
    engine = FakeEngine()
    with engine.open("sandbox", limits=Limits(), labels={"a": "b"}) as box:
        box.write("x", b"1")
        assert engine.alive == 1
        assert box.run(["x"]).ok

    assert engine.alive == 0
    assert engine.labels == [{"a": "b"}]
