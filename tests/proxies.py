"""A proxy before an engine's socket that can be slow, deaf or gone, over a Unix socket, TCP or TLS."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Proxy:
    """Passes bytes on. Requests that hold `stall` are kept back until the proxy is closed."""

    def __init__(self, target: str, listening: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        self.target = target
        self.stall: bytes | None = None
        self._tls = tls
        self._listening = listening
        self._open: list[socket.socket] = []
        self._closing = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Cut every connection."""
        self._closing.set()
        for connection in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            if self._tls is not None:
                client = self._tls.wrap_socket(client, server_side=True)
            engine = socket.socket(socket.AF_UNIX)
            engine.connect(self.target)
            self._open += [client, engine]
            self._pass_on(client, engine)
        client.close()

    def _pass_on(self, client: socket.socket, engine: socket.socket) -> None:
        with engine:
            while not self._closing.is_set():
                waiting = isinstance(client, ssl.SSLSocket) and client.pending()
                ready = [client] if waiting else select.select([client, engine], [], [], 0.2)[0]
                if client in ready:
                    data = client.recv(1 << 16)
                    if not data:
                        return
                    if self.stall is not None and self.stall in data:
                        # Never passed on: the engine would create what nobody waits for any more.
                        self._closing.wait(60)
                        return
                    engine.sendall(data)
                elif engine in ready:
                    data = engine.recv(1 << 16)
                    if not data:
                        return
                    client.sendall(data)


@contextlib.contextmanager
def unix_proxy(target: str, path: Path) -> Iterator[Proxy]:
    """A proxy at a path."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen(32)
    with contextlib.closing(Proxy(target, listening)) as proxy:
        yield proxy


@contextlib.contextmanager
def tcp_proxy(target: str, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """A proxy on a port of 127.0.0.1."""
    listening = socket.create_server(("127.0.0.1", 0))
    with contextlib.closing(Proxy(target, listening, tls)):
        yield listening.getsockname()[1]


def certificates(folder: Path) -> ssl.SSLContext:
    """Certificates as Docker keeps them (ca.pem, cert.pem, key.pem), and a server that demands them."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ca.pem").write_bytes(pem)
    (folder / "cert.pem").write_bytes(pem)
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def until(condition: object, seconds: float = 15.0) -> bool:
    """Wait until a callable is true; whether it became so."""
    end = time.monotonic() + seconds
    assert callable(condition)
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False
