"""Where requests go, and with which key: the providers' own APIs, or one server that speaks OpenAI's."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

import certifi

from ..errors import InputError
from .redaction import SHORTEST, Secret
from .routes import Provider

UPSTREAM_KEY: Final = "TAKEOVER_UPSTREAM_KEY"

KEYS: Final[Mapping[Provider, str]] = MappingProxyType(
    {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
)
BASES: Final[Mapping[Provider, str]] = MappingProxyType(
    {
        "openai": "https://api.openai.com",
        "anthropic": "https://api.anthropic.com",
        "gemini": "https://generativelanguage.googleapis.com",
    }
)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a provider's requests go, and the key for it."""

    base: str
    key: Secret | None
    key_name: str
    # Whether a request without a key has no chance.
    needs_key: bool = True
    # Servers of one's own may know but the older name of Chat's cap on output; OpenAI refuses it for newer models.
    older_cap: bool = False


def real_targets(environ: Mapping[str, str]) -> dict[Provider, Target]:
    """The providers' own APIs, with the keys that the environment has."""
    return {
        provider: Target(base, _secret(environ.get(KEYS[provider])), KEYS[provider]) for provider, base in BASES.items()
    }


def server_targets(url: str, environ: Mapping[str, str]) -> dict[Provider, Target]:
    """One server for all formats, as `--upstream URL` names it. Raises InputError.

    It is sent no provider's key: its own, if it wants one, is in TAKEOVER_UPSTREAM_KEY.
    """
    parts = urlsplit(url.strip())
    key = _secret(environ.get(UPSTREAM_KEY))
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InputError(f"--upstream {url!r}: is no address of a server", hint="Write it like http://127.0.0.1:8000.")
    if parts.username is not None or parts.password is not None:
        raise InputError("--upstream: keep the password out of the address", hint=f"Put the key into {UPSTREAM_KEY}.")
    if parts.scheme == "http" and key is not None and len(key.reveal()) >= SHORTEST and not _is_near(parts.hostname):
        raise InputError(f"--upstream {url!r}: a key would go there unencrypted", hint="Use https.")
    path = parts.path.rstrip("/").removesuffix("/v1")
    target = Target(f"{parts.scheme}://{parts.netloc}{path}", key, UPSTREAM_KEY, needs_key=False, older_cap=True)
    return dict.fromkeys(BASES, target)


def trust(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Whom TLS trusts: SSL_CERT_FILE or SSL_CERT_DIR where they are set, else the usual authorities. Raises InputError."""
    file, folder = environ.get("SSL_CERT_FILE") or None, environ.get("SSL_CERT_DIR") or None
    if file is not None and not Path(file).is_file():
        raise InputError(f"SSL_CERT_FILE: {file}: is no file")
    try:
        if file is None and folder is None:
            return ssl.create_default_context(cafile=certifi.where())
        return ssl.create_default_context(cafile=file, capath=folder)
    except (OSError, ssl.SSLError) as e:
        raise InputError(f"SSL_CERT_FILE: {file or folder}: holds no certificates: {e}") from e


def _is_near(host: str) -> bool:
    """Whether a host is this machine or in a private network."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost"))
    return address.is_private or address.is_loopback


def _secret(value: str | None) -> Secret | None:
    value = (value or "").strip()
    if not value:
        return None
    if not value.isascii() or not value.isprintable():
        raise InputError(
            "a key in the environment holds characters that no key has", hint="Check the API key variables."
        )
    return Secret(value)
