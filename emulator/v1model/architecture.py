"""v1model as the front end sees it. The rest of this package implements simple_switch's behaviour."""

from __future__ import annotations

from pathlib import Path

from emulator.p4.architecture import PACKET_IN, PACKET_OUT, Architecture, CallForm
from emulator.v1model.metadata import MARKED_TO_DROP

_VERIFY, _INGRESS, _EGRESS, _COMPUTE = (frozenset((block,)) for block in ("vr", "ig", "eg", "ck"))

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
    functions=frozenset(
        (
            "mark_to_drop",
            "hash",
            "verify_checksum",
            "verify_checksum_with_payload",
            "update_checksum",
            "update_checksum_with_payload",
            "clone",
            "clone3",
            "clone_preserving_field_list",
            "resubmit",
            "resubmit_preserving_field_list",
            "recirculate",
            "recirculate_preserving_field_list",
            "truncate",
            "digest",
            "random",
            "log_msg",
            "assert",
            "assume",
        )
    ),
    methods=frozenset(
        (
            "register.read",
            "register.write",
            "counter.count",
            "direct_counter.count",
            "meter.execute_meter",
            "direct_meter.read",
            "Checksum16.get",
        )
    ),
    externs=frozenset(
        (
            "register",
            "counter",
            "direct_counter",
            "meter",
            "direct_meter",
            "action_profile",
            "action_selector",
            "Checksum16",
        )
    ),
    match_kinds=frozenset(("exact", "lpm", "ternary", "range", "optional", "selector")),
    table_properties={
        "counters": ("direct_counter",),
        "meters": ("direct_meter",),
        "implementation": ("action_profile", "action_selector"),
    },
    table_flags=frozenset(("support_timeout",)),
    function_blocks={
        "verify_checksum": _VERIFY,
        "verify_checksum_with_payload": _VERIFY,
        "update_checksum": _COMPUTE,
        "update_checksum_with_payload": _COMPUTE,
        "clone(I2E)": _INGRESS,
        "clone3(I2E)": _INGRESS,
        "clone_preserving_field_list(I2E)": _INGRESS,
        "clone(E2E)": _EGRESS,
        "clone3(E2E)": _EGRESS,
        "clone_preserving_field_list(E2E)": _EGRESS,
        "resubmit": _INGRESS,
        "recirculate": _EGRESS,
        "resubmit_preserving_field_list": _INGRESS,
        "recirculate_preserving_field_list": _EGRESS,
        "digest": _INGRESS | _EGRESS,
    },
    call_forms={
        "digest": CallForm.NAMED,
        "log_msg": CallForm.FORMATTED,
        "assert": CallForm.PLACED,
        "assume": CallForm.PLACED,
    },
    conditional_outs=frozenset(("register.read", "meter.execute_meter", "random")),
    setters={"mark_to_drop": ("standard_metadata", MARKED_TO_DROP)},
    field_lists=("field_list", "meta"),
    former_members={
        "standard_metadata_t.drop": "call mark_to_drop(standard_metadata)",
        "standard_metadata_t.clone_spec": "call clone or clone_preserving_field_list",
        "standard_metadata_t.resubmit_flag": "call resubmit_preserving_field_list in ingress",
        "standard_metadata_t.recirculate_flag": "call recirculate_preserving_field_list in egress",
        "standard_metadata_t.recirculate_port": "call recirculate_preserving_field_list in egress",
        "standard_metadata_t.lf_field_list": "call digest",
        "standard_metadata_t.parser_status": "read parser_error",
    },
    any_case_is_last=True,
    defines={"__TARGET_BMV2__": "1"},
)
"""What is not listed is refused by name, with its position in the source."""
