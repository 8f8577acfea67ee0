"""v1model for the interpreter: the life of one packet from ingress port to egress ports.

The second telling of ``emulator.v1model.llvm``, in Python's own words; the two must agree on every packet and every
cell of state.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from emulator.p4 import ir
from emulator.p4.arithmetic import wrap
from emulator.p4.interpreter import Discard, Machine, Tables
from emulator.v1model.interpreted_externs import EXTERNS
from emulator.v1model.metadata import DROP_PORT, Drop, Instance, standard
from emulator.v1model.state import State
from emulator.v1model.target import V1MODEL_TARGET


@dataclass(slots=True)
class Interpreter:
    """Packets through a program, one by one. ``replicas`` gives a multicast group's (port, rid) pairs."""

    program: ir.Program
    tables: Tables
    replicas: Callable[[int], tuple[tuple[int, int], ...]]
    state: State

    def process(self, frame: bytes, port: int, now_ns: int) -> Iterator[tuple[int, bytes]]:
        """The (egress port, frame) pairs that a frame becomes; whether those ports exist is the caller's concern."""
        m = Machine(self.program, self.tables, EXTERNS, V1MODEL_TARGET, frame)
        m.notes = {"state": self.state, "length": len(frame)}
        try:
            self._ingress(m, port, now_ns)
        except Discard:
            return
        for egress_port, rid in self._copies(m):
            each = copy.copy(m)
            each.variables = dict(m.variables)
            each.headers = {name: replace(h, fields=dict(h.fields)) for name, h in m.headers.items()}
            each.notes = dict(m.notes)
            each.output = bytearray()
            try:
                if self._egress(each, egress_port, rid, now_ns):
                    yield egress_port, bytes(each.output)
            except Discard:
                continue

    def _control(self, m: Machine, name: str) -> None:
        control = self.program.block(name)
        assert isinstance(control, ir.Control)
        m.control(control.body)

    def _set(self, m: Machine, name: str, value: int) -> None:
        variable = standard(name)
        m.assign(variable, wrap(value, variable.type))

    def _get(self, m: Machine, name: str) -> int:
        return m.value(standard(name))

    def _ingress(self, m: Machine, port: int, now_ns: int) -> None:
        self._set(m, "ingress_port", port)
        self._set(m, "packet_length", len(m.frame))
        self._set(m, "ingress_global_timestamp", now_ns // 1000)
        parser = self.program.block("p")
        assert isinstance(parser, ir.Parser)
        self._set(m, "parser_error", m.parse(parser))
        self._control(m, "vr")
        self._control(m, "ig")

    def _copies(self, m: Machine) -> tuple[tuple[int, int], ...]:
        group, spec = self._get(m, "mcast_grp"), self._get(m, "egress_spec")
        copies: tuple[tuple[int, int], ...] = ((spec, 0),)
        if group:
            copies = self.replicas(group)
            if not copies:
                return self._dropped(Drop.NO_SUCH_GROUP)
        elif spec == DROP_PORT:
            return self._dropped(Drop.INGRESS)
        if self._get(m, "priority"):
            return self._dropped(Drop.PRIORITY)
        self._set(m, "instance_type", Instance.REPLICATED if group else 0)
        return copies

    def _dropped(self, reason: Drop) -> tuple[tuple[int, int], ...]:
        self.state.drops[reason] += 1
        return ()

    def _egress(self, m: Machine, port: int, rid: int, now_ns: int) -> bool:
        for name, value in (
            ("egress_port", port),
            ("egress_rid", rid),
            ("egress_spec", 0),
            ("packet_length", m.notes["length"]),
            ("egress_global_timestamp", now_ns // 1000),
            ("enq_timestamp", now_ns // 1000),
        ):
            self._set(m, name, value)
        self._control(m, "eg")
        if self._get(m, "egress_spec") == DROP_PORT:
            self._dropped(Drop.EGRESS)
            return False
        self._control(m, "ck")
        self._control(m, "dep")
        m.output += m.frame[m.cursor :]
        return True
