"""Where a source distribution can be had: the package index that pip is set to, asked over its simple API.

pip itself never fetches here: to download a source distribution it builds its metadata, which runs the package's own
code on the trusted side.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import url2pathname

import httpx

from ..sandbox.errors import InputError

JSON_API = "application/vnd.pypi.simple.v1+json"
ACCEPT = f"{JSON_API}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
MAX_PAGE = 64 << 20
SECONDS = 60.0
_SETTING = re.compile(r"^(:env:|global|download|install)\.([a-z-]+)=(.*)$")


class Unreachable(Exception):
    """An index could not be asked, or does not have the file."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What pip would use: the indexes in order (URLs), a bundle of certificates, a proxy."""

    indexes: tuple[str, ...]
    cert: str | None = None
    proxy: str | None = None


def pip_settings(python: str = sys.executable) -> Settings:
    """The settings of the pip beside this interpreter, the environment before its files."""
    listed, described = _pip(python, "config", "list"), ""
    given = parse_settings(listed)
    if "index-url" not in given and "no-index" not in given:
        # Which index pip has by default stands in its own help, and in no file of ours.
        described = re.sub(r"\s+", " ", _pip(python, "help", "download"))
    default = re.search(r"\(default (https?://[^\s)]+)\)", described)
    first = given.get("index-url") or (default[1] if default else "")
    indexes = [url for url in (first, *given.get("extra-index-url", "").split()) if url]
    return Settings(tuple(dict.fromkeys(indexes)), given.get("cert"), given.get("proxy"))


def parse_settings(listing: str) -> dict[str, str]:
    """The lines of `pip config list` as a mapping; pip's own order of precedence."""
    ranked: dict[str, tuple[int, str]] = {}
    order = {"global": 0, "install": 0, "download": 1, ":env:": 2}
    for line in listing.splitlines():
        if match := _SETTING.match(line):
            with contextlib.suppress(ValueError, SyntaxError):
                value = str(ast.literal_eval(match[3])).strip()
                if value and order[match[1]] >= ranked.get(match[2], (0, ""))[0]:
                    ranked[match[2]] = (order[match[1]], value)
    return {name: value for name, (_, value) in ranked.items()}


def _pip(python: str, *words: str) -> str:
    try:
        done = subprocess.run(
            [python, "-m", "pip", *words], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def client(settings: Settings) -> httpx.Client:
    """An HTTP client that trusts what pip trusts."""
    try:
        context = ssl.create_default_context(cafile=settings.cert) if settings.cert else True
    except OSError as error:
        raise InputError(f"pip's setting `cert` names {settings.cert}: {error.strerror or error}") from error
    return httpx.Client(verify=context, proxy=settings.proxy, follow_redirects=True, timeout=SECONDS)


def download(name: str, file: str, settings: Settings, *, most: int, http: httpx.Client | None = None) -> bytes:
    """The bytes of a file of a project from the first index that has it; Unreachable says what each one answered.

    Nothing is known of the bytes yet: the caller holds them against a hash. `most` is in bytes.
    """
    failures = []
    with contextlib.nullcontext(http) if http else client(settings) as session:
        for index in settings.indexes:
            try:
                return _fetch(session, _located(session, index, name, file), most)
            except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, Unreachable) as error:
                failures.append(_why(index, error))
    raise Unreachable("; ".join(dict.fromkeys(failures)) or "pip is set to no index")


def listed(name: str, settings: Settings, http: httpx.Client | None = None) -> list[tuple[str, str | None]]:
    """The files of a project on the first index that knows it, each with its SHA-256 where the index says so."""
    failures = []
    with contextlib.nullcontext(http) if http else client(settings) as session:
        for index in settings.indexes:
            try:
                return [(one.file, one.sha256) for one in _page(session, index, name)]
            except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
                failures.append(_why(index, error))
    raise Unreachable("; ".join(dict.fromkeys(failures)) or "pip is set to no index")


def _why(index: str, error: Exception) -> str:
    """What an index answered, in a clause; never the password that its address may hold."""
    place = urlsplit(index)
    name = place.hostname or place.path or index
    if isinstance(error, httpx.HTTPStatusError):
        return f"{name}: {error.response.status_code} {error.response.reason_phrase}"
    if isinstance(error, OSError) and error.strerror:
        return f"{name}: {error.strerror}"
    said = re.sub(r"\s+", " ", str(error)) or type(error).__name__
    return said if isinstance(error, Unreachable) else f"{name}: {said}"


def _located(session: httpx.Client, index: str, name: str, file: str) -> str:
    for one in _page(session, index, name):
        if one.file == file:
            return one.url
    raise Unreachable(f"the index has no {file}")


@dataclass(frozen=True, slots=True)
class Link:
    """A file on a project's page."""

    file: str
    url: str
    sha256: str | None


def _page(session: httpx.Client, index: str, name: str) -> list[Link]:
    page = f"{index.rstrip('/')}/{re.sub(r'[-_.]+', '-', name).lower()}/"
    if page.startswith("file:"):
        body, kind, base = _fetch(session, page + "index.html", MAX_PAGE), "text/html", page
    else:
        answer = session.get(page, headers={"Accept": ACCEPT})
        answer.raise_for_status()
        body, kind, base = answer.content, answer.headers.get("content-type", ""), str(answer.url)
    return list(links(body, kind, base))


def links(body: bytes, kind: str, base: str) -> Iterator[Link]:
    """The files on a project's page, in either form of the simple API."""
    if kind.startswith(JSON_API):
        page = json.loads(body)
        entries = page.get("files") if isinstance(page, dict) else None
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict) and isinstance(entry.get("url"), str):
                hashes = entry.get("hashes")
                sha256 = hashes.get("sha256") if isinstance(hashes, dict) else None
                yield Link(str(entry.get("filename")), urljoin(base, entry["url"]), _hash(sha256))
        return
    parser = _Anchors()
    parser.feed(body.decode("utf-8", "replace"))
    for target in parser.targets:
        url, _, fragment = target.partition("#")
        file = unquote(urlsplit(url).path.rpartition("/")[2])
        yield Link(file, urljoin(base, url), _hash(fragment.removeprefix("sha256=")))


def _hash(text: object) -> str | None:
    return text if isinstance(text, str) and re.fullmatch(r"[0-9a-f]{64}", text) else None


class _Anchors(HTMLParser):
    """Collects the targets of links."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.targets += [value for name, value in attrs if tag == "a" and name == "href" and value]


def _fetch(session: httpx.Client, url: str, most: int) -> bytes:
    if url.startswith("file:"):
        with open(url2pathname(urlsplit(url).path), "rb") as file:  # noqa: PTH123  # a URL's path, not ours to parse
            data = file.read(most + 1)
    else:
        parts = []
        size = 0
        with session.stream("GET", url) as answer:
            answer.raise_for_status()
            for part in answer.iter_bytes():
                parts.append(part)
                size += len(part)
                if size > most:
                    break
        data = b"".join(parts)
    if len(data) > most:
        raise Unreachable(f"{urlsplit(url).path.rpartition('/')[2]} is larger than {most} bytes")
    return data
