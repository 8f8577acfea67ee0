"""What switches of a tree do with requests for what was lost, whether blocks are dense or sparse.

Hosts alone have timers. One that misses a block's result sends its switch a request, a packet of a header (of a sparse
block with a bit for each fragment that it has). A switch that lacks the asker's packet requests it of the asker in its
turn; one that still waits for others does nothing, for they have timers too; one that is done asks its parent in the
asker's stead; and the root sends the result again, to the asker alone. From above, a request asks a switch for what it
sent up. So what travels again is what was lost, and every answer ends where it was missed.

A switch passes on at most two kinds of requests for a block in a pause: the first asker's, and one for all below it.
"""

from __future__ import annotations

import numpy as np

from pspin_model.flare.block_memory import block_of
from pspin_model.flare.records import (
    A_ADDRESS,
    A_OWN_NUMBER,
    A_PAUSE,
    A_PORT,
    REQUEST_SOURCE,
    TAG_REQUEST,
    TO_MEMBER,
    W_ASKED,
    W_ASKER,
)
from pspin_model.flare.sparse.wire import HEADER, IP_UDP_BYTES
from pspin_model.handlers import charge, helper, now, send_packet, source

AT_BLOCK, AT_CHILD, AT_PAIRS, AT_FRAGMENT, AT_FRAGMENTS = (
    IP_UDP_BYTES + int(HEADER.fields[name][1])  # type: ignore[index]
    for name in ("block", "child", "pairs", "fragment", "fragments")
)
"""Offsets of the fields of a packet's header, from the packet's first byte."""
AT_ADDRESS = AT_FRAGMENTS
"""Offset in a request of the address of who misses something, a host or all hosts below a switch."""


@helper
def word_at(data, at):  # type: ignore[no-untyped-def]
    """16 bits, big-endian."""
    return np.int64(data[at]) << 8 | np.int64(data[at + 1])


@helper
def put_word(data, at, value):  # type: ignore[no-untyped-def]
    """16 bits, big-endian."""
    data[at] = value >> 8 & 255
    data[at + 1] = value & 255


@helper
def is_request(h):  # type: ignore[no-untyped-def]
    """Whether the packet is a request, by the parser."""
    return source(h) >= REQUEST_SOURCE


@helper
def asker(h):  # type: ignore[no-untyped-def]
    """Number of the child that sent a request; the number of children: the parent did."""
    return source(h) - REQUEST_SOURCE


@helper
def port_of_asker(data):  # type: ignore[no-untyped-def]
    """Where that is sent which a request asks the root for."""
    return TO_MEMBER + word_at(data, AT_ADDRESS)


@helper
def ask_child(h, p, data, child):  # type: ignore[no-untyped-def]
    """Send a request down to a child; returns the command's handle."""
    return send_packet(h, data, block_of(h) | TAG_REQUEST, p[A_PORT] + 1 + child)


@helper
def ask_parent(h, p, control, data):  # type: ignore[no-untyped-def]
    """Pass a child's request on: as it is, or, where another child asked for the block in this pause, for all below
    this switch; and no more once that was asked for."""
    at, child = now(h), asker(h)
    charge(h, load=2, load_use=2, alu=4, store=3, branch=3)
    if control[W_ASKED] == 0 or at - control[W_ASKED] >= p[A_PAUSE]:
        control[W_ASKED] = at
        control[W_ASKER] = child + 1
    elif control[W_ASKER] == 0:
        return
    elif control[W_ASKER] != child + 1:
        control[W_ASKER] = 0
        put_word(data, AT_ADDRESS, p[A_ADDRESS])
    data[AT_CHILD] = p[A_OWN_NUMBER]
    send_packet(h, data, block_of(h) | TAG_REQUEST, p[A_PORT])
