"""The three atomicities: what a batch that fails leaves behind, and what its members are told."""

from __future__ import annotations

import pytest

from emulator.p4runtime.errors import Code
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from tests.labs.p4runtime_device import Bench, bench, call, error_of, exact, packet, value_of

__all__ = ["bench"]

OK, ABORTED, FAILS = Code.OK, Code.ABORTED, ("INSERT", "table_entry { table_id: 1 }")
ATOMICITIES = ("ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC")


def forward(key: int, value: int, rest: str = "") -> str:
    action = f"action {{ {call('send', 1, value)} }}" if value else ""
    return f"table_entry {{ table_id: $forward {exact(1, key)} {exact(2, 0, 4)} {action} {rest} }}"


def member(number: int, value: int) -> str:
    action = call("set_value", value) if value else ""
    return f"action_profile_member {{ action_profile_id: $selector member_id: {number} {action} }}"


def group(*members: str) -> str:
    text = " ".join(f"members {{ member_id: {number} weight: 1 }}" for number in members)
    return f"action_profile_group {{ action_profile_id: $selector group_id: 1 {text} }}"


def multicast(port: int) -> str:
    replicas = f"replicas {{ egress_port: {port} }}"
    return f"packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: 7 {replicas} }} }}"


def session(number: int, port: int) -> str:
    replicas = f"replicas {{ egress_port: {port} }}"
    return f"packet_replication_engine_entry {{ clone_session_entry {{ session_id: {number} {replicas} }} }}"


PACE = 'table_entry { table_id: $pace match { field_id: 2 optional { value: "\\x01" } } priority: 4 %s }'
CHOOSE = f"table_entry {{ table_id: $choose {exact(1, 1)} %s }}"
IDLE = "table_entry { table_id: $idle %s }"
DEFAULT = "table_entry { table_id: $routes is_default_action: true %s }"
CONFIG = "{ cir: 1 cburst: 1 pir: 2 pburst: 2 }"
VALUES = f"value_set_entry {{ value_set_id: $known members {{ {exact(1, 3, 1)} }} members {{ {exact(1, 4, 1)} }} }}"

BEFORE = (
    ("INSERT", forward(1, 11, 'metadata: "a"')),
    ("INSERT", forward(2, 22)),
    ("INSERT", member(1, 10)),
    ("INSERT", member(2, 20)),
    ("INSERT", group("1")),
    ("INSERT", CHOOSE % "action { action_profile_group_id: 1 }"),
    ("INSERT", PACE % f"action {{ {call('note')} }} meter_config {CONFIG} counter_data {{ packet_count: 9 }}"),
    ("INSERT", IDLE % f"action {{ {call('nothing')} }} idle_timeout_ns: 99 controller_metadata: 5"),
    ("INSERT", multicast(1)),
    ("INSERT", session(1, 1)),
    ("INSERT", "digest_entry { digest_id: $seen_t config { max_list_size: 3 } }"),
)

CHANGES = (
    ("MODIFY", forward(1, 12)),
    ("DELETE", forward(2, 0)),
    ("INSERT", forward(3, 33)),
    ("MODIFY", forward(3, 34)),
    ("MODIFY", group("1", "2")),
    ("MODIFY", member(1, 99)),
    ("INSERT", member(3, 30)),
    ("DELETE", CHOOSE % ""),
    ("DELETE", group()),
    ("DELETE", member(2, 0)),
    ("MODIFY", PACE % f"action {{ {call('nothing')} }} counter_data {{ packet_count: 5 }}"),
    ("MODIFY", f"direct_counter_entry {{ {PACE % ''} data {{ packet_count: 50 }} }}"),
    ("MODIFY", f"direct_meter_entry {{ {PACE % ''} }}"),
    ("DELETE", IDLE % ""),
    ("MODIFY", DEFAULT % f"action {{ {call('send', 3, 3)} }}"),
    ("MODIFY", multicast(2)),
    ("DELETE", session(1, 1)),
    ("INSERT", session(2, 1)),
    ("MODIFY", VALUES),
    ("MODIFY", "counter_entry { counter_id: $arrivals data { packet_count: 4 } }"),
    ("MODIFY", f"meter_entry {{ meter_id: $shared index {{ index: 1 }} config {CONFIG} }}"),
    ("MODIFY", 'register_entry { register_id: $sums index { index: 1 } data { bitstring: "\\x07" } }'),
    ("DELETE", "digest_entry { digest_id: $seen_t }"),
)


@pytest.mark.parametrize("atomicity", ATOMICITIES)
def test_all_or_none(bench: Bench, atomicity: str) -> None:
    bench.write(*BEFORE)
    before = bench.everything()
    late = ("INSERT", forward(1, 5))  # found only when its turn comes
    assert bench.codes(*CHANGES, late, atomicity=atomicity) == [ABORTED] * len(CHANGES) + [Code.ALREADY_EXISTS]
    assert sorted(bench.everything()) == sorted(before)
    assert bench.codes(*CHANGES, FAILS, atomicity=atomicity)[-2:] == [ABORTED, Code.INVALID_ARGUMENT]
    assert sorted(bench.everything()) == sorted(before)
    bench.write(*CHANGES, atomicity=atomicity)
    after = bench.everything()
    assert len(set(before) & set(after)) < len(before) - 10


@pytest.mark.parametrize("count", range(1, len(CHANGES)))
def test_any_part_is_taken_back(bench: Bench, count: int) -> None:
    bench.write(*BEFORE)
    before = sorted(bench.everything())
    late = ("DELETE", forward(77, 0))
    assert bench.codes(*CHANGES[:count], late, atomicity="DATAPLANE_ATOMIC")[-1] == Code.NOT_FOUND
    assert sorted(bench.everything()) == before


def test_what_was_taken_back_acts_as_before(bench: Bench) -> None:
    bench.write(*BEFORE)
    bench.codes(("DELETE", forward(1, 0)), ("INSERT", forward(9, 9)), ("DELETE", forward(9, 0)), FAILS)
    bench.write(("INSERT", forward(1, 11)))
    bench.codes(("MODIFY", forward(1, 90)), ("INSERT", forward(2, 1)), atomicity="ROLLBACK_ON_ERROR")
    (frame,) = bench.run(0, packet(key=1))[1]
    assert value_of(frame) == 11


def test_going_on_after_errors(bench: Bench) -> None:
    assert bench.codes(("INSERT", forward(1, 1)), FAILS, ("INSERT", forward(1, 1)), ("INSERT", forward(2, 1))) == [
        OK,
        Code.INVALID_ARGUMENT,
        Code.ALREADY_EXISTS,
        OK,
    ]


def test_unknown_atomicity(bench: Bench) -> None:
    request = p4rt.WriteRequest(atomicity=7)
    request.election_id.low = 1
    assert error_of(lambda: bench.device.write(request)).code == Code.INVALID_ARGUMENT
