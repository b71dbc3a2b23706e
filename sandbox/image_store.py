"""What the toolkit's own images take on an engine, and which of them nobody needs any more.

An image is ours if its tag reads takeover-NAME:HASH, and NAME is that of a recipe or of the label that images/build.sh
puts on what it builds. Only such tags are removed, so an image that somebody gave another name keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import requests
from docker import APIClient
from docker.errors import APIError, NotFound

from .dockerapi import engine_errors
from .images import recipes

LABEL: Final = "takeover.image"
BASE: Final = "base"
_TAG: Final = re.compile(r"(?:localhost/)?takeover-([a-z0-9][a-z0-9._-]*):([0-9a-f]{12})")


@dataclass(frozen=True, slots=True)
class StoredImage:
    """One image of an engine; `created` in seconds since 1970."""

    id: str
    tags: tuple[str, ...]
    created: float = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was removed and what a container still uses, by tag; `freed` and `cache` in bytes, None where unknown.

    `cache` is what all builds on this engine, our own and others, have left in its builder.
    """

    removed: tuple[str, ...]
    used: tuple[str, ...]
    freed: int | None
    cache: int | None


def outdated(images: Sequence[StoredImage], names: Sequence[str], *, labelled: bool = True) -> dict[str, str]:
    """The tags of ours that are neither `latest` nor, where a name has no such, the newest, each with its image's id.

    Ours are those of these names and, unless `labelled` is false, those whose label says so.
    """
    found = sorted(_ours(images, names, labelled), key=lambda one: (one[2].created, one[1]))
    newest = {name: image.id for name, _, image in found}
    tagged = {_bare(tag): image.id for image in images for tag in image.tags}
    return {
        tag: image.id for name, tag, image in found if image.id != tagged.get(f"takeover-{name}:latest", newest[name])
    }


def clear_images(client: APIClient, names: Sequence[str] | None = None) -> Cleared:
    """Remove our outdated images that no container uses; where names are given, of these alone."""
    with engine_errors("list its images"):
        images = [_stored(one) for one in client.images()]
        busy = {one["ImageID"] for one in client.containers(all=True)}
    before, _ = _taken(client)
    removed, used = [], []
    known = (*recipes(), BASE) if names is None else names
    for tag, image in outdated(images, known, labelled=names is None).items():
        if image not in busy and _remove(client, tag):
            removed.append(tag)
        else:
            used.append(tag)
    after, cache = _taken(client)
    freed = None if before is None or after is None else max(0, before - after)
    return Cleared(tuple(removed), tuple(used), freed, cache)


def _ours(
    images: Sequence[StoredImage], names: Sequence[str], labelled: bool
) -> Iterator[tuple[str, str, StoredImage]]:
    for image in images:
        for tag in image.tags:
            # The label alone says little: whoever builds on an image of ours inherits it.
            if (match := _TAG.fullmatch(tag)) and (match[1] in names or (labelled and match[1] == image.label)):
                yield match[1], tag, image


def _bare(tag: str) -> str:
    # Podman puts this before names without a registry.
    return tag.removeprefix("localhost/")


def _stored(row: Mapping[str, Any]) -> StoredImage:
    label = str((row.get("Labels") or {}).get(LABEL) or "")
    return StoredImage(str(row["Id"]), tuple(row.get("RepoTags") or ()), float(row.get("Created") or 0), label)


def _remove(client: APIClient, tag: str) -> bool:
    with engine_errors("remove an image"):
        try:
            client.remove_image(tag)
        except NotFound:
            return True
        except APIError as error:
            # A container was made from it meanwhile.
            if error.status_code != requests.codes.conflict:
                raise
            return False
    return True


def _taken(client: APIClient) -> tuple[int | None, int | None]:
    """The bytes of all layers and of the builder's cache, as far as the engine tells."""
    with engine_errors("say what its images take"):
        told = client.df()
    cache = told.get("BuildCache")
    return told.get("LayersSize"), None if cache is None else sum(int(one.get("Size") or 0) for one in cache)
