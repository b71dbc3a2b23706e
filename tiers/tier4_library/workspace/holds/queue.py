"""The line of those who wait. Holds stand in the order in which they were placed."""

from __future__ import annotations

#:if R8
from datetime import date, timedelta
from typing import Collection, List, Optional, TypedDict
#:else
from datetime import date
from typing import List, Optional, TypedDict
#:end
#:if R23

from house.policy import BLOCK_CENTS
#:end

#:if R23
#:if R35
from .errors import <<owe_error>>, <<wait_error>>, AlreadyWaiting, NotWaiting
#:else
from .errors import <<owe_error>>, AlreadyWaiting, NotWaiting
#:end
#:else
#:if R35
from .errors import <<wait_error>>, AlreadyWaiting, NotWaiting
#:else
from .errors import AlreadyWaiting, NotWaiting
#:end
#:end


class Hold(TypedDict):
    """One member who waits for one title."""

    title: str
    member: int
    placed: date


def line(holds: List[Hold], title: str) -> List[int]:
    """The members who wait for a title, the first to be served first."""
    return [hold["member"] for hold in holds if hold["title"] == title]


#:if R23
def place(holds: List[Hold], title: str, member: int, placed: date, *, <<owe_kw>>: int = 0) -> List[Hold]:
#:else
def place(holds: List[Hold], title: str, member: int, placed: date) -> List[Hold]:
#:end
    """The holds with one more at the end of the line."""
#:if R23
    if <<owe_kw>> <<block_op>> BLOCK_CENTS:
        raise <<owe_error>>(f"member {member} owes {<<owe_kw>>} cents")
#:end
    if member in line(holds, title):
        raise AlreadyWaiting(f"member {member} waits for {title} already")
    hold: Hold = {"title": title, "member": member, "placed": placed}
    return [*holds, hold]


def cancel(holds: List[Hold], title: str, member: int) -> List[Hold]:
    """The holds without one."""
    if member not in line(holds, title):
        raise NotWaiting(f"member {member} does not wait for {title}")
    return [hold for hold in holds if (hold["title"], hold["member"]) != (title, member)]


def position(holds: List[Hold], title: str, member: int) -> int:
    """The place of a member in the line for a title, from 1 up."""
    if member not in line(holds, title):
        raise NotWaiting(f"member {member} does not wait for {title}")
    return line(holds, title).index(member) + 1


def next_for(holds: List[Hold], title: str) -> Optional[int]:
    """The member who gets the next copy of a title; None if nobody waits."""
    return next(iter(line(holds, title)), None)
#:if R8


def in_line(
    holds: List[Hold], title: str, favoured: Collection[int], *, <<head_kw>>: int = <<head_days>>
) -> List[int]:
    """The members who wait for a title, when some of them have a head start."""
    def key(hold: Hold) -> tuple:
        start = timedelta(days=<<head_kw>> if hold["member"] in favoured else 0)
        return hold["placed"] - start, <<line_tie.code>>

    return [hold["member"] for hold in sorted((one for one in holds if one["title"] == title), key=key)]
#:end
#:if R35


def waiting_days(turn: int, copies: int, *, <<wait_kw>>: int = <<wait_days>>) -> int:
    """How long somebody will wait who has a place in a line."""
    if copies < 1:
        raise <<wait_error>>("no copy to wait for")
    return -(-turn // copies) * <<wait_kw>> + <<wait_extra>>
#:end
