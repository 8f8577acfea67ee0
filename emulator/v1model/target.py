"""v1model's externs as the passes and engines need to know them."""

from __future__ import annotations

from emulator.p4.target import Target
from emulator.v1model.metadata import PREFIX, WIDTHS_BITS

HASH_OF_VALID = "hash_of_valid_fields"
"""``hash`` of bmv2's JSON where the list of the calculation has header fields themselves. Current p4c (1.2.5) copies
the items of hash()'s list to temporaries first, so that fields of invalid headers count."""
VALID_LISTS = frozenset(
    {
        HASH_OF_VALID,
        "verify_checksum",
        "verify_checksum_with_payload",
        "update_checksum",
        "update_checksum_with_payload",
    }
)
"""Externs that leave out fields of invalid headers from their lists, as bmv2's calculations do."""

V1MODEL_TARGET = Target(
    out_arguments={
        "register.read": (0,),
        "hash": (0,),
        HASH_OF_VALID: (0,),
        "update_checksum": (2,),
        "update_checksum_with_payload": (2,),
        "random": (0,),
        "meter.execute_meter": (1,),
        "direct_meter.read": (0,),
        "Checksum16.get": (0,),
    },
    repeatable=frozenset({"register.read", "register.write"}),
    index_argument={"register.read": 1, "register.write": 0},
    bit_lists=VALID_LISTS | {"hash", "Checksum16.get"},
    valid_lists=VALID_LISTS,
    hidden_variables=frozenset(PREFIX + name for name in WIDTHS_BITS),
)
