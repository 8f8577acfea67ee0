"""Calls of machine code by its address."""

from __future__ import annotations

import inspect
from typing import Any

from llvmlite import ir
from numba.core import types

from emulator.native.intrinsic import I64, inlined, of_integers


def _call(builder: Any, function: Any, *values: Any) -> Any:
    function_type = ir.FunctionType(I64, [I64] * len(values))
    return builder.call(builder.inttoptr(function, function_type.as_pointer()), values)


call_address = of_integers(
    "call_address",
    7,
    "Call a program's process(): (its address, context, addresses, lengths, ports, count, now_ns); returns its int64.",
    _call,
)


@inlined
def call_compiled(typing_context: Any, function: Any, *arguments: Any) -> Any:
    """Call machine code, int64 of as many int64, by its address (see ``entry_address``)."""
    count = len(arguments)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        number = ir.IntType(64)
        pointer = builder.inttoptr(values[0], ir.FunctionType(number, [number] * count).as_pointer())
        return builder.call(pointer, [builder.extract_value(values[1], place) for place in range(count)])

    values_type: Any = types.StarArgUniTuple
    return types.int64(types.int64, values_type(types.int64, count)), generate


def entry_address(function: Any) -> int:
    """Address of a compiled function of int64 that returns one, for ``call_compiled``.

    Calling by address keeps large loops out of the machine code of their callers: numba compiles a function again
    as part of every function that calls it, at every level.
    """
    arguments = (types.int64,) * len(inspect.signature(function.py_func).parameters)
    function.compile(types.int64(*arguments))
    result = function.overloads[arguments]
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name))
