"""For how long records are kept."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Dict, List, Tuple

KEEP_DAYS: Dict[str, int] = {
    "movement": 730,
    "count": 365,
    "access": 90,
#:if R24
    "<<purge_kind>>": <<purge_days>>,
#:end
}


def keep_days(kind: str) -> int:
    """Days for which records of a kind are kept; those of unknown kinds as long as the longest."""
    return KEEP_DAYS.get(kind, max(KEEP_DAYS.values()))


def last_day(kind: str, written: date) -> date:
    """The last day on which a record is kept."""
    return written + timedelta(days=keep_days(kind))


def summary(records: List[Tuple[str, date]]) -> Dict[str, date]:
    """The latest last day by kind, kinds ascending."""
    found: Dict[str, date] = {}
    for kind, written in sorted(records):
        found[kind] = max(last_day(kind, written), found.get(kind, date.min))
    return found
#:if R24


def purgeable(records: List[Tuple[str, str, date]], today: date) -> List[str]:
    """The ids of records that may be thrown away, from triples (id, kind, day written)."""
    old = [record for record in records if (today - record[2]).days <<purge_op>> keep_days(record[1])]
    old.sort(key=lambda record: record[0])
    old.sort(key=lambda record: record[2], reverse=<<purge_order.code>>)
    return [record[0] for record in old]
#:end
