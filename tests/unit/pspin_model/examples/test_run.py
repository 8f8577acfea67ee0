"""PsPIN's examples on the model: what they compute, and their figures beside those measured on the RTL."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pspin_model.examples.catalogue import EXAMPLES, OUT_OF_ORDER
from pspin_model.examples.compare import RTL, Compared, handler_of, read_rows
from pspin_model.examples.run import FIGURES, run_example
from tests.clients.command import netsum

LIMIT = 0.1

SHAPES = [
    ("empty", 1, 4, 64, 250),
    ("empty", 1, 256, 1024, 0),
    ("empty", 4, 256, 64, 0),
    ("ping_pong", 1, 32, 1024, 20),
    ("ping_pong", 1, 32, 512, 0),
    ("ping_pong", 1, 32, 2048, 20),
    ("copy_to_host", 1, 4, 2048, 250),
    ("host_direct", 1, 256, 1024, 0),
    ("copy_from_host", 1, 4, 1024, 250),
    ("copy_to_host", 4, 32, 1024, 0),
    ("filtering", 1, 4, 64, 400),
    ("filtering", 1, 256, 64, 0),
    ("ping_pong", 4, 32, 64, 0),
    ("aggregate", 1, 256, 1024, 0),
    ("reduce", 4, 32, 1024, 0),
    ("histogram", 1, 32, 1024, 20),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(map(str, shape)))
def test_figures_are_within_a_tenth_of_the_rtl(shape: tuple[str, int, int, int, int]) -> None:
    name, *numbers = shape
    keys = ("messages", "packets", "size_bytes", "inter_packet_ns")
    measured = [row for row in read_rows(RTL) if row["example"] == name and [int(row[key]) for key in keys] == numbers]
    assert measured
    rows, run, _ = run_example(name, *numbers)
    assert not run.faults
    model = {row.handler: row for row in rows}
    for row in measured:
        for figure, error in Compared(row, model[handler_of(row)]).errors().items():
            assert abs(error) <= LIMIT, (handler_of(row), figure)


def test_aggregate_and_reduce_and_histogram_compute_what_they_say() -> None:
    for name in ("aggregate", "reduce", "histogram"):
        rows, run, machine = run_example(name, 2, 8, 128, 5)
        (context,) = machine.contexts
        data = np.zeros((16, 128), np.uint8)
        fill = EXAMPLES[name][0].fill
        assert fill is not None
        fill(data)
        words = data[:, 28:].view(np.int32)
        sums = context.scratchpads.view(np.int32).sum(axis=0)
        if name == "aggregate":
            assert sums[0] == words.sum()
        elif name == "reduce":
            assert (sums[: words.shape[1]] == words.sum(axis=0)).all()
        else:
            assert (sums[:1024] == np.bincount(words[:, :-1].ravel(), minlength=1024)).all()
        assert len(run.host_writes["cycle"]) == 2
        assert rows


@pytest.mark.parametrize(
    ("messages", "packets", "size", "delay"), [(1, 64, 100, 3), (4, 256, 1024, 0), (4, 64, 64, 20), (300, 2, 64, 0)]
)
def test_the_out_of_order_buffer_joins_all_ranges(messages: int, packets: int, size: int, delay: int) -> None:
    _, run, machine = run_example("out_of_order", messages, packets, size, delay)
    assert not run.faults
    assert run.host_writes["value"].tolist() == [packets * (size - 36)] * messages
    assert machine.contexts[0].host.view(np.int64)[0] == packets * (size - 36)


def test_the_out_of_order_buffer_says_when_bytes_are_missing() -> None:
    wrong = replace(OUT_OF_ORDER, tag_of=lambda packets: 1 << 20)
    _, run, _ = run_example("out_of_order", 1, 8, 64, 0, parts=(wrong,))
    assert [fault.text for fault in run.faults] == ["failed with code 2"]


def test_the_stock_aggregate_is_ended_by_memory_protection() -> None:
    _, run, _ = run_example("aggregate_orig", 2, 8, 64, 20)
    assert [fault.kind for fault in run.faults] == ["memory", "memory"]


def test_the_command_prints_the_columns_of_the_rtl_table() -> None:
    options = ["pspin", "example", "empty", "--packets", "4", "--size", "64", "--delay-ns", "250", "--json"]
    done = netsum(*options)
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["rows"]
    assert set(FIGURES) <= set(row)
    assert row["handler_instructions"] == 4


def call(*options: str) -> Any:
    return netsum("pspin", "example", *options)


def test_json_has_null_where_one_packet_gives_no_throughput() -> None:
    done = call("ping_pong", "--packets", "1", "--size", "512", "--json")
    (row,) = json.loads(done.stdout, parse_constant=pytest.fail)["rows"]
    assert row["throughput_gbps"] is None


@pytest.mark.parametrize("delay", ["100000000000", "100000000000000000000"])
def test_a_delay_beyond_the_clock_is_refused(delay: str) -> None:
    done = call("ping_pong", "--delay-ns", delay, "--packets", "40")
    assert done.exit_code == 2
    assert "last cycle" in " ".join(done.output.split())


def test_of_many_faults_the_first_are_told() -> None:
    done = call("aggregate_orig", "--messages", "9", "--packets", "1", "--size", "64")
    told = [line for line in done.output.splitlines() if line.startswith("error: ")]
    assert len(told) == 6
    assert told[-1] == "error: .. and 4 handlers more"
