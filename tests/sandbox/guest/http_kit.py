"""What the tests of the gateway's door share: programs that ask in a sandbox, and a host that answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator

from takeover.sandbox.gateway.exchange import Gone, HttpRequest, ResponsePart, whole
from takeover.sandbox.sandbox import RunResult

Asker = Callable[..., RunResult]

# What every client program begins with.
KIT = r"""
import hashlib, http.client, json, os, socket, struct, subprocess, sys, threading, time, urllib.error, urllib.request
def ask(path="/echo", data=None, **headers):
    request = urllib.request.Request("http://127.0.0.1:4000" + path, data, headers)
    with urllib.request.urlopen(request, timeout=20) as response:
        return response.read()
def raw(*pieces, timeout=20):
    with socket.create_connection(("127.0.0.1", 4000), timeout) as sock:
        try:
            for piece in pieces:
                sock.sendall(piece)
        except OSError:
            pass
        return read(sock)
def read(sock):
    found = b""
    try:
        while True:
            data = sock.recv(65536)
            if not data:
                return found
            found += data
    except OSError as error:
        return found + b" then " + type(error).__name__.encode()
def post(body, *lines):
    head = ["POST /echo HTTP/1.1", "Host: x", "Content-Length: %d" % len(body), *lines, "", ""]
    return "\r\n".join(head).encode() + body
"""


def echo(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
    """Says what it was asked."""
    about = [request.method, request.path, len(request.body), hashlib.sha256(request.body).hexdigest()]
    yield from whole(200, (("Content-Type", "application/json"),), json.dumps(about).encode())


def said(result: RunResult) -> str:
    assert result.ok, result
    return result.stdout.decode()
