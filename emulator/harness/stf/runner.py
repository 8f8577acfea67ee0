"""A program and its tests, on one engine or on both: what ``netsum stf`` and the test suite call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from emulator.harness.egress_rings import Rings
from emulator.harness.stf.bind import bind
from emulator.harness.stf.compare import Failure, compare
from emulator.harness.stf.errors import Complaint, StfError
from emulator.harness.stf.parser import parse
from emulator.harness.stf.run import Record, run
from emulator.p4.library import find_program
from emulator.p4runtime.pipeline.programs import load_program
from emulator.v1model.compiled import ENGINES, CompiledProgram

BOTH = "both"
ENGINE_CHOICES = (*ENGINES, BOTH)


@dataclass(frozen=True)
class Result:
    """A test on one engine. ``complaints`` and ``failures`` are both empty exactly when all of it held."""

    test: str
    engine: str
    failures: tuple[Failure, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    """The test file could not be run: what is wrong with it."""
    record: Record | None = None
    explanation: tuple[str, ...] = ()
    """Lines on the packets of failed expectations: where they went, and their walks."""

    @property
    def held(self) -> bool:
        return not self.failures and not self.complaints


class Runner:
    """One program, compiled once for each engine it is to run on.

    ``program`` is a path or the name of a shipped program; compiling raises `CompileError`.
    """

    def __init__(
        self,
        program: str,
        *,
        engine: str = "llvm",
        defines: Mapping[str, str] | None = None,
        include_paths: Sequence[str] = (),
        rings: Rings | None = None,
    ) -> None:
        if engine not in ENGINE_CHOICES:
            raise ValueError(f"unknown engine {engine!r}: choose one of {', '.join(ENGINE_CHOICES)}")
        self.program = find_program(program)
        self._defines, self._include_paths = defines, list(include_paths)
        engines = ENGINES if engine == BOTH else (engine,)
        self.compiled: dict[str, CompiledProgram] = {
            name: load_program(self.program, defines, engine=name, include_paths=self._include_paths)
            for name in engines
        }
        if rings is not None:
            self.rings = rings

    @cached_property
    def rings(self) -> Rings:
        return Rings()

    @cached_property
    def _interpreted(self) -> CompiledProgram:
        known = self.compiled.get("interpreter")
        return known or load_program(
            self.program, self._defines, engine="interpreter", include_paths=self._include_paths
        )

    def run_file(self, path: str) -> list[Result]:
        """The results of a test file, one for each engine. Raises OSError for a file that cannot be read."""
        return self.run_text(Path(path).read_text(errors="replace"), path)

    def run_text(self, text: str, name: str) -> list[Result]:
        return [self._run(text, name, engine, compiled) for engine, compiled in self.compiled.items()]

    def _run(self, text: str, name: str, engine: str, compiled: CompiledProgram) -> Result:
        try:
            plan = bind(parse(text), compiled)
        except StfError as error:
            return Result(name, engine, complaints=error.complaints)
        record = run(plan, compiled, self.rings)
        failures = tuple(compare(plan, record))
        return Result(name, engine, failures, record=record, explanation=self._explained(text, failures))

    def _explained(self, text: str, failures: Sequence[Failure]) -> tuple[str, ...]:
        if all(failure.packet_line is None for failure in failures):
            return ()
        from emulator.harness.stf.explain import explanation, walks_of

        plan = bind(parse(text), self._interpreted)
        return tuple(explanation(failures, walks_of(plan, self._interpreted, self.rings)))
