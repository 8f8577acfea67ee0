"""C handlers in the machine: instruction by instruction between the points of order, which are the calls they make.

The machine runs a short compiled handler in their place. It has the emulator run the C code to its next call, charges
the instructions that ran there by class, and makes the call of `pspin_model.handlers` that was asked for.
"""

from __future__ import annotations

import ctypes
import pickle
import struct
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numba
import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from pspin_model.handlers import calls
from pspin_model.handlers.core import charge_all, checked, fault, row
from pspin_model.handlers.decorator import Handler
from pspin_model.handlers.memory import view
from pspin_model.handlers.overloads import CHECKED
from pspin_model.machine import layout as at
from pspin_model.machine.costs import CLASSES
from pspin_model.machine.switching import carray, words_at
from pspin_model.riscv.emulator import Emulator, HandlerFault, Memories, Running
from pspin_model.riscv.engine_stack import call_on_engine_stack
from pspin_model.riscv.memory_map import HANDLER_MEMORY, PACKET, PACKET_L2, SCRATCHPADS, SPACE, VARIABLES, Region
from pspin_model.riscv.toolchain import ENTRY, Program, compile_program

(LOCK, TRY_LOCK, UNLOCK, READ_LOCK, READ_UNLOCK, DMA, DMA_WAIT, DMA_TEST, SEND, TO_HOST, FROM_HOST, HOST_WORD, WAIT,
 TEST, YIELD, NOW, FAIL) = range(1, 18)  # fmt: skip
"""Numbers of the calls, as `handlers/handler.h` has them."""
FAULT, RETURN = -2, -1
ARGUMENTS = 5
COUNTS = 1 + ARGUMENTS
WORDS = COUNTS + len(CLASSES)
"""What the emulator passes to the compiled handler: the call's number, its arguments, instructions by class."""
BROKEN = -1
"""Code of a handler with interrupted emulation."""
ENDLESS = 1
"""First argument of a fault of a handler that would not return."""


@njit
def _charge(h: int, words: Any) -> None:
    c = words[COUNTS:]
    charge_all(h, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11], c[12], c[13])


@checked
def _serve(h: int, w: Any) -> None:
    """Make the call that a C handler asked for; its answer is left in the core's row."""
    call, a, b, c, d = w[0], w[1], w[2], w[3], w[4]
    if call == LOCK:
        calls.lock(h, a)
    elif call == TRY_LOCK:
        calls.try_lock(h, a)
    elif call == UNLOCK:
        calls.unlock(h, a)
    elif call == READ_LOCK:
        calls.read_lock(h, a)
    elif call == READ_UNLOCK:
        calls.read_unlock(h, a)
    elif call == DMA:
        calls.dma(h, view(a, c, np.uint8), view(b, c, np.uint8))
    elif call == DMA_WAIT:
        calls.dma_wait(h, a)
    elif call == DMA_TEST:
        calls.dma_test(h, a)
    elif call == SEND:
        calls.send_packet(h, view(a, b, np.uint8), c, d)
    elif call == TO_HOST:
        calls.copy_to_host(h, view(a, b, np.uint8), c)
    elif call == FROM_HOST:
        calls.copy_from_host(h, view(a, b, np.uint8), c)
    elif call == HOST_WORD:
        calls.write_to_host(h, a, b)
    elif call == WAIT:
        calls.wait(h, a)
    elif call == TEST:
        calls.test(h, a)
    elif call == YIELD:
        calls.yield_core(h)
    elif call == NOW:
        row(h)[at.H_RESULT] = calls.now(h)
    elif call == FAIL:
        calls.fail(h, a)


@checked
def _interpret(h: int, function: int, number: int) -> None:
    first = 0
    while True:
        address = call_on_engine_stack(function, 2 * number + first, h, row(h)[at.H_ENGINE_SP])
        if address == 0:  # the call was broken off before it could say why
            fault(h, at.FAULT_HANDLER, BROKEN)
        words = carray(words_at(address), WORDS)
        first = 1
        _charge(h, words)
        if words[0] == RETURN:
            return
        if words[0] == FAULT:
            if words[1] == ENDLESS:
                row(h)[at.H_PENDING] += row(h)[at.H_LIMIT]
            row(h)[at.H_EXCEPTION] = words[2]
            fault(h, at.FAULT_EXCEPTION, 0)
        _serve(h, words)


MOST_EMULATORS = 16
"""Contexts with emulators that a program keeps."""
MOST_TEXTS = 4096
"""Different texts of faults that are kept during a run; fewer are reported."""
INTERRUPTED = "interrupted; load the C program again"


class _Record(ctypes.Structure):
    """How numba says what was raised: the address and length of a pickled tuple, and what C code does not use."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("size", ctypes.c_int32), ("arguments", ctypes.c_void_p),
        ("reader", ctypes.c_void_p), ("count", ctypes.c_int32),
    )  # fmt: skip


class CProgram:
    """A C source, compiled and loaded; its functions can be handlers.

    Its variables live as long as it does, whichever contexts and machines its handlers run in: load it again for fresh
    ones. Raises `toolchain.ToolchainError` where the compiler is missing or refuses the source.
    """

    def __init__(self, source: Path | str) -> None:
        self.program: Program = compile_program(Path(source))
        self._variables = ctypes.create_string_buffer(SPACE)
        for segment in self.program.segments:
            if VARIABLES <= segment.address < VARIABLES + SPACE:
                at_start = ctypes.addressof(self._variables) + segment.address - VARIABLES
                ctypes.memmove(at_start, segment.data, len(segment.data))
        self._emulators: dict[Memories, Emulator] = {}
        self._running: dict[int, tuple[Running, Emulator, NDArray[np.int64]]] = {}
        self._told: dict[bytes, tuple[Any, _Record]] = {}
        self._broken = np.zeros(WORDS, np.int64)
        self.interrupted = False
        """Whether a run was interrupted from the keyboard: its handlers run no more."""

    def handler(self, function: str = ENTRY) -> CHandler:
        """One of its functions, ``void function(const task_t *)``, for `Machine.context`."""
        return CHandler(self, function)

    def begin(self, h: int, entry: int) -> None:
        """A core begins with a packet's task."""
        r = _row(h)
        memories = Memories(
            int(r[at.H_SCRATCH]), int(r[at.H_SCRATCH_BYTES]), int(r[at.H_CLUSTERS]),
            int(r[at.H_HANDLER_MEMORY]), int(r[at.H_HANDLER_MEMORY_BYTES]),
        )  # fmt: skip
        words = self._running[h][2] if h in self._running else np.zeros(WORDS, np.int64)
        emulator = self._emulators.get(memories)
        if emulator is None:
            if len(self._emulators) >= MOST_EMULATORS:
                del self._emulators[next(iter(self._emulators))]
            emulator = self._emulators[memories] = Emulator(self.program, memories, self._variables)
        size = int(r[at.H_PACKET_BYTES])
        running = Running(
            Region("the packet", PACKET, size, int(r[at.H_PACKET_ADDRESS]), far=False),
            Region("the packet in L2", PACKET_L2, size, int(r[at.H_PACKET_L2]), far=True),
            _task(r, memories), entry, SCRATCHPADS + int(r[at.H_CLUSTER]) * memories.stride,
        )  # fmt: skip
        self._running[h] = running, emulator, words

    def go_on(self, h: int) -> NDArray[np.int64]:
        """Run what a core has begun to its next call; what to do then is in the words returned."""
        r = _row(h)
        running, emulator, words = self._running[h]
        words[:] = 0
        try:
            words[0] = emulator.go_on(running, int(r[at.H_RESULT]), int(r[at.H_LIMIT]))
            words[COUNTS:] = running.counts
            if words[0] != RETURN:
                words[1:COUNTS] = _given(int(words[0]), emulator)
        except HandlerFault as error:
            words[0], words[1], words[2] = FAULT, int(emulator.endless), self._record(error)
            words[COUNTS:] = 0 if emulator.endless else running.counts
        return words

    def broken(self, error: BaseException) -> int:
        """Words of a fault that is not the handler's own."""
        self._broken[:] = 0
        self._broken[0], self._broken[2] = FAULT, self._record(error)
        return int(self._broken.ctypes.data)

    def _record(self, error: BaseException) -> int:
        data = pickle.dumps((type(error), error.args, None))
        if data not in self._told:
            if len(self._told) >= MOST_TEXTS:
                return ctypes.addressof(next(reversed(self._told.values()))[1])
            held = ctypes.create_string_buffer(data, len(data))
            self._told[data] = held, _Record(ctypes.addressof(held), len(data))
        return ctypes.addressof(self._told[data][1])

    def forget(self) -> None:
        """Forget the faults of runs that are over."""
        self._told.clear()


class CHandler(Handler):
    """A function of a C program as a handler."""

    def __init__(self, program: CProgram, function: str) -> None:
        self.name = program.program.source.stem if function == ENTRY else function
        self.program = program
        self.entry = program.program.entry(function)
        self.code_bytes = program.program.code_bytes
        _handlers[id(self)] = self
        number = id(self)
        address = int(ctypes.cast(_callback, ctypes.c_void_p).value or 0)
        interpret = _interpret

        def run(h: int) -> None:
            interpret(h, address, number)

        self._compiled = numba.njit(**CHECKED)(run)

    def forget(self) -> None:
        """Forget the faults of runs that are over."""
        self.program.forget()


def c_handler(source: Path | str, function: str = ENTRY) -> CHandler:
    """A C file's function as a handler, for `Machine.context`; see `CProgram` for several of one file."""
    return CProgram(source).handler(function)


_handlers: WeakValueDictionary[int, CHandler] = WeakValueDictionary()
"""Handlers by the number that their compiled code has."""


def _resume(order: int, h: int) -> int:
    """What compiled code calls: a handler's number, doubled, and one more if it goes on. Returns the words' address."""
    handler = _handlers[order >> 1]
    program = handler.program
    try:
        if program.interrupted:
            raise KeyboardInterrupt(INTERRUPTED)
        if not order & 1:
            program.begin(h, handler.entry)
        return int(program.go_on(h).ctypes.data)
    except KeyboardInterrupt:  # it cannot pass through the machine's compiled loop, which comes to its end at once
        program.interrupted = True
        return program.broken(KeyboardInterrupt(INTERRUPTED))
    except BaseException as error:
        return program.broken(error)


_callback = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(_resume)


def _row(h: int) -> NDArray[np.int64]:
    return np.ctypeslib.as_array((ctypes.c_int64 * at.H_COLUMNS).from_address(h))


def _task(r: NDArray[np.int64], memories: Memories) -> bytes:
    """The struct of `handlers/handler.h`."""
    own = SCRATCHPADS + int(r[at.H_CLUSTER]) * memories.stride
    near = (
        PACKET, r[at.H_PACKET_BYTES], own, memories.scratchpad_bytes, PACKET_L2, HANDLER_MEMORY,
        memories.handler_memory_bytes, SCRATCHPADS, memories.stride, r[at.H_CLUSTER], r[at.H_CLUSTERS], r[at.H_CORE],
        r[at.H_PLACE], r[at.H_HOME],
    )  # fmt: skip
    return struct.pack("<14I3q", *map(int, near), *map(int, (r[at.H_MESSAGE], r[at.H_TAG], r[at.H_SOURCE])))


def _given(call: int, emulator: Emulator) -> list[int]:
    """Arguments of a call: addresses are those of the simulating process, words of 64 bits in one."""
    if not LOCK <= call <= FAIL:
        raise HandlerFault(f"{emulator.calling()}: the machine has no call {call}")
    a, b, c, d, e = emulator.arguments()
    if call == DMA:
        return [emulator.host_address(a, c), emulator.host_address(b, c), c, 0, 0]
    if call == SEND:
        return [emulator.host_address(a, b), b, _signed(c, d), e, 0]
    if call in (TO_HOST, FROM_HOST):
        return [emulator.host_address(a, b), b, c, 0, 0]
    if call == HOST_WORD:
        return [a, _signed(b, c), 0, 0, 0]
    return [a, 0, 0, 0, 0]


def _signed(low: int, high: int) -> int:
    return int.from_bytes(struct.pack("<II", low, high), "little", signed=True)
