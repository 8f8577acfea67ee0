"""Every entity of P4Runtime written, acted on by packets, and read back, on a switch with one of everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf import text_format

from emulator.p4runtime.errors import BatchError, Code
from emulator.switch.profiles import MOST_CHOICES
from tests.labs.p4runtime_device import ENTITIES_PROGRAM, Bench, bench, bits, call, exact, packet, value_of

__all__ = ["bench"]


def out(bench: Bench, **fields: int) -> bytes:
    (frame,) = bench.run(0, packet(**fields))[1]
    return frame


def member(number: int, action: str, profile: str = "selector") -> str:
    return f"action_profile_member {{ action_profile_id: ${profile} member_id: {number} {action} }}"


def group(number: int, *members: str, rest: str = "") -> str:
    text = " ".join(f"members {{ {each} }}" for each in members)
    return f"action_profile_group {{ action_profile_id: $selector group_id: {number} {text} {rest} }}"


def chosen(key: int, target: str, table: str = "choose") -> str:
    return f"table_entry {{ table_id: ${table} {exact(1, key)} action {{ {target} }} }}"


def one_shot(*actions: str) -> str:
    text = " ".join(f"action_profile_actions {{ {action} }}" for action in actions)
    return f"action_profile_action_set {{ {text} }}"


def text_of(entity: object) -> str:
    return text_format.MessageToString(entity, as_one_line=True)


# --- Match kinds ------------------------------------------------------------------------------------------------

RANGE = f'match {{ field_id: 1 range {{ low: "{bits(0, 5)}" high: "{bits(0, 9)}" }} }}'
OPTIONAL = f'match {{ field_id: 2 optional {{ value: "{bits(1)}" }} }}'
TERNARY = f'match {{ field_id: 3 ternary {{ value: "{bits(0x10, 0)}" mask: "{bits(0xF0, 0)}" }} }}'


def pace(keys: str, rest: str = "priority: 1", action: str = call("note")) -> str:
    return f"table_entry {{ table_id: $pace {keys} action {{ {action} }} {rest} }}"


def test_range_optional_and_ternary_keys(bench: Bench) -> None:
    bench.insert(pace(RANGE + OPTIONAL + TERNARY, "priority: 3"), pace(OPTIONAL, "priority: 2"), pace(""))
    first, second, third = bench.read("table_entry { table_id: $pace }")
    assert [m.WhichOneof("field_match_type") for m in first.table_entry.match] == ["range", "optional", "ternary"]
    assert (first.table_entry.match[0].range.low, first.table_entry.match[0].range.high) == (b"\5", b"\x09")
    assert second.table_entry.match[0].optional.value == b"\1"
    assert not third.table_entry.match
    out(bench, key=7, kind=1, other=0x1234)
    out(bench, key=10, kind=1, other=0x1234)
    hits = [e.direct_counter_entry.data.packet_count for e in bench.read("direct_counter_entry {}")]
    assert hits == [1, 1, 0]


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        (f'match {{ field_id: 1 range {{ low: "{bits(9)}" high: "{bits(5)}" }} }}', "above its high end"),
        (f'match {{ field_id: 1 range {{ low: "{bits(0)}" high: "{bits(255, 255)}" }} }}', "leave the field out"),
        (f'match {{ field_id: 1 range {{ high: "{bits(5)}" }} }}', "low end: the value is empty"),
        ("match { field_id: 2 optional { } }", "the value is empty"),
        (f'match {{ field_id: 2 optional {{ value: "{bits(1, 0)}" }} }}', "does not fit in 8 bits"),
        (f'match {{ field_id: 2 exact {{ value: "{bits(1)}" }} }}', "the key is optional, the message gives exact"),
    ],
)
def test_malformed_ranges_and_optionals(bench: Bench, keys: str, complaint: str) -> None:
    code, message = bench.refused("INSERT", pace(keys))
    assert (code, complaint in message) == (Code.INVALID_ARGUMENT, True), message
    assert bench.refused("INSERT", pace(RANGE, ""))[0] == Code.INVALID_ARGUMENT  # no priority


# --- Action profiles --------------------------------------------------------------------------------------------


def test_members_and_groups(bench: Bench) -> None:
    bench.insert(member(1, call("set_value", 11)), member(2, call("set_value", 22)))
    bench.insert(group(5, "member_id: 1 weight: 2", 'member_id: 2 weight: 1 watch_port: "\\x00\\x03"'))
    bench.insert(chosen(1, "action_profile_member_id: 2"), chosen(2, "action_profile_group_id: 5"))
    assert value_of(out(bench, key=1)) == 22
    values = {value_of(out(bench, key=2, flow=flow)) for flow in range(40)}
    assert values == {11, 22}
    bench.write(("MODIFY", member(1, call("add_value", 7))))
    assert {value_of(out(bench, key=2, flow=flow, value=1)) for flow in range(40)} == {8, 22}
    (entity,) = bench.read(group(5))
    members = [(m.member_id, m.weight, m.watch_port) for m in entity.action_profile_group.members]
    assert members == [(1, 2, b""), (2, 1, b"\3")]
    assert len(bench.read("action_profile_member {}")) == 2
    assert len(bench.read("action_profile_member { action_profile_id: $selector member_id: 2 }")) == 1
    assert bench.read("action_profile_member { action_profile_id: $profile }") == []
    assert [e.table_entry.action.WhichOneof("type") for e in bench.read("table_entry { table_id: $choose }")] == [
        "action_profile_member_id",
        "action_profile_group_id",
    ]


def test_what_is_in_use_stays(bench: Bench) -> None:
    bench.insert(member(1, call("set_value", 11)), group(5, "member_id: 1 weight: 1"))
    bench.insert(chosen(2, "action_profile_group_id: 5"))
    assert bench.codes(("DELETE", member(1, "")), ("DELETE", group(5))) == [Code.FAILED_PRECONDITION] * 2
    bench.write(("DELETE", chosen(2, "")), ("DELETE", group(5)), ("DELETE", member(1, "")))
    assert bench.read("action_profile_member {}", "action_profile_group {}") == []


@pytest.mark.parametrize(
    ("update_type", "text", "code"),
    [
        ("INSERT", member(1, call("set_value", 1)), Code.ALREADY_EXISTS),
        ("INSERT", member(0, call("set_value", 1)), Code.INVALID_ARGUMENT),
        ("INSERT", member(2, ""), Code.INVALID_ARGUMENT),
        ("INSERT", member(2, call("note")), Code.INVALID_ARGUMENT),
        ("INSERT", member(2, call("set_value")), Code.INVALID_ARGUMENT),
        ("INSERT", member(2, call("NoAction")), Code.PERMISSION_DENIED),
        ("MODIFY", member(2, call("set_value", 1)), Code.NOT_FOUND),
        ("DELETE", member(2, ""), Code.NOT_FOUND),
        ("INSERT", group(5, "member_id: 1 weight: 1"), Code.ALREADY_EXISTS),
        ("INSERT", group(6, "member_id: 9 weight: 1"), Code.NOT_FOUND),
        ("INSERT", group(6, "member_id: 1"), Code.INVALID_ARGUMENT),
        ("INSERT", group(6, "member_id: 1 weight: -1"), Code.INVALID_ARGUMENT),
        ("INSERT", group(6, "member_id: 1 weight: 1", "member_id: 1 weight: 1"), Code.INVALID_ARGUMENT),
        ("INSERT", group(6, "member_id: 1 weight: 9", rest="max_size: 8"), Code.RESOURCE_EXHAUSTED),
        ("INSERT", group(6, 'member_id: 1 weight: 1 watch_port: "\\x09"'), Code.INVALID_ARGUMENT),
        ("INSERT", group(0), Code.INVALID_ARGUMENT),
        ("MODIFY", group(6), Code.NOT_FOUND),
        ("MODIFY", group(5, "member_id: 1 weight: 1", rest="max_size: 4"), Code.INVALID_ARGUMENT),
        ("DELETE", group(6), Code.NOT_FOUND),
        ("INSERT", "action_profile_group { action_profile_id: $profile group_id: 1 }", Code.INVALID_ARGUMENT),
        ("INSERT", "action_profile_member { action_profile_id: 77 member_id: 1 }", Code.INVALID_ARGUMENT),
        ("INSERT", chosen(9, "action_profile_member_id: 7"), Code.NOT_FOUND),
        ("INSERT", chosen(9, "action_profile_group_id: 7"), Code.NOT_FOUND),
        ("INSERT", chosen(9, call("set_value", 1)), Code.INVALID_ARGUMENT),
        ("INSERT", chosen(9, "action_profile_group_id: 7", "single"), Code.INVALID_ARGUMENT),
        ("INSERT", chosen(9, one_shot(call("set_value", 1) + "weight: 1")), Code.INVALID_ARGUMENT),
        ("MODIFY", "table_entry { table_id: $choose is_default_action: true action { } }", Code.PERMISSION_DENIED),
    ],
)
def test_refusals_of_profiles(bench: Bench, update_type: str, text: str, code: Code) -> None:
    bench.insert(member(1, call("set_value", 11)), group(5, "member_id: 1 weight: 1"))
    before = bench.everything()
    found, message = bench.refused(update_type, text)
    assert found == code, message
    assert bench.everything() == before


def test_a_profile_without_selector(bench: Bench) -> None:
    bench.insert(*(member(n, call("add_value", n), "profile") for n in (1, 2, 3, 4)))
    assert bench.refused("INSERT", member(5, call("nothing"), "profile"))[0] == Code.RESOURCE_EXHAUSTED
    bench.insert(chosen(3, "action_profile_member_id: 4", "single"))
    assert value_of(out(bench, key=3)) == 4


def test_one_shots(bench: Bench) -> None:
    shot = one_shot(
        call("set_value", 1) + "weight: 1",
        call("set_value", 2) + 'weight: 3 watch_port: "\\x02"',
        call("set_value", 1) + "weight: 1",
    )
    bench.insert(chosen(4, shot))
    assert {value_of(out(bench, key=4, flow=flow)) for flow in range(40)} == {1, 2}
    (entity,) = bench.read("table_entry { table_id: $choose }")
    actions = entity.table_entry.action.action_profile_action_set.action_profile_actions
    assert [(a.action.params[0].value, a.weight, a.watch_port) for a in actions] == [
        (b"\1", 1, b""),
        (b"\2", 3, b"\2"),
        (b"\1", 1, b""),
    ]
    assert bench.read("action_profile_member {}", "action_profile_group {}") == []
    bench.write(("MODIFY", chosen(4, one_shot(call("add_value", 5) + "weight: 1"))))
    assert value_of(out(bench, key=4, value=1)) == 6
    assert bench.refused("INSERT", member(1, call("set_value", 11)))[0] == Code.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "shot",
    [
        one_shot(),
        one_shot(call("set_value", 1)),
        one_shot(call("set_value", 1) + "weight: -2"),
        one_shot(call("set_value", 1) + 'weight: 1 watch_port: "\\x08"'),
        one_shot(call("note") + "weight: 1"),
    ],
)
def test_malformed_one_shots(bench: Bench, shot: str) -> None:
    assert bench.refused("INSERT", chosen(4, shot))[0] == Code.INVALID_ARGUMENT


# --- Meters -----------------------------------------------------------------------------------------------------

CONFIG = "config { cir: 1 cburst: 1 pir: 2 pburst: 2 }"


def test_meters(bench: Bench) -> None:
    cell = "meter_entry { meter_id: $shared index { index: 1 } %s }"
    assert out(bench, kind=1)[13] == 0
    bench.write(("MODIFY", cell % CONFIG))
    (entity,) = bench.read(cell % "")
    assert text_of(entity.meter_entry.config) == "cir: 1 cburst: 1 pir: 2 pburst: 2"
    read = bench.read("meter_entry { meter_id: $shared }")
    assert [e.meter_entry.HasField("config") for e in read] == [False, True, False, False]
    bench.write(("MODIFY", cell % ""))
    assert not bench.read(cell % "")[0].meter_entry.HasField("config")
    bench.write(("MODIFY", f"meter_entry {{ meter_id: $shared {CONFIG} }}"))
    assert all(e.meter_entry.HasField("config") for e in bench.read("meter_entry {}"))


def test_counts_of_meters_by_colour(bench: Bench) -> None:
    cell = "meter_entry { meter_id: $shared index { index: 1 } %s }"

    def packets() -> list[int]:
        (entity,) = bench.read(cell % "counter_data {}")
        data = entity.meter_entry.counter_data
        return [data.green.packet_count, data.yellow.packet_count, data.red.packet_count]

    bench.write(("MODIFY", cell % CONFIG))
    for _ in range(4):
        out(bench, kind=1)
    assert packets() == [1, 1, 2]
    assert not bench.read(cell % "")[0].meter_entry.HasField("counter_data")
    bench.set_pipeline("RECONCILE_AND_COMMIT")
    assert packets() == [1, 1, 2]
    bench.write(("MODIFY", cell % "counter_data { red { packet_count: 9 byte_count: 8 } }"))
    assert packets() == [0, 0, 9]
    updates = ("MODIFY", cell % "counter_data {}"), ("MODIFY", "meter_entry { meter_id: $shared index { index: 9 } }")
    bench.codes(*updates, atomicity="ROLLBACK_ON_ERROR")
    assert packets() == [0, 0, 9]


def test_direct_meters(bench: Bench) -> None:
    bench.insert(pace(OPTIONAL, f"priority: 1 meter_{CONFIG}"))
    assert [out(bench, kind=1)[13] for _ in range(4)] == [0, 1, 2, 2]
    key = f"table_entry {{ table_id: $pace {OPTIONAL} priority: 1 }}"
    (entity,) = bench.read(f"direct_meter_entry {{ {key} }}")
    assert entity.direct_meter_entry.config.pburst == 2
    assert bench.read("table_entry { table_id: $pace meter_config {} }")[0].table_entry.meter_config.cburst == 1
    assert not bench.read("table_entry { table_id: $pace }")[0].table_entry.HasField("meter_config")
    bench.write(("MODIFY", f"direct_meter_entry {{ {key} }}"))
    assert [out(bench, kind=1)[13] for _ in range(4)] == [0, 0, 0, 0]
    assert not bench.read("direct_meter_entry {}")[0].direct_meter_entry.HasField("config")
    bench.write(("MODIFY", f"direct_meter_entry {{ {key} {CONFIG} }}"))
    bench.write(("MODIFY", pace(OPTIONAL)))  # without a config: reset
    assert not bench.read("direct_meter_entry {}")[0].direct_meter_entry.HasField("config")


@pytest.mark.parametrize(
    ("update_type", "text", "code"),
    [
        ("INSERT", "meter_entry { meter_id: $shared }", Code.INVALID_ARGUMENT),
        ("MODIFY", "meter_entry { meter_id: $shared index { index: 4 } }", Code.OUT_OF_RANGE),
        ("MODIFY", "meter_entry { meter_id: $shared index { index: -1 } }", Code.INVALID_ARGUMENT),
        ("MODIFY", "meter_entry { meter_id: $shared config { cir: 2 pir: 1 } }", Code.INVALID_ARGUMENT),
        ("MODIFY", "meter_entry { meter_id: $shared config { cir: -1 pir: 1 } }", Code.INVALID_ARGUMENT),
        ("MODIFY", "meter_entry { meter_id: $shared config { eburst: 1 } }", Code.INVALID_ARGUMENT),
        (
            "MODIFY",
            "meter_entry { meter_id: $shared counter_data { red { packet_count: -1 } } }",
            Code.INVALID_ARGUMENT,
        ),
        (
            "MODIFY",
            f"direct_meter_entry {{ table_entry {{ table_id: $pace {OPTIONAL} priority: 1 }} }}",
            Code.NOT_FOUND,
        ),
        ("MODIFY", "direct_meter_entry { table_entry { table_id: $idle } }", Code.INVALID_ARGUMENT),
        (
            "INSERT",
            pace(OPTIONAL, "priority: 1 meter_counter_data { green { byte_count: -1 } }"),
            Code.INVALID_ARGUMENT,
        ),
    ],
)
def test_refusals_of_meters(bench: Bench, update_type: str, text: str, code: Code) -> None:
    found, message = bench.refused(update_type, text)
    assert found == code, message


# --- Clone sessions and value sets ------------------------------------------------------------------------------


def session(number: int, rest: str = 'replicas { port: "\\x02" instance: 1 } replicas { egress_port: 3 }') -> str:
    return f"packet_replication_engine_entry {{ clone_session_entry {{ session_id: {number} {rest} }} }}"


def test_clone_sessions(bench: Bench) -> None:
    assert bench.run(0, packet(kind=2)).keys() == {1}
    bench.insert(session(5))
    assert bench.run(0, packet(kind=2)).keys() == {1, 2, 3}
    (entity,) = bench.read(session(0, ""))
    replicas = entity.packet_replication_engine_entry.clone_session_entry.replicas
    assert [(r.port, r.egress_port, r.instance) for r in replicas] == [(b"\2", 0, 1), (b"", 3, 0)]
    bench.write(("MODIFY", session(5, "replicas { egress_port: 2 } packet_length_bytes: 20")))
    assert [len(frame) for frame in bench.run(0, packet(kind=2))[2]] == [20]
    bench.write(("DELETE", session(5, "")))
    assert bench.run(0, packet(kind=2)).keys() == {1}
    assert bench.read(session(0, "")) == []


@pytest.mark.parametrize(
    ("update_type", "text", "code"),
    [
        ("INSERT", session(5), Code.ALREADY_EXISTS),
        ("MODIFY", session(6), Code.NOT_FOUND),
        ("DELETE", session(6), Code.NOT_FOUND),
        ("INSERT", session(0), Code.INVALID_ARGUMENT),
        ("INSERT", session(70000), Code.OUT_OF_RANGE),
        ("INSERT", session(6, "packet_length_bytes: -1"), Code.INVALID_ARGUMENT),
        ("INSERT", session(6, "replicas { instance: 4 }"), Code.INVALID_ARGUMENT),
        ("INSERT", session(6, "replicas { egress_port: 1 backup_replicas { instance: 1 } }"), Code.OUT_OF_RANGE),
        ("INSERT", session(6, 'replicas { egress_port: 1 backup_replicas { port: "\\1" } }'), Code.INVALID_ARGUMENT),
    ],
)
def test_refusals_of_sessions(bench: Bench, update_type: str, text: str, code: Code) -> None:
    bench.insert(session(5))
    found, message = bench.refused(update_type, text)
    assert found == code, message
    assert len(bench.read(session(0, ""))) == 1


def known(*values: int) -> str:
    members = " ".join(f"members {{ {exact(1, value, 1)} }}" for value in values)
    return f"value_set_entry {{ value_set_id: $known {members} }}"


def test_value_sets_of_other_kinds_than_exact(tmp_path: Path) -> None:
    program = tmp_path / "kinds.p4"
    text = Path(ENTITIES_PROGRAM).read_text().replace("value_set<bit<8>>(4) known", "value_set<kind_t>(4) known")
    program.write_text(text.replace("struct seen_t", "struct kind_t { @match(ternary) bit<8> kind; }\nstruct seen_t"))
    bench = Bench("interpreter", str(program))
    ternary = 'members { match { field_id: 1 ternary { value: "\\x40" mask: "\\x60" } } }'
    bench.write(("MODIFY", f"value_set_entry {{ value_set_id: $known {ternary} }}"))
    (member,) = bench.read("value_set_entry {}")[0].value_set_entry.members
    assert (member.match[0].ternary.value, member.match[0].ternary.mask) == (b"\x40", b"\x60")
    assert [out(bench, kind=kind)[3:5] == b"\xff\xff" for kind in (0x41, 0xC0, 0x61)] == [True, True, False]
    bench.close()


def test_value_sets(bench: Bench) -> None:
    assert out(bench, kind=6)[3:5] == bytes(2)
    bench.write(("MODIFY", known(6, 8)))
    assert out(bench, kind=6)[3:5] == b"\xff\xff"
    (entity,) = bench.read("value_set_entry {}")
    assert [m.match[0].exact.value for m in entity.value_set_entry.members] == [b"\6", b"\x08"]
    assert bench.refused("MODIFY", known(6, 6))[0] == Code.ALREADY_EXISTS
    assert bench.refused("MODIFY", known(1, 2, 3, 4, 5))[0] == Code.RESOURCE_EXHAUSTED
    assert bench.refused("INSERT", known(1))[0] == Code.INVALID_ARGUMENT
    assert bench.refused("MODIFY", "value_set_entry { value_set_id: $known members {} }")[0] == Code.INVALID_ARGUMENT
    assert len(bench.read("value_set_entry { value_set_id: $known }")[0].value_set_entry.members) == 2
    bench.write(("MODIFY", known()))
    assert out(bench, kind=6)[3:5] == bytes(2)


# --- Idle time-outs in entries, and reads -------------------------------------------------------------------------


def idle(rest: str, prefix_len: int = 16) -> str:
    key = f'match {{ field_id: 1 lpm {{ value: "{bits(0, 5)}" prefix_len: {prefix_len} }} }}'
    return f"table_entry {{ table_id: $idle {key} action {{ {call('nothing')} }} {rest} }}"


def test_idle_times_are_told(bench: Bench) -> None:
    bench.insert(idle("idle_timeout_ns: 5000"))
    bench.now_ns += 400
    wanted = "table_entry { table_id: $idle time_since_last_hit {} }"
    (entity,) = bench.read(wanted)
    assert (entity.table_entry.idle_timeout_ns, entity.table_entry.time_since_last_hit.elapsed_ns) == (5000, 400)
    out(bench, key=5)
    bench.now_ns += 50
    assert bench.read(wanted)[0].table_entry.time_since_last_hit.elapsed_ns == 50
    assert not bench.read("table_entry { table_id: $idle }")[0].table_entry.HasField("time_since_last_hit")
    bench.write(("MODIFY", idle("")))
    assert bench.read(wanted)[0].table_entry.idle_timeout_ns == 0
    assert bench.refused("INSERT", idle("idle_timeout_ns: -5", 15))[0] == Code.INVALID_ARGUMENT
    for text in (
        "table_id: $pace time_since_last_hit {}",
        "table_id: $idle is_default_action: true time_since_last_hit {}",
    ):
        with pytest.raises(BatchError):
            bench.read(f"table_entry {{ {text} }}")


def test_filters_by_action(bench: Bench) -> None:
    bench.insert(member(1, call("set_value", 11)), member(2, call("set_value", 22)))
    bench.insert(chosen(1, "action_profile_member_id: 1"), chosen(2, "action_profile_member_id: 2"))
    assert len(bench.read("table_entry { table_id: $choose action { action_profile_member_id: 2 } }")) == 1
    assert bench.read("table_entry { table_id: $choose action { action_profile_group_id: 2 } }") == []
    assert len(bench.read("table_entry { table_id: $choose action { } }")) == 2


def test_state_outlives_a_change_of_programs(bench: Bench) -> None:
    bench.insert(
        member(1, call("set_value", 11)),
        group(5, "member_id: 1 weight: 2"),
        chosen(1, "action_profile_group_id: 5"),
        pace(OPTIONAL, f"priority: 1 meter_{CONFIG}"),
        idle("idle_timeout_ns: 5000"),
        session(5),
        "digest_entry { digest_id: $seen_t config { max_list_size: 3 } }",
    )
    bench.write(("MODIFY", known(6)), ("MODIFY", f"meter_entry {{ meter_id: $shared {CONFIG} }}"))
    before = bench.everything()
    bench.set_pipeline("RECONCILE_AND_COMMIT")
    assert bench.everything() == before
    bench.set_pipeline("VERIFY_AND_SAVE")
    bench.insert(session(6))
    bench.set_pipeline("COMMIT")
    assert [e.packet_replication_engine_entry.clone_session_entry.session_id for e in bench.read(session(0, ""))] == [6]


# --- Filters, sizes, and entities without members ---


def test_the_whole_state_is_read_with_externs_in_the_list(bench: Bench) -> None:
    """ "Wildcard Reads" has ``extern_entry {}`` in its example; a program without externs has none to tell of."""
    assert bench.read("extern_entry {}", "action_profile_group {}") == []
    with pytest.raises(BatchError) as caught:
        bench.read("extern_entry { extern_type_id: 1 }")
    assert [error and error.code for error in caught.value.errors] == [Code.UNIMPLEMENTED]


def test_a_priority_filters_also_where_no_entry_has_one(bench: Bench) -> None:
    key = exact(1, 1) + exact(2, 1, 4)
    bench.insert(f"table_entry {{ table_id: $forward {key} action {{ {call('send', 1, 2)} }} }}")
    assert len(bench.read(f"table_entry {{ table_id: $forward {key} }}")) == 1
    assert bench.read(f"table_entry {{ table_id: $forward {key} priority: 3 }}") == []
    assert bench.read("table_entry { table_id: $forward priority: 3 }") == []


def test_weights_beyond_memory_are_refused(bench: Bench) -> None:
    heavy, text = (1 << 31) - 1, "table_entry { table_id: $choose %s action { action_profile_action_set { %s } } }"
    shots = f"action_profile_actions {{ {call('set_value', 1)} weight: %d }}"
    for weights in ((heavy,), (MOST_CHOICES, 1), (heavy, heavy, 1)):
        actions = " ".join(shots % weight for weight in weights)
        assert bench.refused("INSERT", text % (exact(1, 1), actions))[0] == Code.RESOURCE_EXHAUSTED
    bench.insert(f"action_profile_member {{ action_profile_id: $selector member_id: 1 {call('set_value', 1)} }}")
    group = "action_profile_group { action_profile_id: $selector group_id: 1 %s }"
    for rest in (f"members {{ member_id: 1 weight: {heavy} }}", f"max_size: {MOST_CHOICES + 1}"):
        assert bench.refused("INSERT", group % rest)[0] == Code.RESOURCE_EXHAUSTED
    bench.insert(group % f"max_size: {MOST_CHOICES} members {{ member_id: 1 weight: 3 }}")


# --- Constant entries -----------------------------------------------------------------------------------------------

CONSTANTS = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> x; }
struct headers_t { h_t h; } struct metadata_t { }
parser P(packet_in p, out headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t m) { apply { } }
control I(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets) of_all;
    direct_counter(CounterType.packets) of_some;
    action nothing() { }
    action send(bit<9> port) { sm.egress_spec = port; }
    table all {
        key = { hdr.h.x: ternary; }
        actions = { send; nothing; }
        const entries = { 1: send(1); 2 &&& 7: send(2); }
        counters = of_all;
    }
    table some {
        key = { hdr.h.x: exact; }
        actions = { send; nothing; }
        entries = { const 1: send(1); 2: send(2); }
        counters = of_some;
    }
    apply { all.apply(); some.apply(); }
}
control E(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""
ALL = 'table_entry { table_id: $all match { field_id: 1 ternary { value: "\\1" mask: "\\xff" } } priority: 2 %s }'
SOME = 'table_entry { table_id: $some match { field_id: 1 exact { value: "\\1" } } %s }'
SAME = 'action { action { action_id: $send params { param_id: 1 value: "\\1" } } }'


@pytest.fixture
def constants(tmp_path: Path) -> Iterator[Bench]:
    source = tmp_path / "constants.p4"
    source.write_text(CONSTANTS)
    bench = Bench("interpreter", str(source))
    yield bench
    bench.close()


@pytest.mark.parametrize("entry", [ALL, SOME])
def test_a_constant_entry_takes_no_action_not_even_its_own(constants: Bench, entry: str) -> None:
    assert constants.refused("MODIFY", entry % SAME)[0] == Code.PERMISSION_DENIED
    assert constants.refused("DELETE", entry % "")[0] == Code.PERMISSION_DENIED
    constants.write(("MODIFY", entry % "counter_data { packet_count: 5 }"))
    (found,) = constants.read(entry % "counter_data {}")
    assert (found.table_entry.counter_data.packet_count, found.table_entry.is_const) == (5, True)


def test_what_was_written_to_constant_entries_outlives_the_program(constants: Bench) -> None:
    for entry in (ALL, SOME):
        constants.write(("MODIFY", entry % 'counter_data { packet_count: 5 } metadata: "mine"'))
    constants.write(("DELETE", 'table_entry { table_id: $some match { field_id: 1 exact { value: "\\2" } } }'))
    constants.set_pipeline("RECONCILE_AND_COMMIT")
    found = [e.table_entry for e in constants.read("table_entry { counter_data {} }")]
    assert [(e.counter_data.packet_count, e.metadata, e.is_const) for e in found] == [
        (5, b"mine", True),
        (0, b"", True),
        (5, b"mine", True),
    ]


def test_many_entries_outlive_the_program(bench: Bench) -> None:
    """More than are prepared at once, with what entries lead to written before them."""
    bench.insert(f"action_profile_member {{ action_profile_id: $selector member_id: 1 {call('set_value', 1)} }}")
    target = "action { action_profile_member_id: 1 }"
    bench.insert(*(f"table_entry {{ table_id: $choose {exact(1, number)} {target} }}" for number in range(100)))
    bench.write(("MODIFY", f'table_entry {{ table_id: $choose {exact(1, 7)} {target} metadata: "seven" }}'))
    before = bench.everything()
    bench.set_pipeline("RECONCILE_AND_COMMIT")
    assert bench.everything() == before
