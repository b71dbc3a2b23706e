"""Signed bytes: DSSE envelopes over Ed25519 (https://github.com/secure-systems-lab/dsse, version 1).

What is signed is exact bytes together with what they claim to be (`payload_type`), never an object:
a verifier parses only bytes that have already been proved. One signature to an envelope, one canonical
encoding of it, so that no byte of an envelope can change unnoticed, the unsigned key id included.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import os
import secrets
import stat
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .errors import InputError, StorageError

KEY_FILE_LIMIT = 16 * 1024


class Refusal(StrEnum):
    """Why an envelope was not accepted."""

    MALFORMED = "malformed"
    NOT_CANONICAL = "not_canonical"
    WRONG_TYPE = "wrong_type"
    WRONG_KEY = "wrong_key"
    BAD_SIGNATURE = "bad_signature"


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """An answer with its evidence; true only if the signature holds.

    `payload` is set only then, so nothing unproved can be parsed by mistake.
    `key_id` and `payload_type` are what the envelope claims ("" where it could not be read);
    `envelope_sha256` names the bytes that were judged.
    """

    refusal: Refusal | None
    detail: str
    envelope_sha256: str
    key_id: str = ""
    payload_type: str = ""
    payload: bytes | None = None

    @property
    def verified(self) -> bool:
        """Whether the signature holds for the payload, its type and the key asked about."""
        return self.refusal is None

    def __bool__(self) -> bool:
        return self.verified


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An Ed25519 public key; `der` is its SubjectPublicKeyInfo."""

    der: bytes
    _key: Ed25519PublicKey = field(repr=False, compare=False)

    @property
    def id(self) -> str:
        """SHA-256 of the DER form: what `openssl pkey -pubin -in KEY.pub -outform DER | sha256sum` prints."""
        return hashlib.sha256(self.der).hexdigest()

    @property
    def pem(self) -> bytes:
        """The form that `load_public_key` reads."""
        return self._key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def holds(self, signature: bytes, message: bytes) -> bool:
        """Whether `signature` is this key's over exactly `message`."""
        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An Ed25519 private key. It never enters a sandbox, a log or a repr."""

    public: PublicKey
    _key: Ed25519PrivateKey = field(repr=False, compare=False)

    @property
    def pem(self) -> bytes:
        """The secret itself, unencrypted PKCS#8."""
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def sign(self, message: bytes) -> bytes:
        """64 bytes."""
        return self._key.sign(message)


class _Signature(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    keyid: str
    sig: str


class _Envelope(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    payload: str
    payload_type: str = Field(alias="payloadType")
    signatures: list[_Signature] = Field(min_length=1, max_length=1)


def pae(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: the bytes that are really signed."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def sign(payload: bytes, payload_type: str, key: SigningKey) -> bytes:
    """The envelope around `payload`, as the bytes to store."""
    return _encode(payload, payload_type, key.public.id, key.sign(pae(payload_type, payload)))


def verify(envelope: bytes, key: PublicKey, *, payload_type: str) -> VerificationResult:
    """Judge an envelope against one key and the type of payload the caller is about to parse; never raises."""
    digest = hashlib.sha256(envelope).hexdigest()
    try:
        read = _Envelope.model_validate_json(envelope)
        payload = base64.b64decode(read.payload, validate=True)
        signature = base64.b64decode(read.signatures[0].sig, validate=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "envelope"
        return VerificationResult(Refusal.MALFORMED, f"{where}: {first['msg']}", digest)
    except (binascii.Error, ValueError) as error:
        return VerificationResult(Refusal.MALFORMED, f"base64: {error}", digest)
    key_id = read.signatures[0].keyid

    def refuse(refusal: Refusal, detail: str) -> VerificationResult:
        return VerificationResult(refusal, detail, digest, key_id, read.payload_type)

    if _encode(payload, read.payload_type, key_id, signature) != envelope:
        return refuse(Refusal.NOT_CANONICAL, "the envelope is not in the one encoding that `sign` writes")
    if read.payload_type != payload_type:
        return refuse(Refusal.WRONG_TYPE, f"the envelope holds {read.payload_type!r}, not {payload_type!r}")
    if key_id != key.id:
        return refuse(Refusal.WRONG_KEY, f"signed by key {key_id!r}, not {key.id!r}")
    if not key.holds(signature, pae(payload_type, payload)):
        return refuse(Refusal.BAD_SIGNATURE, f"the signature of key {key.id} does not match the payload")
    return VerificationResult(None, f"signed by key {key.id}", digest, key_id, payload_type, payload)


def generate_key() -> SigningKey:
    """A new key, in memory only."""
    return _signing_key(Ed25519PrivateKey.generate())


def create_key(path: Path) -> SigningKey:
    """Write a new key to `path` (mode 0600), never over an existing one, and its public half to `path`.pub."""
    key = generate_key()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _place(path, key.pem, 0o600, replace=False)
        _place(path.with_name(path.name + ".pub"), key.public.pem, 0o644, replace=True)
    except FileExistsError as error:
        raise InputError(f"{path}: exists already") from error
    except OSError as error:
        raise StorageError(f"{path}: the key could not be written: {error.strerror}") from error
    return key


def load_key(path: Path) -> SigningKey:
    """Read a private key; one that others can read is refused."""
    pem = _read_key_file(path, secret=True)
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InputError(f"{path}: not an unencrypted PEM private key") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path}: not an Ed25519 key")
    return _signing_key(key)


def load_public_key(path: Path) -> PublicKey:
    """Read a public key."""
    pem = _read_key_file(path, secret=False)
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InputError(f"{path}: not a PEM public key") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{path}: not an Ed25519 key")
    return _public_key(key)


def load_or_create_key(path: Path) -> SigningKey:
    """The key at `path`, made at its first use; safe when several processes start at once."""
    if not os.path.lexists(path):
        with contextlib.suppress(InputError):  # somebody else was first: theirs it is
            return create_key(path)
    return load_key(path)


def _encode(payload: bytes, payload_type: str, key_id: str, signature: bytes) -> bytes:
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": payload_type,
        "signatures": [{"keyid": key_id, "sig": base64.b64encode(signature).decode()}],
    }
    return json.dumps(envelope, separators=(",", ":")).encode() + b"\n"


def _signing_key(key: Ed25519PrivateKey) -> SigningKey:
    return SigningKey(_public_key(key.public_key()), key)


def _public_key(key: Ed25519PublicKey) -> PublicKey:
    return PublicKey(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo), key)


def _place(path: Path, content: bytes, mode: int, *, replace: bool) -> None:
    # Link and rename make the file appear whole: a second process reads the first one's key or none.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            temporary.rename(path)
        else:
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _read_key_file(path: Path, *, secret: bool) -> bytes:
    try:
        # O_NONBLOCK: a FIFO in the key's place is an error, not a hang.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > KEY_FILE_LIMIT:
            raise InputError(f"{path}: not a key file")
        if secret and status.st_mode & 0o077:
            raise InputError(
                f"{path}: others can read this key (mode {stat.S_IMODE(status.st_mode):04o})",
                hint=f"Make it yours alone: chmod 600 {path}",
            )
        return os.read(descriptor, KEY_FILE_LIMIT)
    finally:
        os.close(descriptor)
