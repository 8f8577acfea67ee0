"""Updates prepared as rows: they do what the same updates do that are prepared as table entries."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from emulator.p4runtime.entities import registry, tables, tables_read
from emulator.p4runtime.errors import BatchError
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from tests.labs.p4runtime_device import Bench, bits, call, exact

AS_TABLE_ENTRIES = registry.Handler(tables.prepare_write, tables_read.read)


@pytest.fixture
def benches() -> Iterator[tuple[Bench, Bench]]:
    pair = Bench("interpreter"), Bench("interpreter")
    yield pair
    for bench in pair:
        bench.close()


def number(source: random.Random) -> str:
    """Some bytes of a bytestring: canonical, padded, too long, empty."""
    return "".join(f"\\x{source.choice([0, 1, 2, 7]):02x}" for _ in range(source.choice([1, 1, 1, 1, 2, 4, 4, 9, 0])))


def a_match(source: random.Random) -> str:
    field, value, other = source.choice([1, 1, 2, 2, 2, 3]), number(source), number(source)
    kind = source.choice(
        [
            f'exact {{ value: "{value}" }}',
            f'exact {{ value: "{value}" }}',
            f'lpm {{ value: "{value}" prefix_len: {source.choice([0, 8, 16, 24, 32, 33])} }}',
            f'ternary {{ value: "{value}" mask: "{other}" }}',
            f'range {{ low: "{value}" high: "{other}" }}',
            f'optional {{ value: "{value}" }}',
        ]
    )
    return f"match {{ field_id: {field} {kind} }}"


def a_key(source: random.Random, table: str) -> str:
    """Such as the table takes, as often as not."""
    low, value = source.randrange(3), source.randrange(4)
    if source.random() < 0.4:
        return " ".join(a_match(source) for _ in range(source.randrange(4)))
    if table == "routes":
        return f'match {{ field_id: 1 lpm {{ value: "{bits(10, value, 0, 0)}" prefix_len: 16 }} }}'
    if table == "idle":
        return f'match {{ field_id: 1 lpm {{ value: "{bits(low, value)}" prefix_len: 16 }} }}'
    if table == "pace":
        parts = [
            f'match {{ field_id: 1 range {{ low: "{bits(low)}" high: "{bits(value + 2)}" }} }}',
            f'match {{ field_id: 2 optional {{ value: "{bits(value)}" }} }}',
            f'match {{ field_id: 3 ternary {{ value: "{bits(value)}" mask: "{bits(7)}" }} }}',
        ]
        return " ".join(source.sample(parts, source.randrange(1, 4)))
    return exact(1, low) + exact(2, value, 4) if table == "forward" else exact(1, low)


THROUGH = (
    *(["action_profile_member_id: 1", "action_profile_member_id: 2", "action_profile_group_id: 1"] * 3),
    "action_profile_member_id: 9",
    "action_profile_action_set { action_profile_actions { weight: 1 } }",
)


def an_update(source: random.Random) -> tuple[str, str]:
    table = source.choice(["forward", "forward", "routes", "pace", "choose", "choose", "single", "idle", "idle"])
    name = source.choice(["send", "send", "nothing", "set_value"]) if table not in ("pace", "idle") else "nothing"
    values = [source.randrange(4) for _ in range({"send": 2, "set_value": 1}.get(name, 0))]
    noted = ['metadata: "m"', 'metadata: "\\x00longer than a word" controller_metadata: 5', "controller_metadata: 0"]
    noted.append(f"controller_metadata: {source.choice([3, 1 << 63])}")
    rest = source.choice([""] * 9 + noted + ["priority: 3", "is_default_action: true", "idle_timeout_ns: 9"])
    rest = "priority: 2" if table == "pace" and source.random() < 0.8 else rest
    if table == "idle" and source.random() < 0.7:
        rest = f"idle_timeout_ns: {source.choice([5, 3_000_000_000, 1 << 57, -1])}"
    action = source.choice([f"action {{ {call(name, *values)} }}"] * 9 + [""])
    if table in ("choose", "single") and source.random() < 0.8:
        action = f"action {{ {source.choice(THROUGH)} }}"
    text = f"table_entry {{ table_id: ${table} {a_key(source, table)} {action} {rest} }}"
    return source.choice(["INSERT", "INSERT", "MODIFY", "DELETE"]), text


def told(bench: Bench, updates: list[tuple[str, str]], atomicity: str, *, as_rows: bool) -> list[object]:
    """What each update is told."""
    request = p4rt.WriteRequest(atomicity=p4rt.WriteRequest.Atomicity.Value(atomicity))
    request.election_id.low = 1
    for update_type, text in updates:
        request.updates.add(type=p4rt.Update.Type.Value(update_type), entity=bench.entity(text))
    with pytest.MonkeyPatch.context() as patch:
        if not as_rows:
            patch.setitem(registry.HANDLERS, "table_entry", AS_TABLE_ENTRIES)
        try:
            bench.device.write(request)
        except BatchError as error:
            return [None if one is None else (one.code, one.message) for one in error.errors]
    return [None] * len(updates)


def test_rows_do_what_table_entries_do(benches: tuple[Bench, Bench]) -> None:
    source, ended = random.Random(5), []
    for bench in benches:
        for profile in ("selector", "profile"):
            bench.insert(*(member(profile, number) for number in (1, 2)))
        bench.insert(
            "action_profile_group { action_profile_id: $selector group_id: 1 members { member_id: 2 weight: 1 } }"
        )
    for size in (1, 128, 300, 400):
        updates = [an_update(source) for _ in range(size)]
        slow = told(benches[0], updates, "CONTINUE_ON_ERROR", as_rows=False)
        assert told(benches[1], updates, "CONTINUE_ON_ERROR", as_rows=True) == slow
        assert benches[0].everything() == benches[1].everything()
        ended += slow
    assert 100 < ended.count(None) < 600
    for bench in benches:
        bench.now_ns += 4_000_000_000
    idle = [[str(each) for each in timed_out(bench)] for bench in benches]
    assert idle[0] == idle[1] != []


def member(profile: str, number: int) -> str:
    action = call("add_value", number)
    return f"action_profile_member {{ action_profile_id: ${profile} member_id: {number} {action} }}"


def timed_out(bench: Bench) -> list[object]:
    notifications = [message.idle_timeout_notification for message in bench.said()]
    return [entry for notification in notifications for entry in notification.table_entry]


def test_one_shot_groups_among_many_entries_are_read_as_they_were_written(benches: tuple[Bench, Bench]) -> None:
    bench = benches[0]
    actions = f"action_profile_actions {{ {call('set_value', 1)} weight: 2 }}"
    actions += f' action_profile_actions {{ {call("add_value", 2)} weight: 1 watch_port: "{bits(0, 3)}" }}'
    target = f"action {{ action_profile_action_set {{ {actions} }} }}"
    bench.insert(*(f"table_entry {{ table_id: $choose {exact(1, number)} {target} }}" for number in (1, 2)))
    whole = bench.read("table_entry { table_id: $choose }")
    assert [bench.read(f"table_entry {{ table_id: $choose {exact(1, n)} }}")[0] for n in (1, 2)] == whole
    first = whole[0].table_entry.action.action_profile_action_set.action_profile_actions
    assert [(each.weight, each.watch_port) for each in first] == [(2, b""), (1, b"\3")]


def test_a_large_batch_is_taken_back_whole(benches: tuple[Bench, Bench]) -> None:
    for bench in benches:
        bench.insert(forward(3, 'metadata: "kept"'))
    before = benches[1].everything()
    changes = [("DELETE", forward(3)), *(("INSERT", forward(number)) for number in range(64)), ("INSERT", forward(4))]
    outcomes = [
        told(bench, changes, "ROLLBACK_ON_ERROR", as_rows=as_rows)
        for bench, as_rows in zip(benches, (False, True), strict=True)
    ]
    assert outcomes[0] == outcomes[1]
    assert None not in outcomes[1]
    assert benches[0].everything() == benches[1].everything() == before


def forward(number: int, rest: str = "") -> str:
    key = exact(1, number) + exact(2, 0, 4)
    return f"table_entry {{ table_id: $forward {key} action {{ {call('send', 1, number)} }} {rest} }}"


@pytest.mark.parametrize("rest", ["", 'metadata: "m" controller_metadata: 5'])
def test_plain_entries_are_prepared_as_rows(
    benches: tuple[Bench, Bench], rest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = benches[0]

    def refuse(*_: object) -> None:
        raise AssertionError("prepared as a table entry")

    monkeypatch.setattr(tables, "prepare_write", refuse)
    bench.insert(forward(1, rest), forward(2))
    bench.write(("MODIFY", forward(2, rest)), ("DELETE", forward(1)))
    (entity,) = bench.read("table_entry { table_id: $forward }")
    assert entity.table_entry.metadata == (b"m" if rest else b"")
    with pytest.raises(AssertionError):
        bench.insert(forward(3, "priority: 1"))
