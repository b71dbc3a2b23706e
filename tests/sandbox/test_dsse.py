"""DSSE envelopes: what verifies, what is refused and why, and how keys are kept."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as generate_ec_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from takeover.sandbox import dsse
from takeover.sandbox.dsse import Refusal
from takeover.sandbox.errors import InputError

TYPE = "application/vnd.takeover.test+json"
KEY = dsse.generate_key()
OTHER = dsse.generate_key()
ENVELOPE = dsse.sign(b'{"answer":42}', TYPE, KEY)


def edited(change: Callable[[dict], None]) -> bytes:
    """ENVELOPE with its object changed and encoded as `sign` encodes."""
    value = json.loads(ENVELOPE)
    change(value)
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_pae_is_the_one_of_the_specification() -> None:
    """The encoding equals the example in the DSSE protocol's own text."""
    assert (
        dsse.pae("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_pae_counts_bytes() -> None:
    """Lengths are of the UTF-8 bytes, not of the characters."""
    assert dsse.pae("é", "é".encode()) == b"DSSEv1 2 \xc3\xa9 2 \xc3\xa9"


@given(st.binary(max_size=300))
def test_round_trip(payload: bytes) -> None:
    """Any bytes come back exactly, with the key and the type they were signed under."""
    result = dsse.verify(dsse.sign(payload, TYPE, KEY), KEY.public, payload_type=TYPE)

    assert (True, payload, KEY.public.id, TYPE) == (result.verified, result.payload, result.key_id, result.payload_type)


def test_signing_is_deterministic() -> None:
    """The same payload and key give the same envelope bytes."""
    assert dsse.sign(b'{"answer":42}', TYPE, KEY) == ENVELOPE


@given(st.integers(0, len(ENVELOPE) * 8 - 1))
def test_any_bit_flip_is_refused(bit: int) -> None:
    """No single bit of an envelope can change: payload, type, signature, key id and layout alike."""
    flipped = bytearray(ENVELOPE)
    flipped[bit // 8] ^= 1 << bit % 8

    result = dsse.verify(bytes(flipped), KEY.public, payload_type=TYPE)

    assert (result.verified, result.payload) == (False, None)


@given(st.integers(0, len(ENVELOPE) - 1))
def test_any_truncation_is_refused(length: int) -> None:
    """A torn envelope is refused."""
    assert not dsse.verify(ENVELOPE[:length], KEY.public, payload_type=TYPE)


@given(st.binary(max_size=400))
def test_rubbish_is_refused_not_raised(rubbish: bytes) -> None:
    """Bytes that are no envelope give a reason, never an exception."""
    assert not dsse.verify(rubbish, KEY.public, payload_type=TYPE)


REFUSED = {
    "empty": (b"", Refusal.MALFORMED),
    "not json": (b"\x00\xff", Refusal.MALFORMED),
    "deep json": (b"[" * 100_000, Refusal.MALFORMED),
    "a list": (b"[]", Refusal.MALFORMED),
    "extra field": (edited(lambda e: e.update(note="x")), Refusal.MALFORMED),
    "extra field beside the signature": (edited(lambda e: e["signatures"][0].update(cert="x")), Refusal.MALFORMED),
    "no signature": (edited(lambda e: e.update(signatures=[])), Refusal.MALFORMED),
    "two signatures": (edited(lambda e: e.update(signatures=e["signatures"] * 2)), Refusal.MALFORMED),
    "payload not base64": (edited(lambda e: e.update(payload="***")), Refusal.MALFORMED),
    "payload a number": (edited(lambda e: e.update(payload=1)), Refusal.MALFORMED),
    "type with a lone surrogate": (edited(lambda e: e.update(payloadType="\ud800")), Refusal.MALFORMED),
    "indented": (json.dumps(json.loads(ENVELOPE), indent=1).encode(), Refusal.NOT_CANONICAL),
    "no final newline": (ENVELOPE[:-1], Refusal.NOT_CANONICAL),
    "payload named twice": (ENVELOPE.replace(b"{", b'{"payload":"",', 1), Refusal.NOT_CANONICAL),
    "another type, rightly signed": (dsse.sign(b'{"answer":42}', TYPE + ".x", KEY), Refusal.WRONG_TYPE),
    "type relabelled": (edited(lambda e: e.update(payloadType="text/plain")), Refusal.WRONG_TYPE),
    "another key": (dsse.sign(b'{"answer":42}', TYPE, OTHER), Refusal.WRONG_KEY),
    "payload swapped": (edited(lambda e: e.update(payload=b64(b'{"answer":43}'))), Refusal.BAD_SIGNATURE),
    "signature of another payload": (
        edited(lambda e: e["signatures"][0].update(sig=b64(KEY.sign(dsse.pae(TYPE, b"x"))))),
        Refusal.BAD_SIGNATURE,
    ),
    "signature over the bare payload": (
        edited(lambda e: e["signatures"][0].update(sig=b64(KEY.sign(b'{"answer":42}')))),
        Refusal.BAD_SIGNATURE,
    ),
    "another key under our id": (
        edited(lambda e: e["signatures"][0].update(sig=b64(OTHER.sign(dsse.pae(TYPE, b'{"answer":42}'))))),
        Refusal.BAD_SIGNATURE,
    ),
    "empty signature": (edited(lambda e: e["signatures"][0].update(sig="")), Refusal.BAD_SIGNATURE),
}


@pytest.mark.parametrize(("envelope", "refusal"), REFUSED.values(), ids=REFUSED)
def test_refusal_names_its_reason(envelope: bytes, refusal: Refusal) -> None:
    """Each way of being wrong has its own reason, words for a person, and the hash of what was judged."""
    result = dsse.verify(envelope, KEY.public, payload_type=TYPE)

    assert (refusal, None) == (result.refusal, result.payload)
    assert result.detail
    assert hashlib.sha256(envelope).hexdigest() == result.envelope_sha256


def test_key_id_can_be_recomputed_with_openssl(tmp_path: Path) -> None:
    """The id is the SHA-256 of the DER public key, which standard tools print."""
    key = dsse.create_key(tmp_path / "gate.key")

    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-in", tmp_path / "gate.key.pub", "-outform", "DER"],
        capture_output=True,
        check=True,
    ).stdout

    assert hashlib.sha256(der).hexdigest() == key.public.id


def test_key_round_trip(tmp_path: Path) -> None:
    """What was written is what is read, private and public half, and only the owner may read the first."""
    path = tmp_path / "keys" / "gate.key"
    created = dsse.create_key(path)

    assert created.public == dsse.load_key(path).public == dsse.load_public_key(Path(f"{path}.pub"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(p.name for p in path.parent.iterdir()) == ["gate.key", "gate.key.pub"]


def test_create_key_never_replaces(tmp_path: Path) -> None:
    """An existing key survives a second `create_key`."""
    path = tmp_path / "gate.key"
    first = dsse.create_key(path)

    with pytest.raises(InputError, match="exists already"):
        dsse.create_key(path)

    assert first.public == dsse.load_key(path).public


def test_many_processes_agree_on_one_key(tmp_path: Path) -> None:
    """Whoever comes first makes the key; everybody else reads that one."""
    ids: list[str] = []
    threads = [
        threading.Thread(target=lambda: ids.append(dsse.load_or_create_key(tmp_path / "k").public.id)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [dsse.load_key(tmp_path / "k").public.id] * 8 == ids


def test_a_key_shows_no_secret() -> None:
    """Neither repr nor str of a key holds the private bytes."""
    assert f"SigningKey(public=PublicKey(der={KEY.public.der!r}))" == repr(KEY)


def _ec_key(path: Path) -> None:
    key = generate_ec_key(SECP256R1())
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)


def _private(content: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(content)
        path.chmod(0o600)

    return make


def _readable_by_others(path: Path) -> None:
    path.write_bytes(KEY.pem)
    path.chmod(0o640)


BAD_KEYS: dict[str, tuple[Callable[[Path], object], str]] = {
    "absent": (lambda path: None, "No such file"),
    "a folder": (lambda path: path.mkdir(mode=0o700), "not a key file"),
    "a FIFO": (lambda path: os.mkfifo(path, 0o600), "not a key file"),
    "a dangling link": (lambda path: path.symlink_to("nowhere"), "No such file"),
    "readable by the group": (_readable_by_others, "others can read this key"),
    "huge": (_private(b"x" * (dsse.KEY_FILE_LIMIT + 1)), "not a key file"),
    "text": (_private(b"hello"), "not an unencrypted PEM private key"),
    "a public key": (_private(KEY.public.pem), "not an unencrypted PEM private key"),
    "another algorithm": (_ec_key, "not an Ed25519 key"),
}


@pytest.mark.parametrize(("make", "message"), BAD_KEYS.values(), ids=BAD_KEYS)
def test_bad_key_files(make: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    """A file that is no private key of ours is an input error that says what it is."""
    path = tmp_path / "gate.key"
    make(path)

    with pytest.raises(InputError, match=message):
        dsse.load_key(path)


def test_a_bad_key_is_never_replaced_by_a_new_one(tmp_path: Path) -> None:
    """`load_or_create_key` makes a key only where nothing stands."""
    path = tmp_path / "gate.key"
    _readable_by_others(path)

    with pytest.raises(InputError, match="others can read"):
        dsse.load_or_create_key(path)

    assert KEY.pem == path.read_bytes()


def test_a_private_key_is_no_public_key(tmp_path: Path) -> None:
    """The private file handed over for the public one is refused."""
    path = tmp_path / "gate.key"
    dsse.create_key(path)

    with pytest.raises(InputError, match="not a PEM public key"):
        dsse.load_public_key(path)
