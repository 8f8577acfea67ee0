"""``python -m emulator.harness.fuzz.soak FOLDER_OR_PROGRAM...``: millions of packets through every program.

Each runs in another process, so that a crash is reported with the program's name. A folder's programs are the ``.p4``
files that have a ``.stf`` file with them; a program named by its path needs none: its packets are random bytes then.
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

from emulator.harness.fuzz.trial import Endured, Trial, Trouble

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
    """Seed of the packets."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of one program."""

    troubles: tuple[Trouble, ...]
    endured: Endured | None = None
    """None if it didn't come to that."""

    def __str__(self) -> str:
        if self.troubles or self.endured is None:
            return "TROUBLE"
        e = self.endured
        speed = e.packets / e.seconds / 1e6 if e.seconds else 0.0
        return f"ok, {e.packets} packets, {e.sent} sent, {speed:.1f} million/s, {e.grown_bytes >> 10} KiB more"


def programs_in(places: Sequence[str]) -> list[Path]:
    """Programs with a packet test, in order of their names; and those that are named themselves."""
    found = []
    for place in map(Path, places):
        found += sorted(test.with_suffix(".p4") for test in place.rglob("*.stf")) if place.is_dir() else [place]
    return [program for program in found if program.exists()]


def soak(programs: Sequence[Path], amounts: Amounts) -> list[Trouble]:
    """All programs, one after the other; prints a line for each."""
    troubles: list[Trouble] = []
    worker = Worker(amounts)
    for index, program in enumerate(programs, 1):
        started = time.monotonic()
        verdict = worker.try_program(program)
        print(f"[{index}/{len(programs)}] {program}: {verdict}; {time.monotonic() - started:.1f} s in all")
        for trouble in verdict.troubles:
            print(f"    {trouble.message}")
        sys.stdout.flush()
        troubles += verdict.troubles
    worker.close()
    return troubles


class Worker:
    """A process that tries programs; when it dies the next program gets a new one."""

    def __init__(self, amounts: Amounts) -> None:
        self._amounts = amounts
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    def try_program(self, program: Path) -> Verdict:
        """What the process dies of is a trouble."""
        connection = self._start()
        connection.send(program)
        try:
            verdict: Verdict = connection.recv()
        except EOFError:
            return Verdict((Trouble(str(program), f"the process died, exit code {self.close()}"),))
        return verdict

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
            verdict = try_program(program, amounts)
        except Exception as error:
            verdict = Verdict((Trouble(str(program), f"{type(error).__name__}: {error}"),))
        connection.send(verdict)


def try_program(program: Path, amounts: Amounts) -> Verdict:
    """A program in this process."""
    test = program.with_suffix(".stf")
    trial = Trial(str(program), str(test) if test.exists() else None, number=amounts.number)
    found = (*trial.compare(amounts.compared), *trial.endure(amounts.endured, amounts.continued))
    return Verdict(found, trial.endured)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", metavar="FOLDER_OR_PROGRAM")
    parser.add_argument("--packets", type=int, default=ENDURED, help="packets for the compiled program alone")
    parser.add_argument("--compared", type=int, default=COMPARED, help="packets for both engines")
    parser.add_argument("--number", type=int, default=1, help="seed of the packets")
    given = parser.parse_args()
    amounts = Amounts(given.compared, given.packets, CONTINUED, given.number)
    troubles = soak(programs_in(given.programs), amounts)
    print(f"{len(troubles)} troubles" if troubles else "no trouble")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
