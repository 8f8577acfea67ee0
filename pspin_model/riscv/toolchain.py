"""Compiling a C handler for the cores, with Debian's bare-metal RISC-V compiler."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PREFIX = "riscv64-unknown-elf-"
ARCHITECTURE = ("-march=rv32ima", "-mabi=ilp32")
"""As the cores, but without compressed instructions: gcc's counts do not change, and each takes four bytes."""
LIBRARY_ARCHITECTURE = ("-march=rv32im", "-mabi=ilp32")
"""Flags of gcc's own library (floats, 64-bit divisions): with the multiplier; there is none with atomics as well."""
OPTIONS = ("-O2", "-g", "-ffreestanding", "-fno-pic", "-ffunction-sections", "-fdata-sections")
ENTRY = "handler"
HEADER = "handler.h:"
GLOBAL_POINTER = "__global_pointer$"
HANDLERS = Path(__file__).with_name("handlers")
LOADED = 1
"""PT_LOAD: a segment that is in memory when the program begins."""


class ToolchainError(RuntimeError):
    """The C compiler is missing, or refuses the source. Says which."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes that are in memory at an address when the program begins."""

    address: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Program:
    """A linked C source."""

    source: Path
    image: bytes
    """The ELF file, with its debug information."""
    segments: tuple[Segment, ...]
    symbols: dict[str, int]

    @property
    def code_bytes(self) -> int:
        """Size of its code, without constants."""
        return self.symbols["__code_end"] - self.symbols["__code"]

    def entry(self, function: str = ENTRY) -> int:
        """Address of a function; ToolchainError if there is none."""
        if function not in self.symbols:
            raise ToolchainError(f"{self.source}: no function {function!r} (is it static?)")
        return self.symbols[function]

    def where(self, address: int) -> str:
        """An address of its code as people read it: function (file:line)."""
        with tempfile.NamedTemporaryFile(suffix=".elf") as file:
            file.write(self.image)
            file.flush()
            lines = _call("addr2line", "-f", "-i", "-s", "-e", file.name, f"{address:#x}").split("\n")
        frames = list(zip(lines[::2], lines[1::2], strict=False))  # of inlined functions, innermost first
        function, line = next((frame for frame in frames if not frame[1].startswith(HEADER)), frames[0])
        return f"{address:#x}, where no code is" if function == "??" else f"{function} ({line.split(' ')[0]})"


def missing() -> str | None:
    """What has to be installed before C handlers can be run, or None."""
    if shutil.which(f"{PREFIX}gcc") is None:
        return "the RISC-V compiler is not there: apt-get install gcc-riscv64-unknown-elf"
    try:
        import unicorn  # noqa: F401
    except ImportError:
        return "the emulator library is not there: pip install 'netsum[riscv]'"
    return None


def compile_program(source: Path) -> Program:
    """Compile and link a C file of functions ``void handler(const task_t *)``; raises ToolchainError."""
    problem = missing()
    if problem:
        raise ToolchainError(problem)
    if not source.is_file():
        raise ToolchainError(f"{source}: no such file")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "handler.elf"
        _call(
            "gcc", *ARCHITECTURE, *OPTIONS, "-nostdlib", "-static", f"-I{HANDLERS}", f"-T{HANDLERS / 'link.ld'}",
            "-Wl,--gc-sections,--gc-keep-exported,--no-warn-rwx-segments", "-o", str(path), str(source),
            str(HANDLERS / "runtime.c"), _library(),
        )  # fmt: skip
        names = (line.split() for line in _call("nm", str(path)).splitlines())
        symbols = {words[2]: int(words[0], 16) for words in names if len(words) == 3}
        image = path.read_bytes()
    return Program(source, image, _segments(image), symbols)


@cache
def _library() -> str:
    return _call("gcc", *LIBRARY_ARCHITECTURE, "-print-libgcc-file-name").strip()


def _segments(image: bytes) -> tuple[Segment, ...]:
    """The loaded segments of a 32-bit little-endian ELF file, zeros at their ends included."""
    (table,) = struct.unpack_from("<I", image, 28)
    size, count = struct.unpack_from("<HH", image, 42)
    found = []
    for place in range(table, table + size * count, size):
        kind, offset, address, _, in_file, in_memory, _, _ = struct.unpack_from("<8I", image, place)
        if kind == LOADED and in_memory:
            found.append(Segment(address, image[offset : offset + in_file].ljust(in_memory, b"\0")))
    return tuple(found)


def _call(tool: str, *arguments: str) -> str:
    done = subprocess.run([f"{PREFIX}{tool}", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolchainError(f"{tool}: {done.stderr.strip()}")
    return done.stdout
