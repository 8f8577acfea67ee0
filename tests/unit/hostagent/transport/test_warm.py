"""What is compiled into object files ahead of time: each function with as many arguments as it takes."""

from __future__ import annotations

import inspect

import pytest

from emulator.native.loops_file import Entries
from emulator.ports.loop import switch_loops
from hostagent.rackserver import core
from hostagent.transport import warm
from tests.labs import compiled_cores


@pytest.mark.parametrize(
    "entries",
    [warm.all_entries(), core.entries(), switch_loops.entries(), compiled_cores.entries()],
    ids=["host", "rack server", "switch", "labs"],
)
def test_the_numbers_of_arguments_are_the_functions(entries: Entries) -> None:
    for function, arity in entries:
        assert len(inspect.signature(function.py_func).parameters) == arity, function
