"""v1model as the front end sees it. What simple_switch does with it stands in the rest of this package."""

from __future__ import annotations

from pathlib import Path

from emulator.p4.architecture import PACKET_IN, PACKET_OUT, Architecture

V1MODEL = Architecture(
    name="v1model",
    include_folders=(str(Path(__file__).parent / "include"),),
    package="V1Switch",
    blocks={
        "p": (PACKET_IN, "hdr", "meta", "standard_metadata"),
        "vr": ("hdr", "meta"),
        "ig": ("hdr", "meta", "standard_metadata"),
        "eg": ("hdr", "meta", "standard_metadata"),
        "ck": ("hdr", "meta"),
        "dep": (PACKET_OUT, "hdr"),
    },
    functions=frozenset(("mark_to_drop", "hash", "verify_checksum", "update_checksum")),
    methods=frozenset(("register.read", "register.write", "counter.count", "direct_counter.count")),
    externs=frozenset(("register", "counter", "direct_counter")),
    match_kinds=frozenset(("exact", "lpm", "ternary")),
    table_properties={"counters": "direct_counter"},
    function_blocks={
        "verify_checksum": frozenset(("vr",)),
        "update_checksum": frozenset(("ck",)),
    },
    defines={"__TARGET_BMV2__": "1"},
)
"""Grows as the engines learn more: whatever is not listed is refused by name, with its place."""
