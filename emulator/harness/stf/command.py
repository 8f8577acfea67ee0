"""``netsum stf PROGRAM.p4 TEST.stf...``: run packet tests, say what did not hold."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from emulator.harness.stf.report import failure_lines
from emulator.harness.stf.runner import ENGINE_CHOICES, Result, Runner
from emulator.p4.errors import CompileError
from emulator.p4.library import ProgramNotFound


def run_stf(
    program: str,
    tests: Sequence[str],
    *,
    engine: str = "llvm",
    as_json: bool = False,
    verbose: bool = False,
    defines: Mapping[str, str] | None = None,
    include_paths: Sequence[str] = (),
    output: TextIO | None = None,
    errors: TextIO | None = None,
) -> int:
    """The command's exit status: 0 when all of it held, 1 when something did not, 2 when it could not be run.

    ``output`` (standard output) gets the results, ``errors`` (standard error) what is wrong with program or arguments.
    """
    output, errors = output or sys.stdout, errors or sys.stderr
    if engine not in ENGINE_CHOICES:
        print(
            f"netsum stf: --engine: there is no engine {engine!r}; choose one of {', '.join(ENGINE_CHOICES)}",
            file=errors,
        )
        return 2
    try:
        runner = Runner(program, engine=engine, defines=defines, include_paths=include_paths)
        results = [result for test in tests for result in runner.run_file(test)]
    except CompileError as error:
        print(error, file=errors)
        return 2
    except ProgramNotFound as error:
        print(f"netsum stf: {error}", file=errors)
        return 2
    except OSError as error:
        print(f"netsum stf: {error.filename}: {error.strerror}", file=errors)
        return 2
    if as_json:
        print(json.dumps({"program": runner.program, "tests": [_as_data(r) for r in results]}), file=output)
    else:
        _print(results, engines=len(runner.compiled), verbose=verbose, output=output)
    if any(r.complaints for r in results):
        return 2
    return 0 if all(r.held for r in results) else 1


def _print(results: Iterable[Result], *, engines: int, verbose: bool, output: TextIO) -> None:
    for result in results:
        name = f"{result.test} [{result.engine}]" if engines > 1 else result.test
        for line in result_lines(result, verbose=verbose):
            print(line, file=output)
        print(f"{name}: {_verdict(result)}", file=output)


def result_lines(result: Result, *, verbose: bool = False) -> Iterable[str]:
    """What there is to say of a test besides its verdict."""
    for complaint in result.complaints:
        yield f"{result.test}:{complaint.line}: {complaint.message}"
    if result.record is not None:
        for note in result.record.notes:
            yield f"{result.test}:{note.line}: {note.message}"
    for failure in result.failures:
        yield from failure_lines(result.test, failure)
    yield from result.explanation
    if result.record is not None and (verbose or result.failures):
        counts = {**result.record.drops, **result.record.faults}
        if verbose:
            yield from (f"    log: {message}" for message in result.record.messages)
        if counts:
            yield "    the switch counted: " + ", ".join(f"{words} {count}" for words, count in counts.items())


def _verdict(result: Result) -> str:
    if result.complaints:
        return "not run: the test file has mistakes"
    assert result.record is not None
    packets = f"{result.record.sent} packets in, {len(result.record.outputs)} out"
    if result.failures:
        return f"FAILED in {len(result.failures)} places ({packets})"
    return f"ok ({packets})"


def _as_data(result: Result) -> dict[str, Any]:
    record = result.record
    return {
        "test": result.test,
        "engine": result.engine,
        "ok": result.held,
        "mistakes": [asdict(c) for c in result.complaints],
        "failures": [asdict(f) for f in result.failures],
        "explanation": result.explanation,
        "log": record.messages if record else [],
        "notes": [asdict(n) for n in record.notes] if record else [],
        "packets_in": record.sent if record else 0,
        "packets_out": len(record.outputs) if record else 0,
        "drops": record.drops if record else {},
        "faults": record.faults if record else {},
    }
