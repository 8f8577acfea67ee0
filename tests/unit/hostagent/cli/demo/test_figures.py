"""The demo's verdict: each check fails for the fault it is there for, and the report shows it."""

from __future__ import annotations

import dataclasses
import io
import json
from typing import Any

import pytest
from rich.console import Console

from hostagent.cli.demo import figures, page, terminal

LANES = 256
PARAMETERS = 1000
STEPS = 30


def make_report(**changes: Any) -> figures.Report:
    losses = [2.0 / (step + 1) for step in range(STEPS)]
    netsum = figures.Training("netsum", losses, [0.01] * STEPS, 0.98, PARAMETERS)
    gloo = dataclasses.replace(netsum, backend="gloo", losses=[loss * (1 + 1e-6) for loss in losses])
    operations = [
        figures.Operations("all_reduce", "SUM", "float32", PARAMETERS, STEPS),
        figures.Operations("all_reduce", "SUM", "float32", 1, STEPS),
        figures.Operations("broadcast", "RAW", "float32", PARAMETERS, 1),
    ]
    accepted = 4 * (STEPS * (4 + 1) + STEPS + 4)  # the loss alone takes one round
    network = figures.Network(
        lanes=LANES,
        ports=[figures.Port(n, f"shm:{n}", 10, 1000, 10, 1000, 0) for n in range(4)],
        verdicts={"accepted": accepted - 5, "accepted_no_data": 5, "completed": accepted // 4, "waiting": 2},
        drops={"checksum": 0},
        ranks=[{"retransmissions_sent": 1} for _ in range(4)],
        operations=[operations] * 4,
    )
    return dataclasses.replace(figures.Report(netsum, gloo, network), **changes)


def failing(report: figures.Report) -> list[str]:
    return [check.name for check in report.checks if not check.passed]


def test_a_good_run_passes_every_check() -> None:
    assert failing(make_report()) == []


def test_losses_that_part_early_fail() -> None:
    report = make_report()
    losses = [*report.gloo.losses]
    losses[19] *= 1.001
    assert failing(make_report(gloo=dataclasses.replace(report.gloo, losses=losses))) == ["same losses as gloo"]


def test_losses_that_part_late_are_judged_by_accuracy() -> None:
    report = make_report()
    gloo = dataclasses.replace(report.gloo, losses=[*report.gloo.losses[:20], *[9.0] * (STEPS - 20)], accuracy=0.995)
    assert failing(make_report(gloo=gloo)) == ["same accuracy as gloo"]


@pytest.mark.parametrize("missing", [1, -1])
def test_one_contribution_too_few_or_too_many_fails(missing: int) -> None:
    network = make_report().network
    verdicts = network.verdicts | {"accepted": network.verdicts["accepted"] - missing}
    report = make_report(network=dataclasses.replace(network, verdicts=verdicts))
    assert failing(report) == ["every gradient passed through the switch"]


def test_a_gradient_that_went_elsewhere_fails() -> None:
    network = make_report().network
    short = [network.operations[0][1:], *network.operations[1:]]
    report = make_report(network=dataclasses.replace(network, operations=short))
    assert "every gradient was handed to netsum" in failing(report)


@pytest.mark.parametrize(
    ("operator", "dtype", "elements", "chunks"),
    [
        ("SUM", "float32", 1, 1),
        ("SUM", "float32", 256, 4),  # 64 to a frame: a lane for each of 4 ranks
        ("SUM", "float32", 257, 3),
        ("SUM", "float32", 256 * 256, 260),  # groups of 64
        ("SUM", "float32", 256 * 256 + 1, 262),
        ("SUM", "int32", 257, 2),
        ("RAW", "uint8", 1025, 2),
        ("RAW", "int64", 129, 2),
        ("SUM", "int64", 86, 2),
        ("MAX", "int64", 257, 4),
        ("BARRIER", "uint8", 0, 1),
    ],
)
def test_chunks_that_tensors_imply(operator: str, dtype: str, elements: int, chunks: int) -> None:
    assert figures.Operations("all_reduce", operator, dtype, elements, 1).chunks(LANES, 4) == chunks


def test_the_report_is_shown_and_saved_whole() -> None:
    report = make_report()
    text = io.StringIO()
    terminal.show(report, Console(file=text, width=100))
    assert "every gradient passed through the switch" in text.getvalue()
    assert page.render(report).count("<svg") == 4
    assert json.loads(json.dumps(report.as_json()))["passed"] is True
