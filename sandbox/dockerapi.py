"""The engine's API: how a client is made, and what its errors mean here."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import requests
from docker import APIClient
from docker.errors import DockerException

from .endpoint import Endpoint, present
from .errors import EngineUnavailable, WireTimeout
from .wire import Closable

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


def attach(client: APIClient, container: str) -> tuple[socket.socket, Closable]:
    """The standard streams of a container as a socket, and what holds it open.

    As the client's own attach_socket, which would wait for a stuck engine for ever.
    """
    url = f"{client.base_url}/v{client.api_version}/containers/{container}/attach"
    response = client.post(
        url,
        params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1},
        headers={"Connection": "Upgrade", "Upgrade": "tcp"},
        stream=True,
        timeout=client.timeout,
    )
    stream = client._get_raw_response_socket(response)  # type: ignore[attr-defined]
    return getattr(stream, "_sock", stream), response


def engine_time(client: APIClient) -> float:
    """The engine's own clock, in seconds since 1970: it may be another machine's."""
    text = str(client.info().get("SystemTime", ""))
    return (datetime.fromisoformat(text) if text else datetime.now(UTC)).timestamp()


def _client(endpoint: Endpoint, timeout: int) -> APIClient:
    def client(version: str) -> APIClient:
        made = APIClient(base_url=endpoint.url, version=version, timeout=timeout, tls=endpoint.tls or False)
        # Else REQUESTS_CA_BUNDLE would replace the engine's own certificate authority.
        made.trust_env = endpoint.tls is None
        return made

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
    # Before the next: the client's API errors are requests' errors too.
    except DockerException as error:
        said = getattr(error, "explanation", None) or error
        raise EngineUnavailable(f"the container engine could not {what}: {str(said)[:500]}") from error
    except requests.RequestException as error:
        raise EngineUnavailable(f"the container engine is gone; it could not {what}", hint="Is it running?") from error
