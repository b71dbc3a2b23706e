"""Nominal prices: exact sums, releases of a model, long prompts, a table of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeover.sandbox.errors import InputError
from takeover.sandbox.gateway.prices import NANO, built_in, dollars, load_prices
from takeover.sandbox.transcript.model import Metrics


def test_cost_is_exact() -> None:
    """Fresh, cached, written and generated tokens have their own prices, in whole billionths."""
    price = built_in().price("claude-opus-5-5")
    assert price is not None
    metrics = Metrics(
        prompt_tokens=1_000_000,
        cached_tokens=500_000,
        completion_tokens=1_000,
        extra={"cache_creation_tokens": 100_000},
    )

    assert price.cost(metrics) == int((0.4 * 4 + 0.5 * 0.20 + 0.1 * 5 + 0.001 * 20) * NANO)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("gpt-4o", True),
        ("gpt-4o-2024-08-06", True),
        ("openai/gpt-4o", True),
        ("claude-haiku-4-5-20251001", True),
        ("models/gemini-2.5-pro-preview-05-06", True),
        ("gpt-4o-audio", False),
        ("gpt-4", False),
        ("scripted-1", False),
        ("", False),
    ],
)
def test_which_models_have_a_price(name: str, known: bool) -> None:
    """A dated release costs what its model costs; another model has no price rather than a wrong one."""
    assert (built_in().price(name) is not None) == known


def test_long_prompts_cost_more() -> None:
    """Beyond the threshold the whole call has the other rate, and bounds take the higher one."""
    price = built_in().price("gemini-2.5-pro")
    assert price is not None
    short, long = (
        Metrics(prompt_tokens=200_000, completion_tokens=0),
        Metrics(prompt_tokens=200_001, completion_tokens=0),
    )

    assert (price.cost(short), price.cost(long)) == (dollars("0.25"), 200_001 * 2500)
    assert price.highest().input == 2500


def test_no_call_costs_more_than_its_bound() -> None:
    """The highest rate bounds every kind of token of every model."""
    for name, price in built_in().models.items():
        most = price.highest()
        for rate in (price.rate, price.beyond or price.rate):
            assert max(rate.input, rate.cached, rate.write) <= most.input, name
            assert rate.output <= most.output, name


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    """Prices of a local or private model, in dollars per million tokens."""
    path = tmp_path / "prices.yaml"
    path.write_text(
        "version: mine\nmodels: {local: {input: 0.1, output: 0.4, long: {above: 10, input: 1, output: 2}}}\n"
    )
    table = load_prices(path)
    price = table.price("local")

    assert table.version == "mine"
    assert price is not None
    assert price.cost(Metrics(prompt_tokens=10, completion_tokens=1)) == 10 * 100 + 400


@pytest.mark.parametrize(
    "text",
    ["models: {}", "version: 1\nmodels: {a: {input: -1, output: 1}}", "[", "version: x\nmodels: {a: {inptu: 1}}"],
)
def test_a_wrong_table_is_refused(text: str, tmp_path: Path) -> None:
    """With its file and what is wrong."""
    path = tmp_path / "prices.yaml"
    path.write_text(text)

    with pytest.raises(InputError, match=r"prices\.yaml"):
        load_prices(path)
