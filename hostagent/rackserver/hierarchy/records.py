"""What the compiled loops know of a job that is spread over racks."""

from __future__ import annotations

import numpy as np

from emulator.native.memory import record_at
from hostagent.rackserver.records import MAX_CHILDREN, integers

TIER = np.dtype(
    [*integers("racks", "routes", "everyone", "totals", "traffic"), ("stands_for", np.int64, MAX_CHILDREN)],
    align=True,
)
"""racks       of the job
routes      ROUTE records, by chunk modulo racks
everyone    the bits of all children of all racks
totals      lanes as ``sums``: what went to the racks below, of a service's sets, whose own lanes become weights;
            0: sums have them
traffic     TRAFFIC of core 0, those of core i are i records further
stands_for  by bit: the bits of those in whose place it is; its own for a child of this rack
"""

ROUTE = np.dtype(integers("full", "below", "up"), align=True)
"""full   bitmap of a complete set: this rack's children, and the racks below by their lowest bits
below  those racks alone
up     the bit of the rack above; -1: the chunk is finished here
"""

TRAFFIC = np.dtype(integers("part_bytes", "total_bytes", "again_bytes", "frames", "dropped"), align=True)
"""One core's, of one job. Bytes of lanes that went to other racks: partial sums, totals, and either once more.

frames   sent to other racks
dropped  of theirs: of a chunk that is over, or that can't be of this set
"""

tier_at = record_at(TIER)
route_record = record_at(ROUTE)
ROUTE_BYTES, TRAFFIC_BYTES = ROUTE.itemsize, TRAFFIC.itemsize
