"""What a switch of a tree does about lost packets of dense blocks: see `pspin_model.flare.retransmission`.

Costs are declared by operation counts, all ours.
"""

from __future__ import annotations

import numpy as np

from pspin_model.flare.block_memory import block_of, row_of
from pspin_model.flare.records import (
    A_AGAIN,
    A_CHILDREN,
    A_IS_ROOT,
    A_PACKET_BYTES,
    A_PORT,
    CHILDREN_A_WORD,
    W_CAME,
    W_DONE,
)
from pspin_model.flare.retransmission import ask_child, ask_parent, asker, port_of_asker
from pspin_model.handlers import charge, helper, send_packet


@helper
def send_again(h, p, place, port):  # type: ignore[no-untyped-def]
    """The result, which stays in row 0."""
    p[A_AGAIN] += 1
    send_packet(h, row_of(p, place, 0)[: p[A_PACKET_BYTES]], block_of(h), port)


@helper
def answer_dense(h, p, place, control, data):  # type: ignore[no-untyped-def]
    """Do what a request asks for, or ask further."""
    charge(h, alu=4, load=3, load_use=2, branch=4)
    child = asker(h)
    if child == p[A_CHILDREN]:
        if control[W_DONE]:
            send_again(h, p, place, p[A_PORT])
        return
    came = control[W_CAME + child // CHILDREN_A_WORD] >> (child % CHILDREN_A_WORD) & np.int64(1)
    if not came:
        ask_child(h, p, data, child)
    elif control[W_DONE] and p[A_IS_ROOT]:
        send_again(h, p, place, port_of_asker(data))
    elif control[W_DONE]:
        ask_parent(h, p, control, data)
