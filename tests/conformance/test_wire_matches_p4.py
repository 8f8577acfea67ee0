"""The wire format is declared twice, in ``wire.py`` and in ``p4src``: names, order, widths and numbers must agree."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from pathlib import Path

import pytest

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system
from emulator.p4.frontend import Stages, run_stages
from emulator.v1model.architecture import V1MODEL
from hostagent.protocol import counters, wire

PROGRAM = Path(__file__).resolve().parents[2] / "p4src" / "allreduce.p4"
LANES = 64


@cache
def program() -> Stages:
    stages, _ = run_stages(str(PROGRAM), architecture=V1MODEL, defines={"LANES": str(LANES)})
    return stages


def header(name: str) -> ir.HeaderType:
    lowered = program().lowered
    assert lowered is not None
    return next(header.type for header in lowered.program.headers if header.name == name)


def p4_enum(name: str) -> dict[str, int]:
    resolved = program().resolved
    assert resolved is not None
    found = [item for item in resolved.declarations if isinstance(item, type_system.EnumType) and item.name == name]
    return dict(found[0].members)


def test_the_header_has_the_same_fields() -> None:
    assert [(field.name, field.width_bits) for field in header("hdr.netsum").fields] == [
        (field.name, field.width_bits) for field in wire.HEADER
    ]


def test_the_headers_around_it_have_the_same_lengths() -> None:
    lengths = {"hdr.ethernet": wire.ETHERNET_BYTES, "hdr.ipv4": wire.IPV4_BYTES, "hdr.udp": wire.UDP_BYTES}
    lengths |= {"hdr.netsum": wire.HEADER_BYTES, "hdr.lanes": LANES * wire.LANE_BYTES}
    assert {name: header(name).length_bits // 8 for name in lengths} == lengths


@pytest.mark.parametrize(
    ("name", "ours"),
    [("kind_t", wire.Kind), ("operator_t", wire.Operator), ("verdict_t", counters.Verdict), ("drop_t", counters.Drop)],
)
def test_enumerations_have_the_same_members(name: str, ours: type[IntEnum]) -> None:
    assert p4_enum(name) == {member.name: int(member) for member in ours}


CONSTANTS = (
    "ETHERTYPE_IPV4",
    "PROTOCOL_UDP",
    "NETSUM_PORT",
    "NETSUM_VERSION",
    "FLAG_NO_DATA",
    "NEARBY_UNKNOWN",
    "NEARBY_ABSENT",
    "NEARBY_PRESENT",
    "IPV4_BYTES",
    "UDP_SHORT_BYTES",
)


def constants() -> dict[str, int]:
    resolved = program().resolved
    assert resolved is not None
    found = [item for item in resolved.declarations if isinstance(item, r.ConstantSymbol)]
    return {item.name: item.value.value for item in found if isinstance(item.value, r.Literal)}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_have_the_same_value(name: str) -> None:
    assert constants()[name] == getattr(wire, name)
