"""Who may do what and when, and pipeline configs, against a switch made of dictionaries."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.p4runtime.device import Device
from emulator.p4runtime.errors import Code, RequestError
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from tests.fakes.fake_device import (
    DEVICE_ID,
    ELECTION_ID,
    FORWARD_1,
    GET,
    SET,
    bare,
    device,
    get_pipeline,
    group,
    job,
    package,
    read,
    route,
    set_pipeline,
    texts,
    write,
)
from tests.fakes.fake_switch import (
    FORWARD,
    JOBS,
    P4INFO_TEXT,
    SUMS,
    parse_p4info,
)

__all__ = ["bare", "device"]

# --- Who may, and when ------------------------------------------------------------------------------------------


def test_checks_come_in_order(bare: Device) -> None:
    request = p4rt.WriteRequest(device_id=9, role="nobody")
    for code, fix in (
        (Code.NOT_FOUND, {"device_id": DEVICE_ID}),
        (Code.NOT_FOUND, {"role": ""}),
        (Code.PERMISSION_DENIED, {"election_id": p4rt.Uint128(low=ELECTION_ID)}),
        (Code.FAILED_PRECONDITION, {}),
    ):
        with pytest.raises(RequestError) as caught:
            bare.write(request)
        assert caught.value.code == code
        request.MergeFrom(p4rt.WriteRequest(**{k: v for k, v in fix.items() if k != "role"}))
        if "role" in fix:
            request.role = ""
        if "device_id" in fix:
            request.device_id = DEVICE_ID


def test_election_ids_have_128_bits(device: Device) -> None:
    request = p4rt.WriteRequest(device_id=DEVICE_ID)
    request.election_id.low, request.election_id.high = ELECTION_ID, 1
    with pytest.raises(RequestError) as caught:
        device.write(request)
    assert caught.value.code == Code.PERMISSION_DENIED


def test_read_needs_a_program_and_the_device(bare: Device) -> None:
    with pytest.raises(RequestError) as caught:
        read(bare, "table_entry {}")
    assert caught.value.code == Code.FAILED_PRECONDITION
    with pytest.raises(RequestError) as caught:
        list(bare.read(p4rt.ReadRequest(device_id=8)))
    assert caught.value.code == Code.NOT_FOUND


# --- Pipeline configs -------------------------------------------------------------------------------------------

COOKIE = p4rt.ForwardingPipelineConfig.Cookie(cookie=77)


def denied(device: Device, action: int, text: str | None = P4INFO_TEXT, **fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        set_pipeline(device, action, text, **fields)
    return caught.value


def test_nothing_is_set_at_first(bare: Device) -> None:
    assert not get_pipeline(bare).HasField("config")
    with pytest.raises(RequestError) as caught:
        bare.get_pipeline(GET(device_id=9))
    assert caught.value.code == Code.NOT_FOUND


def test_get_gives_back_what_was_set(bare: Device) -> None:
    set_pipeline(bare, SET.VERIFY_AND_COMMIT, cookie=COOKIE)
    config = get_pipeline(bare).config
    assert config.p4info == parse_p4info()
    assert config.p4_device_config == package()
    assert config.cookie.cookie == 77
    only_cookie = get_pipeline(bare, GET.COOKIE_ONLY).config
    assert (only_cookie.HasField("p4info"), only_cookie.p4_device_config, only_cookie.cookie.cookie) == (False, b"", 77)
    info = get_pipeline(bare, GET.P4INFO_AND_COOKIE).config
    assert (info.HasField("p4info"), info.p4_device_config) == (True, b"")
    blob = get_pipeline(bare, GET.DEVICE_CONFIG_AND_COOKIE).config
    assert (blob.HasField("p4info"), blob.p4_device_config) == (False, package())


def test_no_cookie_no_cookie(device: Device) -> None:
    assert not get_pipeline(device).config.HasField("cookie")


def test_p4info_must_agree(bare: Device) -> None:
    similar = parse_p4info(P4INFO_TEXT.replace('arch: "v1model"', 'arch: "v1model" name: "other"'))
    set_pipeline(bare, SET.VERIFY_AND_COMMIT, p4info=similar)
    assert get_pipeline(bare).config.p4info == similar
    for change, complaint in [
        (("bitwidth: 16 match", "bitwidth: 17 match"), "table AllreduceIngress.jobs has fields"),
        (
            ('name: "port" bitwidth: 9 }', 'name: "port" bitwidth: 8 }'),
            "action AllreduceIngress.forward has parameters",
        ),
        (("id: 0x12000001", "id: 0x12000002"), "counter AllreduceIngress.drops"),
        (("size: 16", "size: 17"), "register AllreduceIngress.sums has size 17"),
    ]:
        error = denied(bare, SET.VERIFY, p4info=parse_p4info(P4INFO_TEXT.replace(*change)))
        assert error.code == Code.INVALID_ARGUMENT
        assert complaint in error.message


@pytest.mark.parametrize("action", [SET.VERIFY, SET.VERIFY_AND_SAVE, SET.VERIFY_AND_COMMIT, SET.RECONCILE_AND_COMMIT])
def test_what_cannot_be_realised_changes_nothing(device: Device, action: int) -> None:
    write(device, ("INSERT", job(1, 1)))
    assert denied(device, action, None).code == Code.INVALID_ARGUMENT
    error = denied(device, action, "#error")
    assert (error.code, "p.p4:1:1: error: as asked" in error.message) == (Code.INVALID_ARGUMENT, True)
    request = SET(device_id=DEVICE_ID, action=action, config=p4rt.ForwardingPipelineConfig(p4_device_config=b"junk"))
    request.election_id.low = ELECTION_ID
    with pytest.raises(RequestError) as caught:
        device.set_pipeline(request)
    assert caught.value.code == Code.INVALID_ARGUMENT
    assert len(read(device, "table_entry {}")) == 1


def test_verify_changes_nothing(bare: Device) -> None:
    set_pipeline(bare, SET.VERIFY)
    assert not get_pipeline(bare).HasField("config")
    assert denied(bare, SET.COMMIT, None).code == Code.NOT_FOUND


def test_commit_clears_the_state(device: Device) -> None:
    write(device, ("INSERT", job(1, 1, FORWARD_1 + 'metadata: "m"')), ("INSERT", group(1)))
    set_pipeline(device, SET.VERIFY_AND_COMMIT)
    assert read(device, "table_entry {}", group(0)) == []
    write(device, ("INSERT", job(1, 1)))
    assert read(device, "table_entry {}")[0].table_entry.metadata == b""


WIDER = P4INFO_TEXT.replace('id: 1 name: "job" bitwidth: 16', 'id: 1 name: "job" bitwidth: 17')
NO_JOBS = P4INFO_TEXT.replace("id: 0x02000002", "id: 0x02000022")


def test_save_then_write_then_commit(device: Device) -> None:
    write(device, ("INSERT", job(1, 1)))
    set_pipeline(device, SET.VERIFY_AND_SAVE, WIDER, cookie=COOKIE)
    assert read(device, "table_entry {}") == []
    assert get_pipeline(device).config.cookie.cookie == 77
    wide = f'table_entry {{ table_id: {JOBS} match {{ field_id: 1 exact {{ value: "\\1\\0\\0" }} }} '
    wide += f'match {{ field_id: 2 exact {{ value: "\\1" }} }} {FORWARD_1} metadata: "kept" }}'
    default = f"table_entry {{ table_id: {JOBS} is_default_action: true {FORWARD_1} }}"
    write(device, ("INSERT", wide), ("INSERT", group(4, "egress_port: 1")), ("MODIFY", default))
    set_pipeline(device, SET.COMMIT, None)
    (entity,) = read(device, "table_entry {}")
    assert (entity.table_entry.match[0].exact.value, entity.table_entry.metadata) == (b"\1\0\0", b"kept")
    assert len(read(device, group(0))) == 1
    assert read(device, default)[0].table_entry.action.action.action_id == FORWARD
    assert denied(device, SET.COMMIT, None).code == Code.NOT_FOUND
    assert denied(device, SET.COMMIT).code == Code.INVALID_ARGUMENT


def test_reconcile_keeps_the_state(device: Device) -> None:
    cell = f'register_entry {{ register_id: {SUMS} index {{ index: 1 }} data {{ bitstring: "\\x09" }} }}'
    write(
        device,
        ("INSERT", job(1, 1, FORWARD_1 + "controller_metadata: 4")),
        ("INSERT", route(b"\x0a\x00\x00\x00", 8, FORWARD_1 + "counter_data { packet_count: 6 }")),
        ("INSERT", group(1, "egress_port: 1")),
        ("MODIFY", cell),
    )
    before = texts(read(device, "table_entry { counter_data {} }", group(0), "register_entry {}", "counter_entry {}"))
    set_pipeline(device, SET.RECONCILE_AND_COMMIT, WIDER)
    after = texts(read(device, "table_entry { counter_data {} }", group(0), "register_entry {}", "counter_entry {}"))
    assert after == before
    assert "packet_count: 6" in " ".join(after)


def test_reconcile_with_a_program_that_cannot_hold_the_state(device: Device) -> None:
    write(device, ("INSERT", job(1, 1)))
    error = denied(device, SET.RECONCILE_AND_COMMIT, NO_JOBS)
    assert error.code == Code.INVALID_ARGUMENT
    assert "cannot take over" in error.message
    assert get_pipeline(device).config.p4info == parse_p4info()
    assert len(read(device, "table_entry {}")) == 1


def test_reconcile_without_a_program_is_a_commit(bare: Device) -> None:
    set_pipeline(bare, SET.RECONCILE_AND_COMMIT)
    assert get_pipeline(bare).HasField("config")


def test_only_the_primary_sets_programs(bare: Device) -> None:
    request = SET(device_id=DEVICE_ID, action=SET.VERIFY)
    with pytest.raises(RequestError) as caught:
        bare.set_pipeline(request)
    assert caught.value.code == Code.PERMISSION_DENIED


@pytest.mark.parametrize("action", [0, 6, 99])
def test_unknown_actions(bare: Device, action: int) -> None:
    assert denied(bare, action).code == Code.INVALID_ARGUMENT


def test_unknown_response_type(device: Device) -> None:
    with pytest.raises(RequestError) as caught:
        get_pipeline(device, 9)
    assert caught.value.code == Code.INVALID_ARGUMENT
