"""Entry point of the trusted image: sees to it that the engine has a sandbox image, then becomes `takeover`."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import docker
from docker.errors import DockerException
from requests.exceptions import RequestException

SOCKET = Path("/var/run/docker.sock")
PACKED = Path("/opt/sandbox.tar.gz")
RUNS = Path("/srv/takeover/runs")
SANDBOX = "takeover-sandbox"


def provide_sandbox() -> str | None:
    """Imports the packed sandbox where the engine has none; what went wrong, if something did."""
    try:
        with contextlib.closing(docker.from_env(timeout=120)) as client:
            if client.images.list(f"{SANDBOX}:latest"):
                return None
            print("==> giving the engine the sandbox image (once)", file=sys.stderr)
            with PACKED.open("rb") as archive:
                client.api.import_image_from_data(
                    archive, SANDBOX, "latest", changes=["USER 1000:1000", "WORKDIR /workspace", 'CMD ["bash"]']
                )
    except (DockerException, RequestException, OSError) as error:
        return str(error)
    return None


def become_owner_of_runs() -> None:
    """What is written into the caller's folder belongs to whoever owns that folder; the socket stays usable."""
    if os.getuid() != 0 or not RUNS.is_dir():
        return
    owner = RUNS.stat()
    if owner.st_uid == 0:
        return
    os.setgroups([SOCKET.stat().st_gid] if SOCKET.exists() else [])
    os.setgid(owner.st_gid)
    os.setuid(owner.st_uid)
    os.environ["HOME"] = "/tmp"  # noqa: S108 - inside this container


def main() -> None:
    """Replaces this process, so that signals and the exit code are takeover's own."""
    arguments = sys.argv[1:]
    needs_engine = not {"--help", "-h", "--version"} & set(arguments)
    if needs_engine and (problem := provide_sandbox()):
        print(f"error: no container engine answers: {problem}", file=sys.stderr)
        print("       Mount the engine's socket at /var/run/docker.sock, as compose.yaml does,", file=sys.stderr)
        print("       or name another one: TAKEOVER_ENGINE_SOCKET=/path/to/docker.sock", file=sys.stderr)
        sys.exit(3)
    become_owner_of_runs()
    command = str(Path(sys.executable).with_name("takeover"))
    os.execv(command, [command, *arguments])  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()
