"""The one hierarchy of exceptions.

An expected failure (a non-zero exit, a session that ran out of time) is a value.
An exception says either that the caller asked for something that cannot be (`InputError`)
or that the machinery failed (`MachineryError`), which never counts against an agent.
"""

from __future__ import annotations

from enum import StrEnum


class FailureClass(StrEnum):
    """Why a trial has no verdict; the table in trials/failures.py says what follows from each."""

    ENGINE_UNAVAILABLE = "engine_unavailable"
    IMAGE_UNFIT = "image_unfit"
    SANDBOX_DIED = "sandbox_died"
    SANDBOX_OOM = "sandbox_oom"
    WORKSPACE_TOO_LARGE = "workspace_too_large"
    WIRE_BROKEN = "wire_broken"
    WIRE_TIMEOUT = "wire_timeout"
    STORAGE = "storage"
    CHECKS_BROKEN = "checks_broken"
    MODEL_UNAVAILABLE = "model_unavailable"
    UNKNOWN_REQUEST = "unknown_request"
    RUN_BUDGET = "run_budget"
    POISON_REFUSED = "poison_refused"
    INTERNAL = "internal"


class TakeoverError(Exception):
    """Base of all; `hint` is the second line a user sees: what to do."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class InputError(TakeoverError):
    """The caller's input is wrong (exit code 2). The message names file, line and field where it has them."""


class MachineryError(TakeoverError):
    """The toolkit or what it stands on failed (exit code 3); `failure` picks the row of the failure table."""

    failure = FailureClass.INTERNAL


class EngineUnavailable(MachineryError):
    """No container engine answers."""

    failure = FailureClass.ENGINE_UNAVAILABLE


class ImageUnfit(MachineryError):
    """The image is missing, or cannot hold the guest (no python3 >= 3.8, unknown user)."""

    failure = FailureClass.IMAGE_UNFIT


class SandboxDied(MachineryError):
    """The container ended while it was still needed."""

    failure = FailureClass.SANDBOX_DIED


class SandboxOutOfMemory(SandboxDied):
    """The container's own PID 1 was killed for lack of memory."""

    failure = FailureClass.SANDBOX_OOM


class WorkspaceTooLarge(MachineryError):
    """What a session left does not fit into a sandbox of the same limits: links and holes took no room there."""

    failure = FailureClass.WORKSPACE_TOO_LARGE


class WireBroken(MachineryError):
    """What came over the wire is not the protocol."""

    failure = FailureClass.WIRE_BROKEN


class WireTimeout(MachineryError):
    """The engine or the guest did not answer in time."""

    failure = FailureClass.WIRE_TIMEOUT


class StorageError(MachineryError):
    """The run's folder could not be written (disk full, permissions)."""

    failure = FailureClass.STORAGE


class ChecksBroken(MachineryError):
    """The trusted half of the hidden checks did not run as it must."""

    failure = FailureClass.CHECKS_BROKEN
