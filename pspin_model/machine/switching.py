"""Stacks of handlers: what lets a compiled function stop in the middle and go on later.

A handler runs on its own stack. At a point of order it writes its request into its core's row and
switches to the engine's stack; the engine switches back when simulated time has come. A switch is a call that saves the
registers that the calling convention preserves, so the compiler need not know of it.

The few instructions are written for both kinds of machine we build for. They are the bodies of LLVM functions marked
``naked``, so numba caches them with their callers; only compiling them needs LLVM's assembler, started below.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

llvmlite.binding.initialize_native_asmparser()

carray: Any = numba.carray  # type: ignore[attr-defined]
"""numba's view of memory at a pointer, for compiled code."""


def machine_code(function: Callable[..., Any]) -> Any:
    """``numba.extending.intrinsic``, typed: a call compiled code makes to what the function emits."""
    return intrinsic(function)


I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)

SWITCH = {
    "x86_64": """
        pushq %rbp
        pushq %rbx
        pushq %r12
        pushq %r13
        pushq %r14
        pushq %r15
        movq %rsp, (%rdi)
        movq %rsi, %rsp
        popq %r15
        popq %r14
        popq %r13
        popq %r12
        popq %rbx
        popq %rbp
        retq""",
    "aarch64": """
        sub sp, sp, #160
        stp x19, x20, [sp, #0]
        stp x21, x22, [sp, #16]
        stp x23, x24, [sp, #32]
        stp x25, x26, [sp, #48]
        stp x27, x28, [sp, #64]
        stp x29, x30, [sp, #80]
        stp d8, d9, [sp, #96]
        stp d10, d11, [sp, #112]
        stp d12, d13, [sp, #128]
        stp d14, d15, [sp, #144]
        mov x9, sp
        str x9, [x0]
        mov sp, x1
        ldp x19, x20, [sp, #0]
        ldp x21, x22, [sp, #16]
        ldp x23, x24, [sp, #32]
        ldp x25, x26, [sp, #48]
        ldp x27, x28, [sp, #64]
        ldp x29, x30, [sp, #80]
        ldp d8, d9, [sp, #96]
        ldp d10, d11, [sp, #112]
        ldp d12, d13, [sp, #128]
        ldp d14, d15, [sp, #144]
        add sp, sp, #160
        ret""",
}
"""save(address, to): keep the registers on this stack, its pointer at `address`, go on with the stack `to`."""

START = {
    "x86_64": """
        movq %r12, %rdi
        andq $$-16, %rsp
        callq *%r13
        ud2""",
    "aarch64": """
        mov x0, x19
        blr x20
        brk #1""",
}
"""First instructions on a new stack: call the function in the second register kept with the first as argument, the
stack aligned as the calling convention has it (vectors are kept there)."""

FRAME = {
    # words of a new stack, lowest first; places of argument, function and first instruction in them
    "x86_64": (16, 3, 2, 6),
    "aarch64": (20, 0, 1, 11),
}

MACHINE = platform.machine() if platform.machine() in SWITCH else "x86_64"
FRAME_WORDS, FRAME_ARGUMENT, FRAME_FUNCTION, FRAME_RETURN = FRAME[MACHINE]


def _naked(module: Any, name: str, text: str, arguments: int) -> Any:
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * arguments), name)
    function.linkage = "internal"
    for attribute in ("naked", "noinline", "nounwind"):
        function.attributes.add(attribute)
    builder = ir.IRBuilder(function.append_basic_block())
    builder.asm(ir.FunctionType(ir.VoidType(), []), text, "~{memory}", [], True)
    builder.unreachable()
    return function


@machine_code
def switch_stacks(context: Any, save_at: Any, go_to: Any) -> Any:
    """Keep this stack's pointer in the word at address ``save_at`` and go on with the stack ``go_to``."""
    signature = types.void(types.int64, types.int64)

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        builder.call(_naked(builder.module, "netsum_switch_stacks", SWITCH[MACHINE], 2), values)
        return context.get_dummy_value()

    return signature, lower


@machine_code
def first_instruction(context: Any) -> Any:
    """Address of the code that a new stack returns to."""

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.ptrtoint(_naked(builder.module, "netsum_start_stack", START[MACHINE], 0), I64)

    return types.int64(), lower


@machine_code
def call_handler(context: Any, code: Any, argument: Any, exception_at: Any) -> Any:
    """Call numba's machine code of a function of one int64 without result.

    Returns 0, or numba's status of an exception, whose record's address is then at ``exception_at``.
    """
    signature = types.int64(types.int64, types.int64, types.int64)

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        code, argument, exception_at = values
        pointer = I8.as_pointer()
        kind = ir.FunctionType(I32, [pointer.as_pointer(), pointer.as_pointer(), I64])
        function = builder.inttoptr(code, kind.as_pointer())
        result = builder.alloca(pointer)
        builder.store(ir.Constant(pointer, None), result)
        exception = builder.inttoptr(exception_at, pointer.as_pointer())
        return builder.sext(builder.call(function, [result, exception, argument]), I64)

    return signature, lower


@machine_code
def words_at(context: Any, address: Any) -> Any:
    """The int64 words at an address, as a pointer for ``numba.carray``."""
    signature = types.CPointer(types.int64)(types.int64)  # type: ignore[no-untyped-call]

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], I64.as_pointer())

    return signature, lower


@machine_code
def bytes_at(context: Any, address: Any) -> Any:
    """An address as an untyped pointer for ``numba.carray``."""
    signature = types.voidptr(types.int64)

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], I8.as_pointer())

    return signature, lower
