"""The engine's API: how a client is made, and what its errors mean here."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Final

import requests
from docker import APIClient
from docker.errors import DockerException

from .endpoint import Endpoint, present
from .errors import EngineUnavailable, WireTimeout

_ANY_VERSION: Final = "1.41"
_VERSION: Final = re.compile(r"\d{1,3}\.\d{1,4}")


def connect(endpoint: Endpoint, timeout: int) -> APIClient:
    """A client of the engine at that place; EngineUnavailable if none answers within `timeout` seconds."""
    if endpoint.url.startswith("ssh://"):
        raise EngineUnavailable(
            f"{endpoint.origin} names {endpoint.url}, and ssh is not supported directly",
            hint="Forward its socket: ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock HOST, then "
            "DOCKER_HOST=unix:///tmp/engine.sock",
        )
    try:
        if not present(endpoint):
            raise ValueError("there is no such socket")
        return _client(endpoint, timeout)
    except (DockerException, requests.RequestException, ValueError) as error:
        denied = "Permission denied" in str(error)
        raise EngineUnavailable(
            f"{endpoint.origin}: no container engine answers at {endpoint.url}"
            + (": permission denied" if denied else ""),
            hint="Join the group of its socket (docker), or use a rootless engine."
            if denied
            else "Start the engine, or set DOCKER_HOST to one that runs.",
        ) from error


def _client(endpoint: Endpoint, timeout: int) -> APIClient:
    def client(version: str) -> APIClient:
        return APIClient(base_url=endpoint.url, version=version, timeout=timeout, tls=endpoint.tls or False)

    # What version="auto" does, but a client that got no answer is closed.
    with contextlib.closing(client(_ANY_VERSION)) as asking:
        spoken = asking.version(api_version=False).get("ApiVersion")
    if not isinstance(spoken, str) or not _VERSION.fullmatch(spoken):
        raise DockerException("what answers is no container engine")
    return client(spoken)


@contextlib.contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turns the client's errors into ours; `what` completes "the engine could not"."""
    try:
        yield
    except requests.Timeout as error:
        raise WireTimeout(
            f"the container engine took too long to {what}", hint="Is it overloaded, or stuck?"
        ) from error
    except requests.RequestException as error:
        raise EngineUnavailable(f"the container engine is gone; it could not {what}", hint="Is it running?") from error
    except DockerException as error:
        said = getattr(error, "explanation", None) or error
        raise EngineUnavailable(f"the container engine could not {what}: {str(said)[:500]}") from error
