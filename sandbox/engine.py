"""Opens sandboxes on a container engine: Docker's own or one that speaks its API.

A slow engine is a WireTimeout, one that is gone an EngineUnavailable; neither ever reads as a result.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol, Self

import requests
from docker import APIClient
from docker.errors import APIError, DockerException, NotFound

from . import labels as labelling
from .autopsy import PYTHON_HINT, cause_of_death
from .container import INODE_OPTION, create, host_config
from .dockerapi import attach, connect, engine_errors
from .endpoint import Endpoint, default_endpoints, present
from .errors import EngineUnavailable, ImageUnfit, MachineryError
from .guest_bundle import guest_preamble
from .images import build_hint, resolve
from .limits import Limits
from .sandbox import HOME, ImageInfo, Sandbox
from .wire import Wire
from .wiresandbox import Deadlines, WireSandbox

CLIENT_TIMEOUT: Final = 60
_NO_PYTHON: Final = ("executable file not found", "no such file or directory")
_PATH: Final = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
_FIXED: Final = {"HOME": HOME, "LANG": "C.UTF-8", "TZ": "UTC"}
NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What the sandboxes stand on; recorded beside every result. `memory` in bytes."""

    url: str
    origin: str
    name: str
    version: str
    api: str
    kernel: str
    system: str
    arch: str
    cgroup: str
    runtime: str
    rootless: bool
    seccomp: bool
    cpus: int
    memory: int


class Opener(Protocol):
    """Something that opens sandboxes."""

    def open(
        self, image: str, *, limits: Limits, labels: Mapping[str, str] = NO_LABELS
    ) -> contextlib.AbstractContextManager[Sandbox]:
        """A fresh sandbox of an image; its container is gone when the context ends."""
        ...


class Engine(Opener, Protocol):
    """A container engine."""

    def image(self, ref: str) -> ImageInfo:
        """An image by its reference or by its recipe's name; ImageUnfit if the engine has none."""
        ...

    def info(self) -> EngineInfo: ...

    def sweep(self, *, older_than: float | None = None, run: str | None = None) -> list[str]:
        """Remove containers of ours and return their ids.

        Those whose owner is gone; with `run`, those of a run that this process or a dead one opened; with
        `older_than` (seconds), all of that age.
        """
        ...


class DockerEngine:
    """An engine behind Docker's API."""

    def __init__(
        self,
        client: APIClient,
        endpoint: Endpoint,
        *,
        run: str | None = None,
        runtime: str | None = None,
        deadlines: Deadlines | None = None,
        unsafe_overrides: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.endpoint = endpoint
        self.run = run
        self._client = client
        self._runtime = runtime
        self._deadlines = deadlines or Deadlines()
        self._inode_caps = True
        self._images: dict[str, ImageInfo] = {}
        # For tests that show what the conformance list would find on a broken engine.
        self._unsafe_overrides = unsafe_overrides

    @classmethod
    def from_env(cls, *, run: str | None = None, timeout: int = CLIENT_TIMEOUT, **options: Any) -> Self:
        """The first engine that answers, in the order of `endpoint.endpoints`; EngineUnavailable."""
        tried = []
        for endpoint in default_endpoints():
            if not endpoint.named and not present(endpoint):
                continue
            try:
                return cls(connect(endpoint, timeout), endpoint, run=run, **options)
            except EngineUnavailable as error:
                if endpoint.named:
                    raise
                tried.append(error)
        if tried:
            raise tried[0]
        raise EngineUnavailable(
            "no container engine answers",
            hint="Install Docker Engine or Podman and start it, or point DOCKER_HOST at one.",
        )

    @property
    def client(self) -> APIClient:
        """The engine's API, for what is no sandbox's business: conformance checks, benchmarks."""
        return self._client

    def image(self, ref: str) -> ImageInfo:
        """See Engine.image."""
        # What an id names never changes; should it be gone, creating a container says so.
        if (known := self._images.get(ref)) is not None:
            return known
        with engine_errors("look at the image"):
            try:
                found = self._client.inspect_image(resolve(ref))  # type: ignore[no-untyped-call]
            except NotFound:
                raise ImageUnfit(f"the engine has no image {ref!r}", hint=build_hint(ref)) from None
        config = found.get("Config") or {}
        env = (entry.partition("=") for entry in config.get("Env") or ())
        image = ImageInfo(
            ref=ref,
            id=str(found["Id"]),
            digest=next(iter(found.get("RepoDigests") or ()), None),
            user=config.get("User") or "",
            entrypoint=tuple(config.get("Entrypoint") or ()),
            cmd=tuple(config.get("Cmd") or ()),
            env={name: value for name, _, value in env},
            volumes=tuple(sorted(config.get("Volumes") or ())),
            labels={str(name): str(value) for name, value in (config.get("Labels") or {}).items()},
        )
        if ref == image.id:
            self._images[ref] = image
        return image

    def info(self) -> EngineInfo:
        """See Engine.info."""
        with engine_errors("describe itself"):
            told, version = self._client.info(), self._client.version()
        security = told.get("SecurityOptions") or ()
        components: Sequence[dict[str, Any]] = version.get("Components") or ({},)
        return EngineInfo(
            url=self.endpoint.url,
            origin=self.endpoint.origin,
            name=str(components[0].get("Name") or "Engine"),
            version=str(version.get("Version")),
            api=str(self._client.api_version),
            kernel=str(told.get("KernelVersion")),
            system=str(told.get("OperatingSystem")),
            arch=str(told.get("Architecture")),
            cgroup=f"v{told.get('CgroupVersion', '1')} {told.get('CgroupDriver', '')}".strip(),
            runtime=self._runtime or str(told.get("DefaultRuntime")),
            rootless=any("rootless" in option for option in security),
            seccomp=any("seccomp" in option for option in security),
            cpus=int(told.get("NCPU") or 0),
            memory=int(told.get("MemTotal") or 0),
        )

    @contextlib.contextmanager
    def open(self, image: str, *, limits: Limits, labels: Mapping[str, str] = NO_LABELS) -> Iterator[Sandbox]:
        """See Engine.open."""
        info = self.image(image)
        with self._container(info, limits, labels) as container:
            wire = self._attach(container, info)
            sandbox = WireSandbox(
                info,
                wire,
                limits,
                self._deadlines,
                {**_PATH, **info.env, **_FIXED},
                lambda stderr: cause_of_death(self._client, container, stderr),
            )
            try:
                self._start(container, info)
                sandbox.greet(guest_preamble(), info.user)
                yield sandbox
                sandbox.goodbye()
            finally:
                sandbox.close()

    def sweep(self, *, older_than: float | None = None, run: str | None = None) -> list[str]:
        """See Engine.sweep."""
        with engine_errors("list its containers"):
            found = self._client.containers(all=True, filters={"label": [labelling.ours()]})
        removed = []
        for container in found:
            carried = container.get("Labels") or {}
            age = time.time() - float(container.get("Created") or 0)
            chosen = [
                *([carried.get(labelling.RUN) == run and labelling.free_to_go(carried)] if run is not None else []),
                *([age >= older_than] if older_than is not None else []),
            ] or [labelling.orphaned(carried)]
            if all(chosen):
                self._remove(container["Id"])
                removed.append(str(container["Id"]))
        return removed

    @contextlib.contextmanager
    def _container(self, image: ImageInfo, limits: Limits, labels: Mapping[str, str]) -> Iterator[str]:
        with engine_errors("create a container"):
            container = self._create(image, limits, labelling.labels(labels, self.run))
        try:
            yield container
            self._await_removal(container)
        except BaseException:
            # What went wrong already is what counts; should the engine be gone too, the sweep is the second net.
            with contextlib.suppress(MachineryError):
                self._remove(container)
            raise

    def _create(self, image: ImageInfo, limits: Limits, labels: Mapping[str, str]) -> str:
        host = host_config(limits, image.volumes, self._runtime, inode_caps=self._inode_caps)
        try:
            return create(self._client, image.id, {**host, **self._unsafe_overrides}, labels)
        except NotFound:
            self._images.pop(image.id, None)
            raise ImageUnfit(f"the engine has no image {image.ref!r} any more", hint=build_hint(image.ref)) from None
        except APIError as error:
            # Podman's API knows no such mount option; the conformance list says that the cap is missing there.
            if not self._inode_caps or INODE_OPTION not in str(error.explanation):
                raise
            self._inode_caps = False
        return self._create(image, limits, labels)

    def _attach(self, container: str, image: ImageInfo) -> Wire:
        with engine_errors("attach to a container"), _without_python(image):
            return Wire(*attach(self._client, container))

    def _start(self, container: str, image: ImageInfo) -> None:
        with engine_errors("start a container"), _without_python(image):
            self._client.start(container)

    def _until_removed(self, container: str) -> None:
        with contextlib.suppress(NotFound):
            self._client.wait(container, timeout=int(self._deadlines.goodbye), condition="removed")

    def _await_removal(self, container: str) -> None:
        try:
            self._until_removed(container)
        except (requests.RequestException, DockerException):
            self._remove(container)

    def _remove(self, container: str) -> None:
        with engine_errors("remove a container"):
            try:
                self._client.remove_container(container, v=True, force=True)
            except NotFound:
                return
            except APIError as error:
                if error.status_code != requests.codes.conflict:
                    raise
                self._until_removed(container)


@contextlib.contextmanager
def _without_python(image: ImageInfo) -> Iterator[None]:
    # Docker finds out when it starts a container, Podman when it is attached to.
    try:
        yield
    except APIError as error:
        if any(text in str(error.explanation) for text in _NO_PYTHON):
            raise ImageUnfit(f"the image {image.ref!r} has no python3", hint=PYTHON_HINT) from error
        raise
