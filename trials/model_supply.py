"""Open what answers a run's agents. Imports httpx, which is slow to import: only for runs that have a model."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

from ..sandbox.gateway.budget import Budget, Spent
from ..sandbox.gateway.prices import built_in, load_prices
from ..sandbox.gateway.supply import Source, open_supply
from .agents import Recipe
from .model import ModelSettings
from .models import Models


@contextlib.contextmanager
def open_models(
    settings: ModelSettings,
    recipes: Mapping[str, Recipe],
    *,
    spent: Spent,
    resumed: bool,
    prefix: str = "",
) -> Iterator[Models]:
    """See models.OpenModels."""
    prices = built_in() if settings.prices is None else load_prices(settings.prices)
    source = Source(
        upstream=settings.upstream,
        script=settings.file if settings.source == "script" else None,
        replay=settings.file if settings.source == "replay" else None,
        record=settings.record,
        resumed=resumed,
    )
    with open_supply(source, os.environ) as (supply, redactor):
        budget = Budget("run", settings.run, spent=spent)
        yield Models(settings, supply, redactor, prices, budget, recipes, prefix)
