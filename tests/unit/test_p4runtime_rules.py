"""Rules of the specification that belong to no single entity's story: filters, sizes, what has no members."""

from __future__ import annotations

import pytest

from emulator.p4runtime.errors import BatchError, Code
from emulator.switch.profiles import MOST_CHOICES
from tests.support.p4runtime_bench import Bench, bench, call, exact

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
