"""A call from a handler's small stack to a function that needs a large one: it runs on the stack of the engine, which
is idle while a handler runs."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from pspin_model.machine.switching import I64, MACHINE, machine_code

CALL = {
    "x86_64": """
        pushq %rbp
        movq %rsp, %rbp
        movq %rcx, %rsp
        andq $$-16, %rsp
        movq %rdi, %rax
        movq %rsi, %rdi
        movq %rdx, %rsi
        callq *%rax
        movq %rbp, %rsp
        popq %rbp
        retq""",
    "aarch64": """
        stp x29, x30, [sp, #-16]!
        mov x29, sp
        and x9, x3, #-16
        mov sp, x9
        mov x9, x0
        mov x0, x1
        mov x1, x2
        blr x9
        mov sp, x29
        ldp x29, x30, [sp], #16
        ret""",
}
"""call(function, first, second, stack) -> what the function returns."""
NAME = "netsum_call_on_engine_stack"


def _function(module: Any) -> Any:
    if NAME in module.globals:
        return module.globals[NAME]
    function = ir.Function(module, ir.FunctionType(I64, [I64] * 4), NAME)
    function.linkage = "internal"
    for attribute in ("naked", "noinline", "nounwind"):
        function.attributes.add(attribute)
    builder = ir.IRBuilder(function.append_basic_block())
    builder.asm(ir.FunctionType(ir.VoidType(), []), CALL[MACHINE], "~{memory}", [], True)
    builder.unreachable()
    return function


@machine_code
def call_on_engine_stack(context: Any, function: Any, first: Any, second: Any, stack: Any) -> Any:
    """Call the C function at an address with two words, on the stack with pointer ``stack``; returns its word."""
    signature = types.int64(types.int64, types.int64, types.int64, types.int64)

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.call(_function(builder.module), values)

    return signature, lower
