"""v1model's standard metadata and enumerations (v1model.p4; bmv2's simple_switch)."""

from __future__ import annotations

from enum import Enum, IntEnum

from emulator.p4 import ir

DROP_PORT = 511
"""egress_spec of a packet to drop."""
MARKED_TO_DROP = {"egress_spec": DROP_PORT, "mcast_grp": 0}
"""What mark_to_drop sets in its argument, and nothing else (bmv2, targets/simple_switch/primitives.cpp)."""
PREFIX = "standard_metadata."

WIDTHS_BITS = {
    "ingress_port": 9,
    "egress_spec": 9,
    "egress_port": 9,
    "instance_type": 32,
    "packet_length": 32,
    "enq_timestamp": 32,
    "enq_qdepth": 19,
    "deq_timedelta": 32,
    "deq_qdepth": 19,
    "ingress_global_timestamp": 48,
    "egress_global_timestamp": 48,
    "mcast_grp": 16,
    "egress_rid": 16,
    "checksum_error": 1,
    "parser_error": 32,
    "priority": 3,
}


def standard(name: str) -> ir.Variable:
    """The variable of a standard metadata field."""
    return ir.Variable(PREFIX + name, ir.Bits(WIDTHS_BITS[name]))


class Instance(IntEnum):
    """instance_type: the origin of a packet (simple_switch's numbers)."""

    NORMAL = 0
    INGRESS_CLONE = 1
    EGRESS_CLONE = 2
    RECIRCULATED = 4
    REPLICATED = 5
    RESUBMITTED = 6


class Algorithm(Enum):
    """``HashAlgorithm``, numbered as v1model.p4 declares it."""

    CRC32 = 0
    CRC32_CUSTOM = 1
    CRC16 = 2
    CRC16_CUSTOM = 3
    RANDOM = 4
    IDENTITY = 5
    CSUM16 = 6
    XOR16 = 7


class Drop(Enum):
    """Why the switch itself dropped a packet or a copy: index of the counter, and its description."""

    INGRESS = (0, "dropped by ingress")
    EGRESS = (1, "dropped by egress")
    NO_SUCH_PORT = (2, "no such port")
    RING_FULL = (3, "egress ring full")
    TOO_LONG = (4, "longer than the egress port takes")
    NO_SUCH_GROUP = (5, "no such multicast group")
    PRIORITY = (6, "priority without priority queues")
    ASSERTION = (7, "failed assertion")
    LOOP_LIMIT = (8, "loop limit")
    QUEUE_FULL = (9, "re-injection queue full")
    REINJECTED_TOO_OFTEN = (10, "re-injected too often")
    DIGEST_FULL = (11, "digest queue full")
    """A sample, not a packet."""
    LOG_FORMAT = (12, "log message with more or fewer values than braces")
    EGRESS_QUEUE_FULL = (13, "egress queue full")
    QUEUES_FULL = (14, "memory of the egress queues full")

    @property
    def index(self) -> int:
        return self.value[0]

    @property
    def words(self) -> str:
        return self.value[1]


class Fault(Enum):
    """Operations without an effect because of a wrong argument: counted, never undefined behaviour."""

    REGISTER_INDEX = (0, "register index out of range")
    COUNTER_INDEX = (1, "counter index out of range")
    METER_INDEX = (2, "meter index out of range")
    NO_SUCH_SESSION = (3, "no such clone session")
    RANDOM_BOUNDS = (4, "random bounds the wrong way round")
    LOG_FULL = (5, "log full")

    @property
    def index(self) -> int:
        return self.value[0]

    @property
    def words(self) -> str:
        return self.value[1]
