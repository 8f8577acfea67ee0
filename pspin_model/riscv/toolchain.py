"""Compiling a C handler for the cores, with Debian's bare-metal RISC-V compiler."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

PREFIX = "riscv64-unknown-elf-"
ARCHITECTURE = ("-march=rv32ima", "-mabi=ilp32")
"""As the cores, but without compressed instructions: gcc's counts do not change, and each takes four bytes."""
ENTRY = "handler"
HANDLERS = Path(__file__).with_name("handlers")


class ToolchainError(RuntimeError):
    """The C compiler is missing, or refuses the source. Says which."""


@dataclass(frozen=True, slots=True)
class Program:
    """Machine code that begins at ``base``, and the address of its handler."""

    code: bytes
    base: int
    entry: int


def missing() -> str | None:
    """What has to be installed before C handlers can be run, or None."""
    if shutil.which(f"{PREFIX}gcc") is None:
        return "the RISC-V compiler is not there: apt-get install gcc-riscv64-unknown-elf"
    try:
        import unicorn  # noqa: F401
    except ImportError:
        return "the emulator library is not there: pip install 'netsum[riscv]'"
    return None


def compile_handler(source: Path, base: int) -> Program:
    """Compile and link a file that defines ``void handler(const task_t *)``."""
    problem = missing()
    if problem:
        raise ToolchainError(problem)
    with tempfile.TemporaryDirectory() as folder:
        image, binary = Path(folder) / "handler.elf", Path(folder) / "handler.bin"
        _call(
            "gcc", *ARCHITECTURE, "-O2", "-ffreestanding", "-nostdlib", "-static", f"-I{HANDLERS}",
            f"-Wl,-Ttext={base:#x},-e,{ENTRY}", "-o", str(image), str(source),
        )  # fmt: skip
        _call("objcopy", "-O", "binary", "-j", ".text", str(image), str(binary))
        symbols = {line.split()[2]: int(line.split()[0], 16) for line in _call("nm", str(image)).splitlines()}
        if ENTRY not in symbols:
            raise ToolchainError(f"{source}: no function {ENTRY!r}")
        return Program(binary.read_bytes(), base, symbols[ENTRY])


def _call(tool: str, *arguments: str) -> str:
    done = subprocess.run([f"{PREFIX}{tool}", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolchainError(f"{tool}: {done.stderr.strip()}")
    return done.stdout
