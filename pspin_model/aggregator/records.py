"""What an aggregator's machine has done over its life, for reports: cycles, cores, handlers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pspin_model.machine.config import MachineConfig
from pspin_model.machine.machine import Run

FAULTS_KEPT = 16
NS_PER_CYCLE = 1


@dataclass(slots=True)
class Totals:
    """Sums over all runs."""

    config: MachineConfig
    lanes: int
    """Lanes of a packet with data."""
    packets: int = 0
    packet_bytes: int = 0
    sent: int = 0
    sent_bytes: int = 0
    handler_cycles: int = 0
    instructions: int = 0
    latency_cycles: int = 0
    longest_latency_cycles: int = 0
    stalled_cycles: int = 0
    working_cycles: int = 0
    """Cycles in which a packet was in the machine, batch by batch."""
    faults: list[str] = field(default_factory=list)
    fault_count: int = 0
    busy: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Per core."""
    _machine_began: int = 0
    """Cycle of the first machine at which the one now began; the next two are those of the machines before."""
    _busy_before: NDArray[np.int64] | int = 0
    _stalled_before: int = 0

    def begin_again(self, cycle: int) -> None:
        """Runs are of another machine from now on, which begins at that cycle of the one before."""
        self._machine_began += cycle
        self._busy_before, self._stalled_before = self.busy, self.stalled_cycles

    def add(self, run: Run) -> None:
        """One run's records."""
        packets = run.packets
        if len(packets["start"]):
            latency = packets["feedback"] - packets["arrival"]
            self.packets += len(latency)
            self.packet_bytes += int(packets["bytes"].sum())
            self.handler_cycles += int((packets["end"] - packets["start"]).sum())
            self.instructions += int(packets["instructions"].sum())
            self.latency_cycles += int(latency.sum())
            self.longest_latency_cycles = max(self.longest_latency_cycles, int(latency.max()))
            self.working_cycles += int(packets["feedback"].max() - packets["arrival"].min())
        self.sent += len(run.sent["cycle"])
        self.sent_bytes += int(run.sent["bytes"].sum())
        self.stalled_cycles = self._stalled_before + run.stalled_cycles
        self.busy = self._busy_before + run.busy_cycles
        self.fault_count += len(run.faults)
        room = FAULTS_KEPT - len(self.faults)
        self.faults += [f"{f.handler}, message {f.message}, cycle {f.cycle}: {f.text}" for f in run.faults[:room]]

    def report(self, now: int) -> dict[str, object]:
        """Report for JSON; cycles are nanoseconds at 1 GHz. ``now``: the machine's current cycle."""
        handled = max(1, self.packets)
        share = float(self.busy.sum()) / max(1, self.working_cycles * max(1, len(self.busy)))
        rate = 8 * self.packet_bytes / max(1, self.working_cycles * NS_PER_CYCLE)
        report: dict[str, object] = {
            "clusters": self.config.clusters,
            "cores": self.config.clusters * self.config.cores,
            "lanes": self.lanes,
            "cycle": self._machine_began + now,
            "packets": self.packets,
            "packet_bytes": self.packet_bytes,
            "sent": self.sent,
            "sent_bytes": self.sent_bytes,
            "working_cycles": self.working_cycles,
            "core_busy_cycles": [int(cycles) for cycles in self.busy],
            "core_use": round(share, 4),
            "input_gbps": round(rate, 3),
            "handler_avg_cycles": round(self.handler_cycles / handled, 1),
            "handler_avg_instructions": round(self.instructions / handled, 1),
            "latency_avg_cycles": round(self.latency_cycles / handled, 1),
            "latency_max_cycles": self.longest_latency_cycles,
            "stalled_cycles": self.stalled_cycles,
            "faults": self.fault_count,
            "first_faults": self.faults,
        }
        report["summary"] = self._summary(report)
        return report

    def _summary(self, report: dict[str, object]) -> list[str]:
        use = 100 * float(str(report["core_use"]))
        lines = [
            f"{self.packets} packets of {self.packet_bytes / max(1, self.packets):.0f} bytes ({self.lanes} lanes) in "
            f"{self.working_cycles} cycles of work ({report['input_gbps']} Gbit/s in), "
            f"{self.sent} sent; {report['cores']} cores in {self.config.clusters} clusters, {use:.1f} % busy",
            f"a handler takes {report['handler_avg_cycles']} cycles and "
            f"{report['handler_avg_instructions']} instructions, "
            "waiting for its slot's lock and for the results that it sends included; "
            f"arrival to feedback {report['latency_avg_cycles']} cycles, at most {self.longest_latency_cycles}",
        ]
        if self.fault_count:
            lines.append(f"{self.fault_count} faults, the first: {self.faults[0]}")
        return lines
