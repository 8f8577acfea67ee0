"""Mixed-integer programs, and HiGHS (Huangfu, Hall 2018) that solves them: scipy's, or highspy's with a start."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Thread
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from emulator.network.topology.parts import TopologyError

LEAST_GAP = 1e-6
Found: TypeAlias = tuple[NDArray[np.float64] | None, float]
"""The best point that was found, and a lower bound of the objective, 0 where there is none."""


class Program:
    """Rows and columns."""

    def __init__(self) -> None:
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.integer: list[bool] = []
        self.objective: dict[int, float] = {}
        self._rows: list[tuple[float, float]] = []
        self._entries: list[tuple[int, int, float]] = []

    def variable(self, lower: float, upper: float, integer: bool = False) -> int:
        self.lower.append(lower)
        self.upper.append(upper)
        self.integer.append(integer)
        return len(self.lower) - 1

    def row(self, terms: Sequence[tuple[int, float]], lower: float = -np.inf, upper: float = np.inf) -> None:
        """lower <= sum of coefficient * variable <= upper."""
        self._entries += [(len(self._rows), variable, coefficient) for variable, coefficient in terms]
        self._rows.append((lower, upper))

    def weights(self) -> NDArray[np.float64]:
        """Of the variables in the objective, which is to be small."""
        found = np.zeros(len(self.lower))
        found[list(self.objective)] = list(self.objective.values())
        return found

    def matrix(self) -> csr_array:
        rows, columns, values = (np.array(each) for each in zip(*self._entries, strict=True))
        return csr_array((values, (rows, columns)), shape=(len(self._rows), len(self.lower)))

    def limits(self) -> NDArray[np.float64]:
        """[2, rows]: lower and upper."""
        return np.array(self._rows).T.copy()


@dataclass(frozen=True, slots=True)
class Solver:
    """Which HiGHS, and who reads its log."""

    name: str = "scipy"
    log: Callable[[str, str], object] | None = None
    """Takes what is being solved, and a line."""

    def __post_init__(self) -> None:
        if self.name not in SOLVERS:
            raise TopologyError(f"{self.name!r}: choose one of {', '.join(SOLVERS)}", ("--solver",))
        if self.name == "highspy" and find_spec("highspy") is None:
            raise TopologyError("highspy is not installed: pip install 'netsum[highspy]'", ("--solver",))

    def solve(
        self, program: Program, time_limit_s: float, what: str, start: Mapping[int, float] | None = None
    ) -> Found:
        """``start``: values of some variables, from which highspy makes a first point where it can."""
        log = self.log
        silent = log is None and self.name == "scipy"  # highspy prints who it is whether asked or not
        with nullcontext() if silent else _standard_output(lambda line: log and log(what, line)):
            return SOLVERS[self.name](program, time_limit_s, start or {}, log is not None)


def _scipy(program: Program, time_limit_s: float, start: Mapping[int, float], talks: bool) -> Found:
    found = milp(
        program.weights(),
        integrality=np.array(program.integer, int),
        bounds=Bounds(np.array(program.lower), np.array(program.upper)),
        constraints=LinearConstraint(program.matrix(), *program.limits()),
        options={"time_limit": time_limit_s, "disp": talks, "mip_rel_gap": LEAST_GAP},
    )
    bound = found.get("mip_dual_bound")
    return found.x, 0.0 if bound is None or not np.isfinite(bound) else float(bound)


def _highspy(program: Program, time_limit_s: float, start: Mapping[int, float], talks: bool) -> Found:
    import highspy

    matrix, (lower, upper) = program.matrix(), program.limits()
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.lower), len(lower)
    model.col_cost_, model.col_lower_, model.col_upper_ = program.weights(), program.lower, program.upper
    model.row_lower_, model.row_upper_ = lower, upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    kinds = highspy.HighsVarType
    model.integrality_ = [kinds.kInteger if each else kinds.kContinuous for each in program.integer]
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", talks), ("time_limit", time_limit_s), ("mip_rel_gap", LEAST_GAP)):
        solver.setOptionValue(name, value)
    solver.passModel(model)
    if start:
        solver.setSolution(len(start), np.array(list(start), np.int32), np.array(list(start.values()), float))
    solver.run()
    info = solver.getInfo()
    is_point = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    bound = info.mip_dual_bound
    return (
        np.array(solver.getSolution().col_value) if is_point else None,
        float(bound) if np.isfinite(bound) else 0.0,
    )


SOLVERS = {"scipy": _scipy, "highspy": _highspy}
SCIPY = Solver()


@contextmanager
def _standard_output(take: Callable[[str], object]) -> Iterator[None]:
    """What C++ prints there goes line by line to ``take``, which prints nothing there itself."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    kept = os.dup(1)
    os.dup2(writing, 1)
    os.close(writing)

    def read() -> None:
        with open(reading, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                take(line.rstrip())

    reader = Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        reader.join()
