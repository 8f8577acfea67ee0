"""Digests, idle time-outs and packets to and from controllers, in the time of the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.protobuf import text_format

from emulator.p4runtime.errors import Code
from emulator.p4runtime.stream import notifications
from emulator.p4runtime.stream.digests import DigestBatch, DigestBuffer, DigestConfig
from emulator.p4runtime.stream.idle import IdleTimers
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from tests.labs.p4runtime_device import CPU_PORT, Bench, bits, call, error_of, exact, packet, value_of


@pytest.fixture(params=("interpreter", "llvm"))
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    bench = Bench(request.param)
    yield bench
    bench.close()


# --- Packets ----------------------------------------------------------------------------------------------------


def packet_out(port: bytes, payload: bytes) -> p4rt.PacketOut:
    return p4rt.PacketOut(payload=payload, metadata=[p4rt.PacketMetadata(metadata_id=1, value=port)])


def test_packet_out(bench: Bench) -> None:
    bench.device.packet_out("c", packet_out(b"\x03", packet(value=9)))
    (frame,) = bench.packets_out
    assert frame == b"\x01\x80" + packet(value=9)
    assert bench.run(CPU_PORT, frame) == {3: [packet(value=9)]}


@pytest.mark.parametrize(
    ("metadata", "complaint"),
    [
        ("metadata { metadata_id: 7 }", "no metadata with id 7"),
        ('metadata { metadata_id: 1 value: "\\x02\\x00" }', "egress_port: 0x0200 does not fit in 9 bits"),
        ("metadata { metadata_id: 1 }", "egress_port: the value is empty"),
        ('metadata { metadata_id: 1 value: "1" } metadata { metadata_id: 1 value: "1" }', "occurs twice"),
    ],
)
def test_malformed_packet_outs(bench: Bench, metadata: str, complaint: str) -> None:
    message = text_format.Parse(metadata, p4rt.PacketOut())
    error = error_of(lambda: bench.device.packet_out("c", message))
    assert (error.code, complaint in error.message) == (Code.INVALID_ARGUMENT, True), error.message
    assert bench.packets_out == []


def test_only_the_primary_sends(bench: Bench) -> None:
    bench.arbitrate("d", 2)
    assert error_of(lambda: bench.device.packet_out("c", packet_out(b"\1", b""))).code == Code.PERMISSION_DENIED
    bench.device.packet_out("d", packet_out(b"\1", b"x"))


def test_packet_in(bench: Bench) -> None:
    (frame,) = bench.run(2, packet(kind=4, key=6))[CPU_PORT]
    assert bench.device.packet_in(frame)
    ((stream, message),) = bench.sent
    assert stream == "c"
    assert message.packet.payload == packet(kind=4, key=6)
    assert [(m.metadata_id, m.value) for m in message.packet.metadata] == [(1, b"\2"), (2, b"\x09")]
    assert not bench.device.packet_in(b"\1")
    assert len(bench.sent) == 1


def test_packets_go_to_the_primary_of_each_role(bench: Bench) -> None:
    bench.arbitrate("d", 7, "other")
    bench.arbitrate("e", 6, "other")
    bench.device.packet_in(bytes(20))
    assert [stream for stream, _ in bench.sent] == ["c", "d"]


# --- Digests ----------------------------------------------------------------------------------------------------


def enable(bench: Bench, config: str) -> None:
    bench.insert(f"digest_entry {{ digest_id: $seen_t config {{ {config} }} }}")


def see(bench: Bench, *keys: int) -> None:
    bench.run(0, *(packet(kind=5, key=key) for key in keys))


def test_digests(bench: Bench) -> None:
    see(bench, 1)
    assert bench.said() == []
    enable(bench, "max_list_size: 2")
    assert bench.said() == []  # what was seen before is nobody's business
    see(bench, 7, 8, 7, 9)
    first, second = bench.said()
    assert (first.digest.list_id, len(first.digest.data), len(second.digest.data)) == (1, 2, 1)
    members = first.digest.data[0].struct.members
    assert [m.WhichOneof("data") for m in members] == ["bitstring", "bitstring", "bool", "bitstring"]
    assert (members[0].bitstring, members[1].bitstring, members[2].bool) == (b"\7", b"\0", True)
    assert members[3].bitstring == b"\xfd"
    assert abs(first.digest.timestamp) > 0
    see(bench, 7)
    assert len(bench.said()) == 1  # no ack_timeout_ns: nothing is remembered
    bench.write(("DELETE", "digest_entry { digest_id: $seen_t }"))
    see(bench, 7)
    assert bench.said() == []


def test_acknowledgements(bench: Bench) -> None:
    enable(bench, f"max_list_size: 1 ack_timeout_ns: {10**15}")
    see(bench, 7)
    (sent,) = bench.said()
    see(bench, 7, 7)
    assert bench.said() == []
    bench.device.acknowledge("c", p4rt.DigestListAck(digest_id=sent.digest.digest_id, list_id=sent.digest.list_id))
    see(bench, 7)
    assert len(bench.said()) == 1
    assert error_of(lambda: bench.device.acknowledge("c", p4rt.DigestListAck(digest_id=4))).code == 3
    assert error_of(lambda: bench.device.acknowledge("x", p4rt.DigestListAck())).code == Code.PERMISSION_DENIED
    bench.arbitrate("d", 2)
    see(bench, 7)
    assert len(bench.said()) == 1  # the new primary has not heard of it


@pytest.mark.parametrize(
    ("update_type", "config", "code"),
    [
        ("INSERT", "", Code.ALREADY_EXISTS),
        ("MODIFY", "config { max_list_size: -1 }", Code.INVALID_ARGUMENT),
        ("MODIFY", "config { ack_timeout_ns: -1 }", Code.INVALID_ARGUMENT),
    ],
)
def test_refusals_of_digests(bench: Bench, update_type: str, config: str, code: Code) -> None:
    text = f"digest_entry {{ digest_id: $seen_t {config} }}"
    assert bench.refused("MODIFY", "digest_entry { digest_id: $seen_t }")[0] == Code.NOT_FOUND
    assert bench.refused("DELETE", "digest_entry { digest_id: $seen_t }")[0] == Code.NOT_FOUND
    enable(bench, "max_timeout_ns: 5 max_list_size: 6 ack_timeout_ns: 7")
    assert bench.refused(update_type, text)[0] == code
    (entity,) = bench.read("digest_entry {}")
    config_read = entity.digest_entry.config
    assert (config_read.max_timeout_ns, config_read.max_list_size, config_read.ack_timeout_ns) == (5, 6, 7)


def test_a_digest_waits_and_is_sent_once() -> None:
    buffer = DigestBuffer(DigestConfig(max_timeout_ns=100, max_list_size=3, ack_timeout_ns=1000))
    buffer.add([(1,), (2,), (1,)], 0)
    assert buffer.take(99) == []
    assert buffer.take(100) == [DigestBatch(1, ((1,), (2,)))]
    buffer.add([(1,), (3,), (4,), (5,), (6,)], 200)
    assert buffer.take(200) == [DigestBatch(2, ((3,), (4,), (5,)))]
    buffer.acknowledge(2)
    buffer.acknowledge(77)
    buffer.add([(3,), (1,)], 250)
    assert buffer.take(300) == [DigestBatch(3, ((6,), (3,)))]
    buffer.add([(1,)], 1100)  # the first list has timed out
    assert buffer.take(1200) == [DigestBatch(4, ((1,),))]


def test_swept_acknowledgements_time_out_between_one_and_two_time_outs() -> None:
    buffer = DigestBuffer(DigestConfig(max_timeout_ns=0, max_list_size=0, ack_timeout_ns=1000), sweeps_acks=True)
    buffer.add([(1,)], 1100)
    assert buffer.take(1100) == [DigestBatch(1, ((1,),))]
    buffer.add([(1,)], 2200)  # the sweep at 2000 was the list's first
    assert buffer.take(2200) == []
    buffer.add([(1,)], 3000)
    assert buffer.take(3000) == [DigestBatch(2, ((1,),))]


# --- Idle time-outs ---------------------------------------------------------------------------------------------


def idle(key: int, rest: str = "idle_timeout_ns: 1000 controller_metadata: 8") -> str:
    match = f'match {{ field_id: 1 lpm {{ value: "{bits(0, key)}" prefix_len: 16 }} }}'
    return f"table_entry {{ table_id: $idle {match} action {{ {call('nothing')} }} {rest} }}"


def idle_keys(bench: Bench) -> list[bytes]:
    return [
        entry.match[0].lpm.value for message in bench.said() for entry in message.idle_timeout_notification.table_entry
    ]


def test_idle_entries_are_told_of(bench: Bench) -> None:
    bench.insert(idle(1), idle(2), idle(3, ""))
    bench.now_ns += 999
    assert idle_keys(bench) == []
    bench.run(0, packet(key=2))
    bench.now_ns += 1
    (message,) = bench.said()
    (entry,) = message.idle_timeout_notification.table_entry
    assert (entry.match[0].lpm.value, entry.idle_timeout_ns, entry.controller_metadata) == (b"\1", 1000, 8)
    assert idle_keys(bench) == []
    bench.now_ns += 999
    assert idle_keys(bench) == [b"\2"]
    bench.now_ns += 1
    assert idle_keys(bench) == [b"\1"]
    bench.write(("DELETE", idle(1)), ("MODIFY", idle(2, "")))
    bench.now_ns += 10_000
    assert idle_keys(bench) == []


def test_no_controller_no_notification(bench: Bench) -> None:
    bench.insert(idle(1))
    bench.device.disconnect("c")
    bench.now_ns += 5000
    assert bench.said() == []
    bench.arbitrate("d", 2)
    assert idle_keys(bench) == [b"\1"]


def test_timers_forget_what_is_set_again() -> None:
    timers: IdleTimers[str] = IdleTimers()
    for number in range(1000):
        timers.set("a", 5000 - number)
    timers.set("b", 3)
    timers.forget("b")
    assert list(timers.take_due(4000)) == []
    assert list(timers.take_due(4001)) == ["a"]
    assert list(timers.take_due(9999)) == []


# --- Watch ports ------------------------------------------------------------------------------------------------


def values(bench: Bench, key: int) -> set[int]:
    frames = bench.run(0, *(packet(key=key, flow=flow, value=99) for flow in range(40)))[1]
    return {value_of(frame) for frame in frames}


def test_members_and_actions_that_watch_ports(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "PORT_CHECK_NS", 0)
    one, two = (call("set_value", number) + f'weight: 2 watch_port: "{bits(number)}"' for number in (1, 2))
    shot = f"action_profile_action_set {{ action_profile_actions {{ {one} }} action_profile_actions {{ {two} }} }}"
    one_shot = f"table_entry {{ table_id: $choose {exact(1, 5)} action {{ {shot} }} }}"
    for number in (1, 2):
        member = f"action_profile_id: $selector member_id: {number} {call('set_value', number)}"
        grouped = " ".join(f'members {{ member_id: {n} weight: 1 watch_port: "{bits(n)}" }}' for n in (1, 2))
        bench.insert(f"action_profile_member {{ {member} }}")
    bench.insert(f"action_profile_group {{ action_profile_id: $selector group_id: 1 {grouped} }}")
    to_group = f"table_entry {{ table_id: $choose {exact(1, 5)} action {{ action_profile_group_id: 1 }} }}"
    bench.insert(to_group)
    _watch_in_turn(bench)
    bench.set_pipeline("VERIFY_AND_COMMIT")
    bench.insert(one_shot)
    _watch_in_turn(bench)
    bench.write(("DELETE", one_shot))


def _watch_in_turn(bench: Bench) -> None:
    for down, chosen in ((set(), {1, 2}), ({2}, {1}), ({1}, {2}), ({1, 2}, {99}), ({3}, {1, 2}), (set(), {1, 2})):
        bench.down = down
        bench.said()
        assert values(bench, 5) == chosen
