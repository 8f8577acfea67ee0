"""What Flare's handlers find in memory: their parameters in L2, and the layout of a block's place in L1.

A block has a place in the scratchpad of its cluster: control words, then rows of a packet's length. The place's number
travels in the packet's tag, put there by the parser from what the manager installed.
"""

from __future__ import annotations

WORD_BYTES = 8

(
    A_CHILDREN,
    A_BUFFERS,
    A_ROW_BYTES,
    A_PACKET_BYTES,
    A_CONTROL_WORDS,
    A_PLACES,
    A_PLACE_BYTES,
    A_LOCKS_PER_PLACE,
    A_CLUSTERS_PER_GROUP,
    A_ELEMENT_CYCLES,
    A_ELEMENT_INSTRUCTIONS,
    A_OPERATION,
    A_MORE_WORDS,
    A_ITEM_BYTES,
    A_OPERATOR,
    A_ROWS,
    A_PORT,
    A_REMOTE_CYCLES,
    A_REPEATS,
    A_LOG,
    A_LOG_COUNT,
    A_IS_ROOT,
    A_OWN_NUMBER,
    A_ADDRESS,
    A_PAUSE,
    A_AGAIN,
    A_WORDS,
) = range(27)
"""Parameters, int64 words of handler memory. ``A_ELEMENT_*`` are the price of 64 elements of a row, ``A_OPERATION`` the
cycles of one operation on two elements that are in registers, ``A_MORE_WORDS`` words of an element beyond the first,
``A_ROWS`` the address of the machine code that combines rows by operator ``A_OPERATOR``. ``A_REPEATS`` counts packets
that were in already. ``A_LOG`` is an instrument outside of the machine: the address of a list of cycles, times two,
plus one where a buffer was taken into use and not given back. ``A_PORT`` is the way up, or of the root (``A_IS_ROOT``)
to all children; one child has ``A_PORT + 1 +`` its number. In a tree a switch has a number among its parent's children
(``A_OWN_NUMBER``) and one among all members (``A_ADDRESS``). A request for a block goes up again after ``A_PAUSE``
cycles; ``A_AGAIN`` counts packets sent again."""

OPERATOR_CODES = {"sum": 0, "min": 1, "max": 2, "product": 3}
SUM, MIN, MAX, PRODUCT, USERS = range(5)

W_COUNT = 0
"""Control word: packets added."""
W_FILLED = 1
"""Control word: bits of the rows that hold something."""
W_DONE = 2
"""Control word: whether the result, then in row 0, was sent."""
W_ASKED = 3
"""Control word: when a request was passed on; 0: none was."""
W_ASKER = 4
"""Control word: of which child, plus 1; 0: the last was for all of them."""
W_CAME = 5
"""First control word of the children's bits, 32 a word (an atomic works on 32 bits)."""
CHILDREN_A_WORD = 32

BLOCK_BITS = 32
"""Bits of a tag that are the block; above them is the block's place."""
TAG_REQUEST = 1 << BLOCK_BITS
"""Flag in the tag of a packet that is sent: it is a request."""
REQUEST_SOURCE = 1 << 16
"""More than any child's number. The parser gives requests this and the child's number as their source; for one from
above the number of children denotes the parent."""
TO_MEMBER = 1 << 16
"""More than any child's port: with a member's number the port by which a packet goes down to that host, or to all hosts
below that switch, and to no others."""
