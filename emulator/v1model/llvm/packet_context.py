"""What the code of a packet's passes through ingress and egress shares."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.p4 import ir
from emulator.p4.llvm import expressions
from emulator.p4.llvm.bits import Value, resize
from emulator.p4.llvm.context import CodeGen
from emulator.p4.llvm.statements import emit_control
from emulator.v1model.features import Features
from emulator.v1model.llvm.queues import Queues
from emulator.v1model.llvm.registers import NOW_US
from emulator.v1model.llvm.saved import SavedState
from emulator.v1model.metadata import WIDTHS_BITS, standard


@dataclass(frozen=True, slots=True)
class PacketContext:
    cg: CodeGen
    uses: Features
    queues: Queues
    state: SavedState
    egress_scratch: Value
    """Where egress writes headers, so that every copy of the packet starts from the bytes that ingress left."""

    @property
    def now_us(self) -> Value:
        return NOW_US.get(self.cg)

    def get(self, name: str) -> Value:
        """A field of the standard metadata."""
        return expressions.value(self.cg, standard(name))

    def set(self, name: str, value: Value) -> None:
        expressions.assign(self.cg, standard(name), resize(self.cg.b, value, WIDTHS_BITS[name]))

    def emit_block(self, name: str) -> None:
        """A control of the pipeline, by the short name that the IR gives it."""
        control = self.cg.program.block(name)
        assert isinstance(control, ir.Control)
        emit_control(self.cg, control.body)
