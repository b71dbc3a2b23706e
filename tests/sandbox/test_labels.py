"""Labels: an orphan is known by its owner, and a living neighbour is never taken for one."""

from __future__ import annotations

import os
import subprocess
import sys

from takeover.sandbox import labels

OWNER = labels.OWNER


def test_every_container_says_whose_it_is() -> None:
    """The mark, the run, the process, and whatever the caller adds; the caller cannot take the mark away."""
    made = labels.labels({"takeover": "0", "takeover.trial": "t"}, run="r1")

    assert made["takeover"] == "1"
    assert made["takeover.run"] == "r1"
    assert made["takeover.host-pid"] == str(os.getpid())
    assert made["takeover.trial"] == "t"
    assert made[OWNER] == labels.owner() != ""


def test_a_living_owner_keeps_its_sandboxes() -> None:
    """Neither our own containers nor those of a living neighbour are orphans."""
    code = "from takeover.sandbox import labels; import sys; print(labels.owner(), flush=True); sys.stdin.read()"
    neighbour = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert neighbour.stdin is not None
    assert neighbour.stdout is not None
    try:
        theirs = {OWNER: neighbour.stdout.readline().strip()}
        assert not labels.orphaned(theirs)
        assert not labels.orphaned({OWNER: labels.owner()})
    finally:
        neighbour.communicate()

    assert labels.orphaned(theirs)


def test_a_pid_that_was_given_again_is_not_the_owner() -> None:
    """A process that has the number of the owner and another start time does not keep its sandboxes."""
    place, pid, start = labels.owner().rsplit("/", 2)

    assert labels.orphaned({OWNER: f"{place}/{pid}/{int(start) - 1}"})


def test_who_cannot_be_seen_from_here_counts_as_alive() -> None:
    """Another host, another boot, another PID namespace, no or a broken label: not ours to judge."""
    boot, namespace, pid, start = labels.owner().split("/")
    unseen = [
        f"00000000-0000-0000-0000-000000000000/{namespace}/{pid}/1",
        f"{boot}/pid:[1]/{pid}/1",
        f"{boot}/{namespace}/x/{start}",
        "",
        "///",
        "nonsense",
    ]

    assert [label for label in unseen if labels.orphaned({OWNER: label})] == []
    assert not labels.orphaned({})
