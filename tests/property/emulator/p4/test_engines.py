"""Generated programs and packets: the machine code does what the interpreter does, bit for bit, state included."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.p4.ir.verify import verify
from emulator.p4.llvm import machine
from emulator.p4.llvm.machine import Effort
from emulator.switch.control import ValueSetMember
from emulator.v1model.target import V1MODEL_TARGET
from tests.generators.ir_generator import entries, programs
from tests.labs.extent import tries
from tests.programs.p4_programs import run_both


@settings(max_examples=tries(15, 40), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_compiled_program_equals_the_interpreted_one(data: st.DataObject) -> None:
    effort = data.draw(st.sampled_from(Effort))
    program = data.draw(programs())
    verify(program, V1MODEL_TARGET)
    inserted = data.draw(entries(program))
    values = data.draw(st.lists(st.integers(0, 3), unique=True, max_size=3))
    frames = data.draw(st.lists(st.tuples(st.integers(0, 3), st.binary(max_size=120)), min_size=1, max_size=8))

    def prepare(switch) -> None:
        for table, entry in inserted:
            switch.insert_entry(table, entry)
        switch.insert_multicast_group(1, ((0, 1), (2, 2), (2, 3)))
        switch.set_value_set(1, [ValueSetMember((v,)) for v in values])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(machine, "effort_for", lambda text: effort)
        run_both(program, frames, frames[::-1], prepare=prepare)
