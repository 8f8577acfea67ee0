"""Direct counters and meters of default entries: they count misses, and meter them once they are configured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.p4runtime.errors import Code
from emulator.v1model.compiled import ENGINES
from tests.labs.p4runtime_device import Bench, packet

PROGRAM = Path(__file__).resolve().parents[4] / "programs" / "metered.p4"
GREEN, YELLOW, RED = 0, 1, 2
UNTOUCHED = 9
"""What the program sets the colour to before it applies the tables."""
FRAME_BYTES = len(packet())
CONFIG = "{ cir: 1 cburst: 1 pir: 1 pburst: 2 }"
OF_PACE = "table_entry { table_id: $pace is_default_action: true }"


@pytest.fixture(params=ENGINES)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    bench = Bench(request.param, str(PROGRAM))
    yield bench
    bench.close()


def colours(bench: Bench, count: int, kind: int = 0) -> list[int]:
    return [frame[13] for frame in bench.run(0, *[packet(kind=kind)] * count)[1]]


def counts(bench: Bench, table: str) -> tuple[int, int]:
    (entity,) = bench.read(f"direct_counter_entry {{ table_entry {{ table_id: ${table} is_default_action: true }} }}")
    assert entity.direct_counter_entry.table_entry.is_default_action
    data = entity.direct_counter_entry.data
    return data.packet_count, data.byte_count


def test_misses_are_counted_and_hits_are_not(bench: Bench) -> None:
    key = 'match { field_id: 1 exact { value: "\\x05" } }'
    bench.insert(f"table_entry {{ table_id: $pace {key} action {{ action {{ action_id: $nothing }} }} }}")
    colours(bench, 3)
    colours(bench, 2, kind=5)
    assert [counts(bench, table) for table in ("pace", "keyless", "fixed")] == [
        (number, number * FRAME_BYTES) for number in (3, 5, 5)
    ]


def test_counts_are_written_kept_and_reset(bench: Bench) -> None:
    bench.write(("MODIFY", f"direct_counter_entry {{ {OF_PACE} data {{ packet_count: 7 }} }}"))
    bench.write(("MODIFY", "table_entry { table_id: $pace is_default_action: true action { action {"
                           " action_id: $metered } } }"))  # fmt: skip
    colours(bench, 1)
    assert counts(bench, "pace") == (8, FRAME_BYTES)
    bench.set_pipeline("RECONCILE_AND_COMMIT")
    assert counts(bench, "pace") == (8, FRAME_BYTES)
    text = "table_entry { table_id: $pace is_default_action: true action { action { action_id: $nothing } } %s }"
    assert bench.codes(
        ("MODIFY", text % "counter_data { packet_count: 1 }"),
        ("DELETE", text % ""),
        atomicity="ROLLBACK_ON_ERROR",
    ) == [Code.ABORTED, Code.INVALID_ARGUMENT]
    assert counts(bench, "pace") == (8, FRAME_BYTES)
    bench.write(("MODIFY", "table_entry { table_id: $pace is_default_action: true }"))
    assert counts(bench, "pace") == (0, 0)


def test_an_unconfigured_meter_says_nothing_on_a_miss(bench: Bench) -> None:
    assert colours(bench, 2) == [UNTOUCHED] * 2
    bench.write(("MODIFY", f"direct_meter_entry {{ {OF_PACE} config {CONFIG} }}"))
    assert colours(bench, 4) == [GREEN, YELLOW, RED, RED]
    (entity,) = bench.read("table_entry { table_id: $pace is_default_action: true meter_config {} }")
    assert (entity.table_entry.meter_config.pburst, entity.table_entry.HasField("counter_data")) == (2, False)
    bench.write(("MODIFY", f"direct_meter_entry {{ {OF_PACE} }}"))
    assert colours(bench, 1) == [UNTOUCHED]


def test_a_constant_default_entry_has_resources_too(bench: Bench) -> None:
    entry = "table_entry { table_id: $fixed is_default_action: true %s }"
    assert bench.refused("MODIFY", entry % "counter_data {}")[0] == Code.PERMISSION_DENIED
    bench.write(("MODIFY", f"direct_counter_entry {{ {entry % ''} data {{ packet_count: 4 }} }}"))
    assert counts(bench, "fixed") == (4, 0)
    wanted = f"direct_counter_entry {{ {entry % 'priority: 1'} }}"
    assert bench.refused("MODIFY", wanted)[0] == Code.INVALID_ARGUMENT
    everything = bench.read("direct_counter_entry { table_entry { is_default_action: true } }")
    assert len(everything) == 3


def by_colour(bench: Bench, text: str) -> list[tuple[int, int]]:
    (entity,) = bench.read(text)
    kind = entity.WhichOneof("entity")
    data = entity.table_entry.meter_counter_data if kind == "table_entry" else entity.direct_meter_entry.counter_data
    return [(count.packet_count, count.byte_count) for count in (data.green, data.yellow, data.red)]


def test_hits_and_misses_are_counted_by_colour(bench: Bench) -> None:
    key = 'match { field_id: 1 exact { value: "\\x05" } }'
    entry = f"table_entry {{ table_id: $pace {key} action {{ action {{ action_id: $metered }} }} %s }}"
    bench.insert(entry % f"meter_config {CONFIG}")
    bench.write(("MODIFY", f"direct_meter_entry {{ {OF_PACE} config {CONFIG} }}"))
    assert colours(bench, 4, kind=5) == [GREEN, YELLOW, RED, RED]
    colours(bench, 3)
    of_entry = f"table_entry {{ table_id: $pace {key} meter_counter_data {{}} }}"
    hits = [(1, FRAME_BYTES), (1, FRAME_BYTES), (2, 2 * FRAME_BYTES)]
    assert by_colour(bench, of_entry) == hits
    misses = [(1, FRAME_BYTES), (1, FRAME_BYTES), (1, FRAME_BYTES)]
    assert by_colour(bench, f"direct_meter_entry {{ {OF_PACE} counter_data {{}} }}") == misses
    bench.set_pipeline("RECONCILE_AND_COMMIT")
    assert by_colour(bench, of_entry) == hits
    assert by_colour(bench, f"direct_meter_entry {{ {OF_PACE} counter_data {{}} }}") == misses
    bench.write(("MODIFY", entry % "meter_counter_data { yellow { packet_count: 7 byte_count: 6 } }"))
    assert by_colour(bench, of_entry) == [(0, 0), (7, 6), (0, 0)]
    bench.write(("DELETE", entry % ""))
    bench.insert(entry % "")
    assert by_colour(bench, of_entry) == [(0, 0)] * 3
    bench.write(("MODIFY", "table_entry { table_id: $pace is_default_action: true }"))
    assert by_colour(bench, f"direct_meter_entry {{ {OF_PACE} counter_data {{}} }}") == [(0, 0)] * 3
