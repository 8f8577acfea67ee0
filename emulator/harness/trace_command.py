"""``netsum trace PROGRAM.p4``: packets through a program, the walk of each printed."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from emulator.harness.egress_rings import Rings
from emulator.harness.errors import WrongTest
from emulator.harness.packets import content_of
from emulator.harness.replay import one_frame
from emulator.harness.stf.bind import bind
from emulator.harness.stf.errors import StfError
from emulator.harness.stf.parser import parse
from emulator.harness.stf.steps import Change
from emulator.harness.values import duration_ns
from emulator.harness.walk.events import Walk
from emulator.harness.walk.text import WIDTH, walk_data, walk_lines
from emulator.harness.walk.traced_switch import TracedSwitch
from emulator.p4.errors import CompileError
from emulator.p4.library import ProgramNotFound
from emulator.p4runtime.pipeline.programs import load_program
from emulator.ports.batch import frame_at
from emulator.ports.errors import PortError
from emulator.ports.pcap.capture import read_capture
from emulator.switch.control import ControlError
from emulator.v1model.compiled import CompiledProgram

START_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """What ``netsum trace`` was asked."""

    program: str
    hex: Sequence[str] = ()
    pcap: str | None = None
    port: int = 0
    entries: str | None = None
    """A file of lines as in an STF test: add, setdefault, mirroring_add, register_write and so on."""
    limit: int | None = None
    """Packets of a capture, at most."""
    interval: str = "0ns"
    """Time between two packets given in hex; those of a capture keep their distances."""
    as_json: bool = False
    defines: Mapping[str, str] = field(default_factory=dict)
    include_paths: Sequence[str] = ()


def run_trace(request: TraceRequest, *, output: TextIO | None = None, errors: TextIO | None = None) -> int:
    """The exit status: 0, or 2 for what cannot be traced (said on ``errors``, standard error)."""
    output, errors = output or sys.stdout, errors or sys.stderr
    try:
        frames = list(_frames(request))
        program = load_program(
            request.program, request.defines, engine="interpreter", include_paths=list(request.include_paths)
        )
        for number, walk in enumerate(_walks(program, request, frames)):
            _print(walk, number, request.as_json, output)
    except CompileError as error:
        print(error, file=errors)
        return 2
    except (ProgramNotFound, WrongTest, PortError, ControlError) as error:
        print(f"netsum trace: {error}", file=errors)
        return 2
    except StfError as error:
        for complaint in error.complaints:
            print(f"{request.entries}:{complaint.line}: {complaint.message}", file=errors)
        return 2
    except OSError as error:
        print(f"netsum trace: {error.filename}: {error.strerror}", file=errors)
        return 2
    return 0


def _frames(request: TraceRequest) -> Iterator[tuple[int, bytes]]:
    """(time, frame) of each packet, times from 0."""
    if bool(request.hex) == (request.pcap is not None):
        raise WrongTest("give packets either by --hex (perhaps several times) or by --pcap")
    if request.pcap is None:
        between_ns = duration_ns(request.interval)
        yield from ((number * between_ns, content_of(text)) for number, text in enumerate(request.hex))
        return
    records = read_capture(request.pcap)
    start_ns = int(records.records["time_ns"].min()) if len(records.records) else 0
    for record in records.records[: request.limit]:
        yield int(record["time_ns"]) - start_ns, frame_at(int(record["address"]), int(record["length_bytes"]))


def _walks(program: CompiledProgram, request: TraceRequest, frames: list[tuple[int, bytes]]) -> Iterator[Walk]:
    rings = Rings()
    walks: list[Walk] = []
    switch = TracedSwitch(ports=rings.table, report=walks.append)
    switch.load(program)
    if request.entries is not None:
        _fill(switch, program, request.entries)
    for time_ns, frame in frames:
        switch.process(one_frame(frame, request.port), START_NS + time_ns)
        rings.take()
        yield walks.pop()


def _fill(switch: TracedSwitch, program: CompiledProgram, path: str) -> None:
    """Do what the lines say of the control plane. Packets and checks among them are left out."""
    for step in bind(parse(Path(path).read_text(errors="replace")), program).steps:
        if isinstance(step, Change):
            try:
                step.apply(switch)
            except ControlError as error:
                raise ControlError(error.code, f"{path}:{step.line}: {error}") from None


def _columns(output: TextIO) -> int:
    """Width of the terminal, if it is one."""
    return shutil.get_terminal_size((WIDTH, 0)).columns if output.isatty() or "COLUMNS" in os.environ else WIDTH


def _print(walk: Walk, number: int, as_json: bool, output: TextIO) -> None:
    if as_json:
        print(json.dumps(walk_data(walk)), file=output)
        return
    print(f"packet {number}", file=output)
    for line in walk_lines(walk, width=_columns(output) - 2):
        print(f"  {line}", file=output)
    for left in walk.left:
        print(f"  port {left.port}: {left.content.hex()}", file=output)
    if not walk.left:
        print("  nothing left the switch", file=output)
