"""``netsum bench all``: every benchmark in turn, one at a time so that none disturbs another."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hostagent.cli.benchmarks import allreduce, forward, load, pspin
from hostagent.cli.benchmarks.facts import machine_facts
from hostagent.cli.benchmarks.veth import NoNamespaces


def run_everything(output: Path | None) -> None:
    """Run all, print the tables, write JSON where asked."""
    from emulator.ports.bench import format_bench, run_bench_ports
    from emulator.switch import bench as switch_bench
    from emulator.switch import bench_tables

    facts = machine_facts()
    print("  ".join(f"{name} {value}" for name, value in facts.items()) + "\n")
    results: dict[str, Any] = {"machine": facts}
    results["switch"] = switch_bench.report(switch_bench.run_bench_switch())
    tables = bench_tables.run_bench_tables()
    print("\n" + bench_tables.render(tables))
    results["tables"] = bench_tables.report(tables)
    ports = run_bench_ports()
    print("\n" + format_bench(ports) + "\n")
    results["ports"] = asdict(ports)
    results["forward"] = _forward()
    results["load"] = load.measure()
    load.show(results["load"], as_json=False)
    results["pspin"] = pspin.measure()
    pspin.show(results["pspin"], as_json=False)
    results["allreduce"] = allreduce.measure((2, 4), 64 << 20, 8, None)
    allreduce.show(results["allreduce"], as_json=False)
    if output is not None:
        output.write_text(json.dumps(results, indent=1) + "\n")
        print(f"written to {output}")


def _forward() -> dict[str, Any] | None:
    """The table over real interfaces; without root a line that says so, for the rest needs none."""
    try:
        measured = forward.measure()
    except NoNamespaces as error:
        print(f"forward: not measured: {error}")
        return None
    forward.show(measured, as_json=False)
    return measured
