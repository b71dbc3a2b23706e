"""The guest as it travels: packed once per process, and named by its sources."""

from __future__ import annotations

from functools import cache

from .guest.boot import preamble, sources_sha256


@cache
def guest_preamble() -> bytes:
    """What every fresh container is sent first."""
    return preamble()


@cache
def guest_sha256() -> str:
    """Names the guest, for provenance."""
    return sources_sha256()
