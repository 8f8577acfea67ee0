"""Rules of the specification that belong to no single entity's story: filters, sizes, what has no members."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.p4runtime.errors import BatchError, Code
from emulator.switch.profiles import MOST_CHOICES
from tests.labs.p4runtime_device import Bench, bench, call, exact

__all__ = ["bench"]


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


@pytest.mark.parametrize("table", ["$pace", "0"])
def test_counters_by_colour_are_refused_wherever_they_are_asked_for(bench: Bench, table: str) -> None:
    with pytest.raises(BatchError) as caught:
        bench.read(f"table_entry {{ table_id: {table} meter_counter_data {{}} }}")
    assert [error and error.code for error in caught.value.errors] == [Code.UNIMPLEMENTED]


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
