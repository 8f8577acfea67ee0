"""What the program says reaches the switch's log, also what it said last."""

from __future__ import annotations

import logging
from contextlib import nullcontext

import pytest

from emulator.p4 import ir
from emulator.p4runtime.stream.log_messages import MessageLog
from tests.programs.p4_programs import Rig, const, header_type, make_program, send_to


@pytest.mark.parametrize("engine", ["llvm", "interpreter"])
def test_messages_are_written_at_the_latest_when_the_switch_stops(
    engine: str, caplog: pytest.LogCaptureFixture
) -> None:
    said = ir.CallExtern("log_msg", (ir.Text("said {}"), (const(7, 8),)))
    rig = Rig(make_program([ir.Header("hdr.h", header_type("h_t", ("x", 8)))], (said, send_to(1))), engine)
    messages = MessageLog(rig.switch, nullcontext, nullcontext)
    with caplog.at_level(logging.INFO, logger="program"):
        messages.start()
        rig.run(b"a", b"b")
        messages.stop()
    assert [r.message for r in caplog.records] == ["said 7", "said 7"]
    assert not rig.switch.has_messages
