"""The P4Info of p4src/allreduce.p4 as far as the controller uses it, so that these tests need no compiler.

tests/conformance compares the names and widths with what the compiler makes of the program itself.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import text_format

from emulator.rpc.p4protos import p4info_pb2

TABLES = {
    "AllreduceIngress.jobs": ({"job": 16}, "AllreduceIngress.set_job"),
    "AllreduceIngress.children": (
        {"job": 16, "child": 16, "port": 9, "source_mac": 48, "source_ip": 32},
        "AllreduceIngress.set_child",
    ),
    "AllreduceIngress.peers": ({"job": 16, "child": 16}, "AllreduceIngress.forward"),
    "AllreduceEgress.copies": ({"port": 9, "rid": 16}, "AllreduceEgress.address_copy"),
}
ACTIONS = {
    "AllreduceIngress.set_job": {
        "epoch": 32,
        "base": 32,
        "window": 32,
        "window_log2": 8,
        "first_slot": 32,
        "full": 64,
        "group": 16,
        "short_allowed": 1,
        "statistics": 16,
    },
    "AllreduceIngress.set_leaf_job": {},
    "AllreduceIngress.set_overflowing_job": {},
    "AllreduceIngress.set_child": {"bit_mask": 64, "zero_checksum_allowed": 1},
    "AllreduceIngress.forward": {
        "port": 9,
        "source_mac": 48,
        "destination_mac": 48,
        "source_ip": 32,
        "destination_ip": 32,
    },
    "AllreduceEgress.address_copy": {
        "child": 16,
        "copy_mask": 64,
        "source_mac": 48,
        "destination_mac": 48,
        "source_ip": 32,
        "destination_ip": 32,
        "compute_checksum": 1,
    },
}
ACTIONS["AllreduceIngress.set_leaf_job"] = {
    **ACTIONS["AllreduceIngress.set_job"],
    "parent_port": 9,
    "own_mac": 48,
    "parent_mac": 48,
    "own_ip": 32,
    "parent_ip": 32,
    "parent_zero_checksum_allowed": 1,
    "elsewhere": 64,
}
ACTIONS["AllreduceIngress.set_overflowing_job"] = {
    **ACTIONS["AllreduceIngress.set_job"],
    "slots": 32,
    "server_port": 9,
    "server_mac": 48,
    "server_ip": 32,
}
COUNTERS = {"AllreduceIngress.verdicts": 1024, "AllreduceIngress.drops": 16}


def aggregator_p4info(lanes: int = 64, slots: int = 512) -> Any:
    """A P4Info with made-up ids."""
    info = p4info_pb2.P4Info()
    info.pkg_info.arch = "v1model"
    numbers = {}
    for index, (name, params) in enumerate(ACTIONS.items()):
        action = info.actions.add()
        action.preamble.id, action.preamble.name = 0x01000001 + index, name
        numbers[name] = action.preamble.id
        for position, (param, width) in enumerate(params.items(), 1):
            action.params.add(id=position, name=param, bitwidth=width)
    for index, (name, (keys, action_name)) in enumerate(TABLES.items()):
        table = info.tables.add(size=4096)
        table.preamble.id, table.preamble.name = 0x02000001 + index, name
        table.action_refs.add(id=numbers[action_name])
        if action_name == "AllreduceIngress.set_job":
            for kind in ("leaf", "overflowing"):
                table.action_refs.add(id=numbers[f"AllreduceIngress.set_{kind}_job"])
        for position, (key, width) in enumerate(keys.items(), 1):
            table.match_fields.add(id=position, name=key, bitwidth=width, match_type=p4info_pb2.MatchField.EXACT)
    for index, (name, size) in enumerate(COUNTERS.items()):
        counter = info.counters.add(size=size)
        counter.preamble.id, counter.preamble.name = 0x12000001 + index, name
        counter.spec.unit = p4info_pb2.CounterSpec.BOTH
    names = ["AllreduceIngress.set_epoch", *(f"AllreduceIngress.sum_{lane:03x}" for lane in range(lanes))]
    for index, name in enumerate(names):
        register = info.registers.add(size=2 * slots)
        register.preamble.id, register.preamble.name = 0x16000001 + index, name
        register.type_spec.bitstring.bit.bitwidth = 32
    return info


def aggregator_p4info_text(lanes: int = 64) -> str:
    """The same as text."""
    return text_format.MessageToString(aggregator_p4info(lanes))
