"""``python -m emulator.harness.fuzz.soak FOLDER...``: millions of packets through every program of the folders.

They are tried in a process of their own, so that a crash is told as one, with the program's name. Programs are the
``.p4`` files that have a ``.stf`` beside them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from emulator.harness.fuzz.trial import Trial, Trouble

COMPARED = 2_000
"""Packets through both engines; the interpreter does some thousand a second."""
ENDURED = 1_000_000
CONTINUED = 500
"""Packets through both engines after the long work."""


@dataclass(frozen=True, slots=True)
class Amounts:
    compared: int = COMPARED
    endured: int = ENDURED
    continued: int = CONTINUED
    number: int = 1
    """Which packets: another number, others."""


def programs_in(folders: Sequence[str]) -> list[Path]:
    """Programs with a packet test, in order of their names."""
    found = [test.with_suffix(".p4") for folder in folders for test in sorted(Path(folder).rglob("*.stf"))]
    return [program for program in found if program.exists()]


def soak(programs: Sequence[Path], amounts: Amounts) -> list[Trouble]:
    """All programs, one after the other; prints a line for each."""
    troubles: list[Trouble] = []
    worker = Worker(amounts)
    for index, program in enumerate(programs, 1):
        started = time.monotonic()
        found = worker.try_program(program)
        verdict = "TROUBLE" if found else "ok"
        print(f"[{index}/{len(programs)}] {program}: {verdict} in {time.monotonic() - started:.1f} s")
        for trouble in found:
            print(f"    {trouble.message}")
        sys.stdout.flush()
        troubles += found
    worker.close()
    return troubles


class Worker:
    """A process that tries programs; when it dies the next program gets a new one."""

    def __init__(self, amounts: Amounts) -> None:
        self._amounts = amounts
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    def try_program(self, program: Path) -> list[Trouble]:
        """Its troubles; what the process dies of is one."""
        connection = self._start()
        connection.send(program)
        try:
            found: list[Trouble] = connection.recv()
        except EOFError:
            return [Trouble(str(program), f"the process died, exit code {self.close()}")]
        return found

    def close(self) -> int | None:
        """End the process; its exit code."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if process is None or connection is None:
            return None
        connection.close()
        process.join()
        return process.exitcode

    def _start(self) -> Connection:
        if self._connection is not None:
            return self._connection
        context = multiprocessing.get_context("fork")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._connection, self._amounts))
        self._process.start()
        theirs.close()
        return self._connection


def _serve(connection: Connection, other_end: Connection, amounts: Amounts) -> None:
    other_end.close()
    while True:
        try:
            program: Path = connection.recv()
        except EOFError:
            return
        try:
            found = try_program(program, amounts)
        except Exception as error:
            found = [Trouble(str(program), f"{type(error).__name__}: {error}")]
        connection.send(found)


def try_program(program: Path, amounts: Amounts) -> list[Trouble]:
    """A program in this process."""
    trial = Trial(str(program), str(program.with_suffix(".stf")), number=amounts.number)
    return [*trial.compare(amounts.compared), *trial.endure(amounts.endured, amounts.continued)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--packets", type=int, default=ENDURED, help="through the compiled program alone")
    parser.add_argument("--compared", type=int, default=COMPARED, help="through both engines")
    parser.add_argument("--number", type=int, default=1, help="which packets")
    given = parser.parse_args()
    amounts = Amounts(given.compared, given.packets, CONTINUED, given.number)
    troubles = soak(programs_in(given.folders), amounts)
    print(f"{len(troubles)} troubles" if troubles else "no trouble")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
