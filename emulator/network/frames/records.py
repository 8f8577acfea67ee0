"""The memory of a simulated network, as the compiled loop and Python share it."""

from __future__ import annotations

import numpy as np

from emulator.native.memory import record_at


def _integers(*names: str) -> list[tuple[str, type]]:
    return [(name, np.int64) for name in names]


NETWORK = np.dtype(
    _integers(
        "links",  # address of the LINK records
        "link_count",
        "nodes",  # address of the NODE records
        "sources",  # address of the tree of event sources (see events)
        "leaves",  # its leaves, a power of two
        "batch",  # a FrameBatch record: frames on their way into a switch
        "orders",  # ORDER records: what a host wants to send
        "encapsulation_bytes",  # that every frame has in addition on every link
        "now_ns",
        "hops",  # frames that have come to the far end of a link, lost ones left out
        "events",
        "unfinished",  # operations of hosts
        "crowded",  # 1: some links' rings are to be made larger
        "taken",  # address of the indices of the links whose frames are in the batch
        "capture",  # a WRITER record: the file for frames of links with an interface
        "stray",  # frames that came to a switch without a program
    ),
    align=True,
)

LINK = np.dtype(
    _integers(
        "source",  # index of the node it leaves
        "destination",  # index of the node it enters
        "port",  # by which it enters the destination
        "ring",  # address of the TX_RING that a switch fills; 0 where the source is a host
        "stage",  # an IMPAIRMENT record: what happens to frames at its far end; 0: nothing
        "rate_bps",
        "latency_ns",
        "queue_bytes",
        "loss",  # in units of 2^-53
        "seed",
        "number",  # of the next frame: which ones are lost is a hash of seed and number
        "interface",  # in the capture, plus 1; 0: not captured
        "length",  # of the frame before, and how long it took: division is slow
        "length_ns",
        "free_ns",  # when the last bit of all accepted frames has left
        "last_due_ns",  # when the last of them arrives: none overtakes another, also after a change of latency
        "entries",  # address of ENTRY records, a ring
        "mask",  # entries there are, less one
        "head",  # next frame to arrive, free running
        "started",  # next frame that had to wait when it came and, as far as is known, still waits
        "tail",  # next frame to be accepted
        "waiting_bytes",  # of frames that have not started
        "frames",  # counters: accepted, which includes lost
        "bytes",
        "lost",
        "dropped",  # found the queue full
        "dropped_bytes",
        "most_waiting_bytes",
    ),
    align=True,
)

ENTRY = np.dtype(_integers("due_ns", "start_ns", "address", "length", "posting"), align=True)
"""A frame on a link: when it arrives and when its first bit leaves, where it lies, its bytes (negative: lost on the
way), and the number of its posting (of frames from hosts)."""

NODE = np.dtype(
    _integers(
        "is_host",
        # a switch
        "program",
        "context",
        "out",  # address of an int64 for each link that leaves it: the link's index
        "out_count",
        # a host
        "state",
        "receive",
        "transmit",
        "next_timer",
        "finished",
        "link",  # index of its only link into the network
        "runs_ns",  # of every SLOW_PERIOD_NS, from its beginning: a slow host is stopped for the rest
        "postings",  # frames posted
        "has_more",  # to send as soon as it runs
    ),
    align=True,
)

ORDER = np.dtype([("address", np.uint64), ("length", np.uint32), ("frame", np.uint32)], align=True)
"""A frame that a host wants to send."""

network_at = record_at(NETWORK)
link_at = record_at(LINK)
entry_at = record_at(ENTRY)
node_at = record_at(NODE)
order_at = record_at(ORDER)

LINK_BYTES, ENTRY_BYTES, NODE_BYTES, ORDER_BYTES = (each.itemsize for each in (LINK, ENTRY, NODE, ORDER))
NEVER_NS = 2**62
BATCH_FRAMES = 16
"""Frames that enter a switch in one call of its program."""
MOST_ORDERS = 32
"""Frames that a host sends at one event; what is left follows at once."""
FIRST_ENTRIES = 32
"""Of a link's ring; doubled before an event could fill it."""
