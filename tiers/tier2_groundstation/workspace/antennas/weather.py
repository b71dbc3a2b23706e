"""What wind, rain and frost do to a dish."""

from __future__ import annotations

#:if R2
from typing import Dict, List
#:else
from typing import Dict
#:end

STOW_WIND_KMH = 60
STOW_GUST_KMH = 90
HEATER_BELOW_C = 3
HEATER_FROM_PERCENT = 80

# In tenths of a decibel for each millimetre of rain in an hour.
RAIN_LOSS: Dict[str, int] = {"UHF": 0, "S": 1, "X": 4}


class WeatherError(ValueError):
    """A reading that no instrument gives, or a band that no dish hears."""


def must_stow(wind_kmh: int, gust_kmh: int) -> bool:
    """Whether a dish has to point straight up and be locked."""
    return wind_kmh >= STOW_WIND_KMH or gust_kmh >= STOW_GUST_KMH


def rain_loss(mm_per_hour: int, band: str) -> int:
    """What rain takes from a signal, in tenths of a decibel."""
    if mm_per_hour < 0:
        raise WeatherError(f"{mm_per_hour} mm of rain")
    if band not in RAIN_LOSS:
        raise WeatherError(f"no band {band}")
    return RAIN_LOSS[band] * mm_per_hour


def needs_heater(celsius: int, humidity_percent: int) -> bool:
    """Whether ice may form on the feed."""
    return celsius < HEATER_BELOW_C and humidity_percent >= HEATER_FROM_PERCENT
#:if R2


def wind_hold(gusts: List[int], *, <<calm_kw>>: int = <<calm_n>>) -> Dict[str, object]:
    """Whether a dish waits for calmer air; readings in km/h, the oldest first."""
    last = gusts[max(0, len(gusts) - <<calm_kw>>) :]
    if not last:
        return {"<<hold_key>>": False, "worst": 0}
    worst = max(last)
    held = worst <<op_gust>> <<gust_kmh>> or sum(last) // len(last) <<op_mean>> <<mean_kmh>>
    return {"<<hold_key>>": held, "worst": worst}
#:end
