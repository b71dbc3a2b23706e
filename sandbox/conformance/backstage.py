"""What a check does to the engine behind a sandbox's back."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Final

from docker import APIClient
from docker.errors import APIError

from ..dockerapi import engine_errors, engine_time
from ..errors import EngineUnavailable
from ..labels import ours

_IMPORTED: Final = "takeover-check"
_SHA256: Final = re.compile(r"sha256:[0-9a-f]{64}")


class Backstage:
    """The engine's API, as far as the checks need it."""

    def __init__(self, client: APIClient) -> None:
        self._client = client

    def containers(self, label: str, value: str) -> set[str]:
        """The ids of our containers that carry a label, ended ones too."""
        with engine_errors("list its containers"):
            found = self._client.containers(all=True, filters={"label": [ours(), f"{label}={value}"]})
        return {str(container["Id"]) for container in found}

    def kill(self, container: str) -> None:
        """Kill a container, as somebody else might."""
        with engine_errors("kill a container"):
            self._client.kill(container)

    def volumes(self) -> set[str]:
        """The names of all volumes."""
        with engine_errors("list its volumes"):
            return {str(volume["Name"]) for volume in self._client.volumes().get("Volumes") or ()}

    def clock(self) -> float:
        """The engine's time."""
        with engine_errors("tell the time"):
            return engine_time(self._client)

    @contextlib.contextmanager
    def imported(self, archive: bytes) -> Iterator[str]:
        """An image made from a tar archive for as long as the context lasts."""
        with engine_errors("import an image"):
            told = str(self._client.import_image_from_data(archive, repository=_IMPORTED, tag="empty"))
        image = _SHA256.findall(told)
        if not image:
            raise EngineUnavailable(f"the container engine could not import an image: {told[:200]}")
        try:
            yield image[-1]
        finally:
            with contextlib.suppress(APIError):
                self._client.remove_image(image[-1], force=True)
