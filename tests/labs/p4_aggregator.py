"""A P4 switch as an aggregator in virtual time: frames in at a port, answers out at ports, no process, no clock.

The entries are the controller's own (`hostagent.controller.drivers.p4.entries`), written by name through the switch's
control interface, so that what is tried here is what a controller would install.
"""

from __future__ import annotations

from emulator.ports.batch import FrameBatch
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.spec import parse_port
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram
from hostagent.controller.drivers.job import JobConfig
from hostagent.lab.p4_entries import EntryIds, install_job, remove_job


class P4Aggregator:
    """One switch with memory ports ``0 .. ports - 1``, running an aggregation program."""

    def __init__(self, program: CompiledProgram, ports: int) -> None:
        self.program = program
        self.switch = Switch()
        self._ports = [MemoryPort(parse_port(f"{number}=memory:lab"), self.switch.ports) for number in range(ports)]
        self._batch = FrameBatch(1024)
        self._installed: dict[int, JobConfig] = {}
        self._ids = EntryIds(program)
        self.restart()

    def restart(self) -> None:
        """Forget tables, groups and registers, as a switch does that was killed and loaded again."""
        self.switch.load(self.program)
        self._installed.clear()

    def install(self, entries: JobConfig) -> None:
        """Make a job known, or replace what is known of it: children and copies first, the job's own entry last."""
        self.remove(entries.job)
        install_job(self.switch, self._ids, entries)
        self._installed[entries.job] = entries

    def remove(self, job: int) -> None:
        """Forget a job's entries; its sets stay, void under any later epoch."""
        entries = self._installed.pop(job, None)
        if entries is not None:
            remove_job(self.switch, self._ids, entries)

    def receive(self, port: int, frame: bytes, now_ns: int = 0) -> list[tuple[int, bytes]]:
        """One frame in, its answers out as (port, frame)."""
        return self.receive_all([(port, frame)], now_ns)

    def receive_all(self, frames: list[tuple[int, bytes]], now_ns: int = 0) -> list[tuple[int, bytes]]:
        """A batch of (port, frame) in; answers port by port, in the order in which each port sent them."""
        self._batch.clear()
        for memory_port in self._ports:
            memory_port.receive_into(self._batch)  # nothing comes, but the switch sees that cells are free again
        for at, frame in frames:
            self._batch.append(frame, at)
        self.switch.process(self._batch, now_ns)
        answers = []
        for number, memory_port in enumerate(self._ports):
            memory_port.flush()
            answers += [(number, frame) for frame in memory_port.received()]
        return answers

    def counter(self, name: str, index: int) -> int:
        """Packets in one cell of an indexed counter, by its name in P4Info."""
        return self.switch.read_counter(self._ids.counters[name], index).packets
