"""Nominal cost of a call, in whole billionths of a dollar: sums of them are exact."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import InputError
from ..transcript.building import validation_text
from ..transcript.model import Metrics
from ..transcript.reading import read_bytes
from .price_table import PRICES, VERSION

NANO: Final = 10**9
# A dated or numbered release of a model, or a preview of it, costs what the model costs.
_RELEASE: Final = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{3}|latest|(?:preview|exp)(?:-[\d-]+)?)")
_MAKER: Final = re.compile(r"(?:models|openai|anthropic|google|gemini|vertex_ai)/")


@dataclass(frozen=True, slots=True)
class Rate:
    """Billionths of a dollar for each token."""

    input: int
    cached: int
    write: int
    output: int


@dataclass(frozen=True, slots=True)
class Price:
    """A model's rate; beyond `above` tokens of input the other one holds for the whole call."""

    rate: Rate
    above: int | None = None
    beyond: Rate | None = None

    def cost(self, metrics: Metrics) -> int:
        """What a call cost. Anthropic's writes for an hour count as the shorter kind: the usage does not tell."""
        prompt = metrics.prompt_tokens or 0
        rate = self.beyond if self.beyond is not None and self.above is not None and prompt > self.above else self.rate
        cached = min(metrics.cached_tokens or 0, prompt)
        written = (metrics.extra or {}).get("cache_creation_tokens") or 0
        fresh = max(0, prompt - cached - written)
        spent = fresh * rate.input + cached * rate.cached + written * rate.write
        return spent + (metrics.completion_tokens or 0) * rate.output

    def highest(self) -> Rate:
        """What no token costs more than. Writing to a cache for an hour costs twice the input."""
        rates = [self.rate, self.beyond or self.rate]
        most = max(max(rate.input * 2, rate.write) if rate.write > rate.input else rate.input for rate in rates)
        return Rate(most, most, most, max(rate.output for rate in rates))


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices at one date."""

    version: str
    models: Mapping[str, Price]

    def price(self, model: str) -> Price | None:
        """The price of a model or of a release of it; None if it is not in the table."""
        name = _MAKER.sub("", model)
        if name in self.models:
            return self.models[name]
        return next((price for known, price in self.models.items() if is_release(name, known)), None)


def is_release(name: str, model: str) -> bool:
    """Whether a name is a dated or numbered release of a model."""
    return name.startswith(model) and _RELEASE.fullmatch(name[len(model) :]) is not None


@cache
def built_in() -> PriceTable:
    """The table that comes with this version."""
    made = {}
    for name, entry in PRICES.items():
        if len(entry) == 4:
            made[name] = Price(_rate(*entry))
        else:
            made[name] = Price(_rate(*entry[0]), entry[1], _rate(*entry[2]))
    return PriceTable(VERSION, made)


def dollars(amount: float | str | Decimal) -> int:
    """Dollars as billionths."""
    return int(Decimal(str(amount)) * NANO)


_Money = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class _Rates(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    input: _Money
    output: _Money
    cached: _Money | None = None
    cache_write: _Money | None = None

    def rate(self) -> Rate:
        cached = self.input if self.cached is None else self.cached
        write = self.input if self.cache_write is None else self.cache_write
        return _rate(self.input, cached, write, self.output)


class _Beyond(_Rates):
    above: Annotated[int, Field(ge=1)]


class _Entry(_Rates):
    long: _Beyond | None = None


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str
    models: dict[str, _Entry]


def load_prices(path: Path) -> PriceTable:
    """A table from a YAML or JSON file: `version`, and `models` by name with dollars per million tokens.

    Each model has `input` and `output`, and may have `cached`, `cache_write`, and `long` (`above` and the same four).
    """
    label = str(path)
    try:
        table = _Table.model_validate(yaml.safe_load(read_bytes(path, label, 1 << 20)))
    except yaml.YAMLError as e:
        raise InputError(f"{label}: is no YAML: {e}".replace("\n", " ")) from e
    except ValidationError as e:
        raise InputError(f"{label}: {validation_text(e)}") from e
    models = {
        name: Price(entry.rate(), entry.long.above if entry.long else None, entry.long.rate() if entry.long else None)
        for name, entry in table.models.items()
    }
    return PriceTable(table.version, models)


def _rate(*per_million: str | float) -> Rate:
    return Rate(*(int(Decimal(str(one)) * 1000) for one in per_million))
