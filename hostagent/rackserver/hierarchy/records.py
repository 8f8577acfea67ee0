"""Records of the compiled loops for a job that is spread over racks."""

from __future__ import annotations

import numpy as np

from emulator.native.memory import record_at
from hostagent.rackserver.records import MAX_CHILDREN, integers

TIER = np.dtype(
    [*integers("racks", "routes", "everyone", "totals", "traffic"), ("stands_for", np.int64, MAX_CHILDREN)],
    align=True,
)
"""racks       number of racks of the job
routes      ROUTE records, by chunk modulo racks
everyone    the bits of all children of all racks
totals      lanes laid out as ``sums``: totals sent to the racks below, for sets of a service, in which ``sums`` is
            overwritten by weights; 0: ``sums`` holds the totals
traffic     TRAFFIC of core 0; that of core i is i records further
stands_for  by bit: the bits of the workers that the child represents; for a child of this rack its bit
"""

ROUTE = np.dtype(integers("full", "below", "up"), align=True)
"""full   bitmap of a complete set: this rack's children, and the racks below by their lowest bits
below  those racks alone
up     the bit of the rack above; -1: the chunk is finished here
"""

TRAFFIC = np.dtype(
    integers("part_bytes", "total_bytes", "again_bytes", "message_bytes", "frames", "dropped"), align=True
)
"""One core's, of one job. Bytes of lanes that went to other racks: partial sums, totals, and either once more.

message_bytes  of messages and acknowledgements, behind their headers
frames         sent to other racks
dropped        of theirs: of a chunk that is over, or that can't be of this set
"""

tier_at = record_at(TIER)
route_record = record_at(ROUTE)
ROUTE_BYTES, TRAFFIC_BYTES = ROUTE.itemsize, TRAFFIC.itemsize
