"""Where the aggregator keeps what: words of its handler memory (L2), words of a set (L1)."""

from __future__ import annotations

from hostagent.protocol.services.aggregator import MOST_CHILDREN, VERDICTS

MOST_JOBS = 16
WORD_BYTES = 8

# Handler memory, in words of 64 bits.
P_LANES, P_EPOCH_DROPS, P_PLACE_BYTES, P_PLACES, P_OUT_BYTES = range(5)
"""Lanes of a full frame; frames of another epoch; bytes of a set; sets of a cluster; bytes of a core's buffer."""
P_JOBS = 8
J_EPOCH, J_BASE, J_WINDOW, J_FULL, J_COPIES, J_CHILDREN, J_ELSEWHERE, J_UP = range(8)
"""Words of a job, as in its terms; J_CHILDREN is the highest bit and one. J_UP: a bit of J_ELSEWHERE, whose port and
header lead to the parent; -1: the job has none."""
J_WORDS = 8
P_PORTS = P_JOBS + MOST_JOBS * J_WORDS
"""Port of each child, by row and bit."""
P_MASKS = P_PORTS + MOST_JOBS * MOST_CHILDREN
"""The bits that a contribution of each child sets, by row and bit."""
P_FRAMES = P_MASKS + MOST_JOBS * MOST_CHILDREN
"""Frames by row, bit and verdict."""
P_BYTES = P_FRAMES + MOST_JOBS * MOST_CHILDREN * len(VERDICTS)
"""Bytes by row and verdict."""
P_HEADERS = P_BYTES + MOST_JOBS * len(VERDICTS)
"""First 66 bytes of an answer, by row and bit; SHORT_HEADER_AT: those of a short result."""
HEADER_STRIDE_BYTES, SHORT_HEADER_AT = 144, 72
MEMORY_BYTES = P_HEADERS * WORD_BYTES + MOST_JOBS * MOST_CHILDREN * HEADER_STRIDE_BYTES

# A set in L1, in words of 64 bits; the sums follow, 32 bits each.
S_EPOCH, S_CHUNK, S_CAME, S_FAILED, S_OPERATOR, S_OPERATION, S_FIRST, S_OTHER_OPERATION, S_OTHER = range(9)
S_ABOVE, S_MARKED, S_SHORT = 9, 10, 11
"""S_FIRST and S_OTHER are child numbers. S_EPOCH is 0 in a set that nobody has used. S_ABOVE: 0, ASKED or NO_DATA.
S_MARKED: a contribution came with a mark of congestion (ECN). S_SHORT: bits of those who need no lanes of a result."""
ASKED, NO_DATA = 1, 2
"""The sum has gone to the parent, whose result has not come; the parent's result has no data."""
S_WORDS = 12

# A packet's tag: what the matching rules found.
TAG_BIT_SHIFT, TAG_SET_SHIFT = 8, 16
"""Row of the job in the lowest byte, then the child's bit, then the set's number: 2 * slot + parity; of a frame for
another child that one's bit."""

ANSWER_CHECKSUM = 1
"""Tag of a sent packet: the network interface computes its UDP checksum."""


def place_bytes(lanes: int) -> int:
    """Bytes of a set with its sums; sets start on whole words."""
    return S_WORDS * WORD_BYTES + -(-4 * lanes // WORD_BYTES) * WORD_BYTES
