"""Why a container is gone, from what its engine remembers of it."""

from __future__ import annotations

import time
from typing import Any, Final

from docker import APIClient

from .dockerapi import engine_errors, engine_time
from .errors import ImageUnfit, MachineryError, SandboxDied, SandboxOutOfMemory
from .guest.boot import UNFIT_STATUS

PYTHON_HINT: Final = "An agent's image needs python3, 3.8 or newer, on its PATH."
_ATTEMPTS: Final = 5


def cause_of_death(client: APIClient, container: str, stderr: str) -> MachineryError:
    """The error to raise for a container whose wire ended; `stderr` is what the guest said last."""
    try:
        with engine_errors("say how a container ended"):
            events = _last_events(client, container)
    except MachineryError as error:
        return error
    code = next((event.get("exitCode") for event in events["die"]), None)
    said = f": {stderr.splitlines()[-1][:300]}" if stderr else ""
    if code == str(UNFIT_STATUS):
        return ImageUnfit(f"the image cannot hold a sandbox{said}", hint=PYTHON_HINT)
    if events["oom"] and not events["kill"]:
        return SandboxOutOfMemory(f"the sandbox itself ran out of memory{said}", hint="Raise limits.memory.")
    if code is None:
        return SandboxDied(f"the sandbox's container is gone{said}")
    by = " (something outside killed it)" if events["kill"] else ""
    return SandboxDied(f"the sandbox died with status {code}{by}{said}")


def _last_events(client: APIClient, container: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {"die": [], "oom": [], "kill": []}
    # The end of the wire can be seen before the engine has noticed the end of the container.
    for _ in range(_ATTEMPTS):
        told = client.events(
            # One second more, for the engine cuts off fractions.
            since=0,
            until=int(engine_time(client)) + 1,
            filters={"container": container, "type": "container"},
            decode=True,
        )
        for kind in found.values():
            kind.clear()
        for event in told:
            if (action := event.get("Action")) in found:
                found[action].append((event.get("Actor") or {}).get("Attributes") or {})
        if found["die"]:
            break
        time.sleep(0.2)
    return found
