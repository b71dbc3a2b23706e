"""Which container engine is meant: DOCKER_HOST, the current Docker context, or a socket in a usual place."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docker.tls import TLSConfig

from .errors import EngineUnavailable

_DEFAULT_CONTEXT: Final = "default"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an engine may answer. `origin` says who named it, for messages; `named` ones have no substitute."""

    url: str
    origin: str
    named: bool = False
    tls: TLSConfig | None = None


def endpoints(env: Mapping[str, str], home: Path) -> tuple[Endpoint, ...]:
    """Where to look, in order; exactly one if the user named one. EngineUnavailable if what they named cannot be."""
    if url := env.get("DOCKER_HOST"):
        return (Endpoint(url, "DOCKER_HOST", named=True, tls=_env_tls(env, home)),)
    config = Path(env.get("DOCKER_CONFIG") or home / ".docker")
    context = env.get("DOCKER_CONTEXT") or _current_context(config)
    if context != _DEFAULT_CONTEXT:
        return (_context(config, context),)
    runtime = env.get("XDG_RUNTIME_DIR")
    places = [
        ("/var/run/docker.sock", "Docker"),
        *([(f"{runtime}/docker.sock", "rootless Docker")] if runtime else []),
        (f"{home}/.docker/run/docker.sock", "Docker Desktop"),
        *([(f"{runtime}/podman/podman.sock", "rootless Podman")] if runtime else []),
        ("/run/podman/podman.sock", "Podman"),
    ]
    return tuple(Endpoint(f"unix://{path}", origin) for path, origin in places)


def present(endpoint: Endpoint) -> bool:
    """Whether it is worth asking: a Unix socket must exist."""
    if not endpoint.url.startswith("unix://"):
        return True
    try:
        mode = Path(endpoint.url.removeprefix("unix://")).stat().st_mode
    except OSError:
        return False
    return stat.S_ISSOCK(mode)


def _current_context(config: Path) -> str:
    value = _read_json(config / "config.json").get("currentContext")
    return value if isinstance(value, str) and value else _DEFAULT_CONTEXT


def _context(config: Path, name: str) -> Endpoint:
    digest = hashlib.sha256(name.encode()).hexdigest()
    meta = config / "contexts" / "meta" / digest / "meta.json"
    endpoint = _read_json(meta).get("Endpoints", {})
    docker = endpoint.get("docker", {}) if isinstance(endpoint, dict) else {}
    url = docker.get("Host") if isinstance(docker, dict) else None
    if not isinstance(url, str) or not url:
        raise EngineUnavailable(
            f"the Docker context {name!r} is not described in {config}",
            hint="See `docker context ls`, or set DOCKER_HOST.",
        )
    verify = docker.get("SkipTLSVerify") is not True
    tls = _tls(config / "contexts" / "tls" / digest / "docker", verify) if url.startswith("tcp://") else None
    return Endpoint(url, f"Docker context {name!r}", named=True, tls=tls)


def _env_tls(env: Mapping[str, str], home: Path) -> TLSConfig | None:
    verify = bool(env.get("DOCKER_TLS_VERIFY"))
    if not verify and not env.get("DOCKER_CERT_PATH"):
        return None
    return _tls(Path(env.get("DOCKER_CERT_PATH") or home / ".docker"), verify)


def _tls(folder: Path, verify: bool) -> TLSConfig | None:
    ca, cert, key = folder / "ca.pem", folder / "cert.pem", folder / "key.pem"
    pair = (str(cert), str(key)) if cert.is_file() and key.is_file() else None
    if pair is None and not ca.is_file():
        return None
    return TLSConfig(client_cert=pair, ca_cert=str(ca) if verify and ca.is_file() else None, verify=verify)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def default_endpoints() -> tuple[Endpoint, ...]:
    """Those of this process's own environment."""
    return endpoints(os.environ, Path.home())
