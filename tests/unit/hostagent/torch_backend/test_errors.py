"""Types of the exceptions tell a script whether to try again."""

from __future__ import annotations

import pytest

import hostagent
from hostagent.protocol.services import session_pb2 as pb
from hostagent.torch_backend.errors import NetsumError, as_torch_error
from hostagent.transport.errors import Cause, TransportError
from hostagent.transport.session.records import CAUSES, ENDINGS, JobRecord, refusal
from hostagent.transport.session.terms import Membership

TYPES = {
    Cause.LOST: hostagent.LostError,
    Cause.REFUSED: hostagent.RefusedError,
    Cause.TIMEOUT: hostagent.OperationTimeoutError,
    Cause.MISMATCH: hostagent.NetsumError,
    Cause.LOCAL: hostagent.NetsumError,
}


@pytest.mark.parametrize("cause", Cause)
def test_a_cause_has_its_type(cause: Cause) -> None:
    error = as_torch_error(TransportError("why", cause), "an operation")
    assert type(error) is TYPES[cause]
    assert str(error) == "netsum: an operation: why"
    assert isinstance(error, NetsumError)


@pytest.mark.parametrize("cause", Cause)
def test_the_cause_reaches_other_ranks(cause: Cause) -> None:
    """What only one process knows (it was closed, it could not start) is the loss of a rank to the others."""
    reported = JobRecord(Membership(1, "world", 0, 2)).failure_message("why", cause, None)
    assert CAUSES[reported.fail.ending] is (Cause.LOST if cause is Cause.LOCAL else cause)
    assert set(ENDINGS.values()) == set(pb.Failed.Ending.values())


@pytest.mark.parametrize(
    ("reason", "ending", "cause"),
    [
        (pb.Refused.INVALID, pb.Failed.LOST, Cause.REFUSED),
        (pb.Refused.EXHAUSTED, pb.Failed.LOST, Cause.REFUSED),
        (pb.Refused.UNAVAILABLE, pb.Failed.LOST, Cause.LOST),
        (pb.Refused.MISSING_RANKS, pb.Failed.LOST, Cause.TIMEOUT),
        (pb.Refused.JOB_FAILED, pb.Failed.REFUSED, Cause.REFUSED),
        (pb.Refused.JOB_FAILED, pb.Failed.LOST, Cause.LOST),
    ],
)
def test_a_refusal_of_the_controllers_has_a_cause(reason: pb.Refused.Reason, ending: int, cause: Cause) -> None:
    error = refusal(pb.Refused(reason=reason, text="why", ending=ending))  # type: ignore[arg-type]
    assert error.cause is cause
    assert str(error) == "why"
