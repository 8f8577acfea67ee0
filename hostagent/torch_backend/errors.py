"""The exceptions a training script can see. All are RuntimeErrors through torch's own DistBackendError.

Their types say what a script can do: a `LostError` may be gone at the next attempt, a `RefusedError` will not.
"""

from __future__ import annotations

import torch.distributed as dist

from hostagent.transport.errors import Cause, TransportError


class NetsumError(dist.DistBackendError):
    """An operation of the netsum process group failed; the text states the cause and what to do."""


class RefusedError(NetsumError):
    """The call is not supported or its arguments are inconsistent, so that nothing was sent; or the controller or the
    server refused it (a wrong nonce, a quota, more workers than declared, no slots left, a service that another job has
    taken over). The same call will be refused again."""


class LostError(NetsumError):
    """A rank, the switch, the rack server or the controller ended, left, or cannot be reached, and the job ended with
    it. Once it is back a new job may succeed: `RackOptimizer.rejoin`, or a new process group."""


class OperationTimeoutError(NetsumError):
    """A time-out passed before the operation had finished."""


_TYPES = {Cause.TIMEOUT: OperationTimeoutError, Cause.LOST: LostError, Cause.REFUSED: RefusedError}
"""By cause; of the others NetsumError."""


def error_type(error: Exception) -> type[NetsumError]:
    """The type of the exception that ``error`` becomes."""
    return _TYPES.get(error.cause, NetsumError) if isinstance(error, TransportError) else NetsumError


def as_torch_error(error: Exception, what: str, note: str = "") -> NetsumError:
    """A fresh exception for one raise of ``error``, which ended ``what`` (an operation, in words)."""
    return error_type(error)(f"netsum: {what}: {error}{note}")
