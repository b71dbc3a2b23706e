"""Cartons, and which one the goods go into."""

from __future__ import annotations

from typing import List, TypedDict
#:if R17

from catalog.policy import MM3_PER_GRAM
#:end

#:if R15
from .errors import <<pack_error>>
#:else
from .errors import PackingError
#:end


class Carton(TypedDict):
    """One kind of carton: its inner volume, and the grams that it holds."""

    name: str
    inner_mm3: int
    max_g: int


#:if R15
def choose(volume_mm3: int, weight_g: int, cartons: List[Carton], <<pack_kw>>: int = <<pack_fill>>) -> str:
#:else
def choose(volume_mm3: int, weight_g: int, cartons: List[Carton]) -> str:
#:end
    """The name of the smallest carton that takes the goods, the first by name among equals."""
    strong = [carton for carton in cartons if weight_g <= carton["max_g"]]
#:if R15
    fitting = [carton for carton in strong if volume_mm3 * 100 <<pack_op>> <<pack_kw>> * carton["inner_mm3"]]
#:else
    fitting = [carton for carton in strong if volume_mm3 <= carton["inner_mm3"]]
#:end
    if not fitting:
#:if R15
        raise <<pack_error>>(f"no carton takes {volume_mm3} mm3 of {weight_g} g")
#:else
        raise PackingError(f"no carton takes {volume_mm3} mm3 of {weight_g} g")
#:end
    return min(fitting, key=lambda carton: (carton["inner_mm3"], carton["name"]))["name"]


def filled_percent(volume_mm3: int, carton: Carton) -> int:
    """How full the goods make a carton, rounded down."""
    return volume_mm3 * 100 // carton["inner_mm3"]
#:if R17


def freight_g(carton: Carton, goods_g: int, *, <<tare_kw>>: int = <<tare_g>>) -> int:
    """The grams that a packed carton counts for on a truck."""
    return max(goods_g + <<tare_kw>>, <<tare_round.code>>)
#:end
