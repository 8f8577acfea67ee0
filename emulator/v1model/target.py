"""What passes must know of v1model's externs."""

from __future__ import annotations

from emulator.p4.target import Target
from emulator.v1model.metadata import PREFIX, WIDTHS_BITS

V1MODEL_TARGET = Target(
    out_arguments={
        "register.read": (0,),
        "hash": (0,),
        "update_checksum": (2,),
        "update_checksum_with_payload": (2,),
        "random": (0,),
        "meter.execute_meter": (1,),
        "direct_meter.read": (0,),
        "Checksum16.get": (0,),
    },
    repeatable=frozenset({"register.read", "register.write"}),
    index_argument={"register.read": 1, "register.write": 0},
    bit_lists=frozenset(
        {
            "hash",
            "verify_checksum",
            "verify_checksum_with_payload",
            "update_checksum",
            "update_checksum_with_payload",
            "Checksum16.get",
        }
    ),
    hidden_variables=frozenset(PREFIX + name for name in WIDTHS_BITS),
)
