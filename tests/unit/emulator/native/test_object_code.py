"""Loops run from an object file as they do from the compiler, and processes that only run them load no compiler."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emulator.native.jit import njit
from emulator.native.object_code import ObjectCode, ObjectCodeError, build, release_linker


@njit(cache=False)
def twice(value: int) -> int:
    return 2 * value


@njit(cache=False)
def twice_or_less(value: int, limit: int) -> bool:
    return twice(value) <= limit


@njit(cache=False)
def half(value: int) -> float:
    return value / 2


def loaded(folder: Path, *functions: tuple[Any, int]) -> ObjectCode:
    build(functions, folder / "loops.o")
    return ObjectCode((folder / "loops.o").read_bytes())


def test_a_function_and_what_it_calls_run_from_the_object_file(tmp_path: Path) -> None:
    code = loaded(tmp_path, (twice_or_less, 2), (twice, 1))
    for function, arity in ((twice_or_less, 2), (twice, 1)):
        code.adopt(function, arity)
        assert function.address == code.address(function) != 0
    assert twice(-(1 << 40)) == -(1 << 41)
    assert [twice_or_less(3, limit) for limit in (5, 6)] == [0, 1]


def test_what_does_not_return_an_integer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ObjectCodeError, match="half returns float64"):
        loaded(tmp_path, (half, 1))


def test_a_function_that_is_not_in_the_file_is_named(tmp_path: Path) -> None:
    code = loaded(tmp_path, (twice, 1))
    with pytest.raises(ObjectCodeError, match="half is not in the object file"):
        code.address(half)


def test_importing_what_a_rank_runs_loads_no_compiler() -> None:
    program = "import hostagent.transport.process, sys; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_linker_works_after_its_code_was_released(tmp_path: Path) -> None:
    release_linker()
    code = loaded(tmp_path, (twice, 1))
    release_linker()
    assert code.address(twice) != 0
