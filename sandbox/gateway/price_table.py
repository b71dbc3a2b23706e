"""The nominal price of a token, in US dollars per million: data, no code.

Read off the providers' public price lists (standard tier, text) at the date of the version. What a run is billed may
differ (discounts, tools, tiers): a budget in dollars is a guard, not an invoice. Another table: `prices.load_prices`.
"""

from __future__ import annotations

from typing import Final

VERSION: Final = "2026-11-01"

# model: (input, cached input, cache write, output), and for some: from how many tokens of input on which other four.
_Four = tuple[str, str, str, str]
PRICES: Final[dict[str, _Four | tuple[_Four, int, _Four]]] = {
    "claude-fable-5-1": ("10", "0.25", "12.50", "50"),
    "claude-fable-5": ("10", "1", "12.50", "50"),
    "claude-opus-5-5": ("4", "0.20", "5", "20"),
    "claude-opus-5": ("5", "0.50", "6.25", "25"),
    "claude-opus-4-8": ("5", "0.50", "6.25", "25"),
    "claude-opus-4-7": ("5", "0.50", "6.25", "25"),
    "claude-opus-4-6": ("5", "0.50", "6.25", "25"),
    "claude-opus-4-5": ("5", "0.50", "6.25", "25"),
    "claude-opus-4-1": ("15", "1.50", "18.75", "75"),
    "claude-sonnet-5-5": ("2", "0.10", "2.50", "10"),
    "claude-sonnet-5": ("2", "0.20", "2.50", "10"),
    "claude-sonnet-4-6": ("3", "0.30", "3.75", "15"),
    "claude-sonnet-4-5": ("3", "0.30", "3.75", "15"),
    "claude-haiku-5-5": (("0.10", "0.01", "0.125", "0.50"), 100_000, ("0.50", "0.05", "0.625", "2.50")),
    "claude-haiku-4-5": ("1", "0.10", "1.25", "5"),
    "gpt-5.5": ("5", "0.50", "5", "30"),
    "gpt-5.5-pro": ("30", "30", "30", "180"),
    "gpt-5.4": ("2.50", "0.25", "2.50", "15"),
    "gpt-5.4-mini": ("0.75", "0.075", "0.75", "4.50"),
    "gpt-5.4-nano": ("0.20", "0.02", "0.20", "1.25"),
    "gpt-5.2": ("1.75", "0.175", "1.75", "14"),
    "gpt-5": ("1.25", "0.125", "1.25", "10"),
    "gpt-5-mini": ("0.25", "0.025", "0.25", "2"),
    "gpt-4.1": ("2", "0.50", "2", "8"),
    "gpt-4o": ("2.50", "1.25", "2.50", "10"),
    "gpt-4o-mini": ("0.15", "0.075", "0.15", "0.60"),
    "gemini-3.5-flash": ("1.50", "0.15", "1.50", "9"),
    "gemini-3.1-pro": (("2", "0.20", "2", "12"), 200_000, ("4", "0.40", "4", "18")),
    "gemini-3.1-flash-lite": ("0.25", "0.025", "0.25", "1.50"),
    "gemini-2.5-pro": (("1.25", "0.125", "1.25", "10"), 200_000, ("2.50", "0.25", "2.50", "15")),
    "gemini-2.5-flash": ("0.30", "0.03", "0.30", "2.50"),
    "gemini-2.5-flash-lite": ("0.10", "0.01", "0.10", "0.40"),
}
