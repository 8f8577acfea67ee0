"""The error on every rank where the servers of several racks cannot be resynchronized."""

from __future__ import annotations

import pytest
import torch

from hostagent.protocol.operation import Operation
from hostagent.protocol.served import ANNOUNCEMENT_LANES
from hostagent.torch_backend.errors import RefusedError
from hostagent.torch_backend.rack.client import RackClient, RackService
from hostagent.torch_backend.rack.layout import KeyLayout, Part

CONFLICT_AT = ANNOUNCEMENT_LANES + 20
"""Behind the announcement's words are the answer's."""


class Answering:
    """A job whose servers say that racks 3 and 1 hold different trainings."""

    def submit(self, operation: Operation) -> int:
        assert operation.served is not None
        operation.served._words[CONFLICT_AT : CONFLICT_AT + 2] = 4, 2
        return 0

    def wait(self, number: int, timeout_s: float) -> bool:
        return True

    def failure(self, number: int) -> None:
        return None


@pytest.mark.parametrize("ask", [RackClient.agree, lambda client, layout: client.query(layout, 7)])
def test_racks_of_different_trainings_are_refused_by_name_with_what_to_do(ask) -> None:
    client = RackClient(0, 4, RackService("mine"), 1.0, Answering)  # type: ignore[arg-type]
    with pytest.raises(
        RefusedError, match=r"'mine': the servers of racks 1 and 3 hold different .*move that file away"
    ):
        ask(client, KeyLayout(0, 0, torch.float32, (Part(0, 0, 5),)))
