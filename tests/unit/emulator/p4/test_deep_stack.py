"""Programs that nest deeper than Python's calls do by default."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest

from emulator.p4.deep_stack import is_deep, with_room
from emulator.p4.errors import CompileError
from tests.programs.run import Piece, around
from tests.programs.text import compile_text

SUM = "p = " + " + ".join(["a"] * 400) + ";"
CHOICE = "r = " + "".join(f"c == {i} ? 32w{i + 7} : (" for i in range(300)) + "9" + ")" * 300 + ";"
CHAIN = " else ".join(f"if (b == {i}) {{ q = 32w{i} ^ 5; }}" for i in range(250))


def test_long_sums_chains_of_else_ifs_and_of_choices() -> None:
    piece = Piece(around(SUM + CHAIN + CHOICE), ["llvm"])
    assert piece(3, 249, 299)[:3] == (1200, 249 ^ 5, 306)
    assert piece(1, 250, 300)[:3] == (400, 0, 9)


def test_paths_through_many_functions_are_longer_than_llvm_takes_names() -> None:
    names = [f"function_with_a_long_name_{number}" for number in range(40)]
    chain = f"bit<32> {names[0]}(in bit<32> x) {{ bit<32> one = 1; return x + one; }}\n" + "".join(
        f"bit<32> {name}(in bit<32> x) {{ bit<32> y = x; return {called}(y + 2) + y; }}\n"
        for called, name in pairwise(names)
    )
    piece = Piece(around(f"p = {names[-1]}(a);", declarations=chain), ["llvm"])
    assert piece(5)[0] == sum(range(5, 5 + 2 * 40, 2)) + 1


def test_what_nests_without_end_is_an_error() -> None:
    with pytest.raises(CompileError, match="nested too deeply"):
        compile_text(around(f"p = {'(' * 50_000}a{')' * 50_000};"))


def test_work_that_needs_depth_gets_it_and_nothing_stays_changed() -> None:
    before = sys.getrecursionlimit()

    def down(steps: int) -> int:
        return 0 if steps == 0 else 1 + down(steps - 1)

    assert with_room(lambda: down(2 * before)) == 2 * before
    assert not with_room(is_deep)
    assert sys.getrecursionlimit() == before
    with pytest.raises(ZeroDivisionError):
        with_room(lambda: down(2 * before) / 0)
