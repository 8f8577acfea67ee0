"""What the worker core does when the server of weights refuses, or sends what it should not."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from hostagent.protocol.operation import Span, served_operation
from hostagent.protocol.served import Action, Announcement, Hyperparameters, Status
from hostagent.protocol.worker import FAILED_MISMATCH, FAILED_REFUSED
from tests.labs.protocol import Schedule
from tests.labs.push_pull import Refused, Session, Training, open_session
from tests.oracles.reference_server import ReferenceServer

TRAINING = Training(Schedule(workers=2, lanes=32), (40,), Hyperparameters(lr=0.1))


def begun(server: ReferenceServer) -> tuple[Session, dict[tuple[int, int], Any]]:
    """A job whose weights have been written."""
    session = open_session(TRAINING, server, 1, random.Random(0), 0)
    held = {(rank, 0): TRAINING.first_weights(0) for rank in range(2)}
    session.run(Action.WRITE, [0], held, root_only=True)
    return session, held


@pytest.mark.parametrize(("step", "status"), [(5, Status.STEP), (0, Status.STEP)])
def test_a_refusal_ends_the_job_with_the_servers_reason(step: int, status: Status) -> None:
    server = ReferenceServer(32)
    session, held = begun(server)
    before = held[0, 0].copy()
    with pytest.raises(Refused, match=f"code {FAILED_REFUSED}, status {int(status)}"):
        session.run(Action.PUSH_PULL, [0], held, step=step)
    assert server.services["service"].step == 0
    assert np.array_equal(held[0, 0], before)


def test_ranks_that_differ_in_an_option_are_told_so() -> None:
    session, _ = begun(ReferenceServer(32))
    kept = []
    for rank, core in enumerate(session.lab.cores):
        terms = Hyperparameters(lr=0.1 * (rank + 1))
        announcement = Announcement(Action.PUSH_PULL, 0, 40, step=1, terms=terms)
        arrays = TRAINING.gradient(1, 0, rank), np.zeros(40, np.float32)
        source, output = (Span(array.ctypes.data, 0, 40) for array in arrays)
        operation = served_operation(announcement, "float32", 4, source, output)
        core.submit(operation)
        kept.append((operation, arrays))
        session.lab.pump(rank)
    with pytest.raises(Refused, match=f"code {FAILED_MISMATCH}"):
        session._play([2, 2])


def test_a_result_without_words_is_not_taken_for_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that answers a pull with nothing: the core goes on asking."""
    server = ReferenceServer(32)
    session, held = begun(server)
    monkeypatch.setattr(ReferenceServer, "_pull", lambda *_: np.zeros(0, np.uint32))
    session.most_steps = 400
    with pytest.raises(AssertionError, match="it never ends"):
        session.run(Action.PULL, [0], held, step=0)
    assert session.lab.cores[0].statistics()["rejected_length"] > 0
