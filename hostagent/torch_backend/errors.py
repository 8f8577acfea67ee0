"""The exceptions a training script can see. All are RuntimeErrors through torch's own DistBackendError."""

from __future__ import annotations

import torch.distributed as dist

from hostagent.transport.errors import Cause, TransportError


class NetsumError(dist.DistBackendError):
    """An operation of the netsum process group failed; the text states the cause and what to do."""


class RefusedError(NetsumError):
    """The call is not supported, or its arguments are inconsistent. Nothing was sent."""


class OperationTimeoutError(NetsumError):
    """A time-out passed before the operation had finished."""


def as_torch_error(error: Exception, what: str) -> NetsumError:
    """A fresh exception for one raise of ``error``, which ended ``what`` (an operation, in words)."""
    kind = OperationTimeoutError if isinstance(error, TransportError) and error.cause is Cause.TIMEOUT else NetsumError
    return kind(f"netsum: {what}: {error}")
