#:if R34
"""Bags of books that go out together."""

from __future__ import annotations

from datetime import date, timedelta

from house.days import next_open


def bundle_due(out: date, count: int, *, <<bun_kw>>: int = <<bun_base>>) -> date:
    """When a bag with some books is due."""
    return next_open(out + timedelta(days=min(<<bun_kw>> + count * <<bun_each>>, <<bun_max>>)))
#:end
