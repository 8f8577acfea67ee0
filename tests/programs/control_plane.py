"""The program ``control_plane.p4`` on a switch, addressed by names."""

from __future__ import annotations

import functools
from pathlib import Path

from emulator.switch.control import TableEntry
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram, compile_program
from emulator.v1model.control_view import TableView
from tests.programs.p4_programs import Rig
from tests.programs.text import compile_text

ENGINES = ("interpreter", "llvm")


@functools.cache
def program(engine: str) -> CompiledProgram:
    text = (Path(__file__).parent / "control_plane.p4").read_text()
    return compile_program(compile_text(text), engine=engine, cache=False)


def frame(key: int = 0, kind: int = 0, other: int = 0, flow: int = 0, value: int = 0) -> bytes:
    parts = ((kind, 1), (key, 2), (other, 2), (flow, 4), (value, 4), (0xEE, 1))
    return b"".join(number.to_bytes(size, "big") for number, size in parts)


class ControlRig(Rig):
    """A switch with the program; everything goes out of port 1."""

    def __init__(self, engine: str) -> None:
        super().__init__(program(engine), engine, ports=[1], cells=256)
        self.view = program(engine).view
        self.tables: dict[str, TableView] = {t.name.removeprefix("I."): t for t in self.view.tables}
        self.profiles = {p.name.removeprefix("I."): p.id for p in self.view.profiles}
        self.actions = {a.name: a.id for t in self.view.tables for a in t.actions}

    @property
    def control(self) -> Switch:
        return self.switch

    def insert(self, table: str, entry: TableEntry) -> None:
        self.switch.insert_entry(self.tables[table].id, entry)

    def send(self, *frames: bytes, now_ns: int = 5_000_000) -> list[bytes]:
        return self.run(*frames, now_ns=now_ns).get(1, [])


def value_of(answer: bytes) -> int:
    return int.from_bytes(answer[9:13], "big")


def colours_of(answer: bytes) -> tuple[int, int]:
    """(of the direct meter, of the indirect one)."""
    return answer[13], answer[0]
