"""The live loop around a core in Python: the compiled loop calls it once a batch, as it calls a program's machine code.

The call takes the GIL; gathering, sending and sleeping do not hold it. A core that is called with whole batches costs a
few microseconds a turn besides its own work.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from emulator.native.pages import address_of
from emulator.ports.batch import FrameBatch
from emulator.ports.cable.bell import Bell
from emulator.ports.host import SPIN_NS
from emulator.ports.loop.runner import SwitchRunner
from emulator.ports.loop.turns import PER_PORT
from emulator.ports.port import SwitchPort
from emulator.ports.spec import MAX_PORTS

PROCESS = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 6)
"""A program's ``process(context, addresses, lengths, ports, count, now_ns)``."""


class BatchCore(Protocol):
    """What the loop needs of a core."""

    def process(self, batch: FrameBatch, now_ns: int) -> int | None:
        """Take all frames of the batch, which is empty where only a timer is due; returns when to be called at the
        latest though nothing comes in, or None."""


class _PythonProgram:
    """A Python function as a program's machine code."""

    context_address = 0

    def __init__(self, process: Callable[..., int], is_loaded: Callable[[], bool]) -> None:
        self._process = PROCESS(process)
        self._address = ctypes.cast(self._process, ctypes.c_void_p).value or 0
        self._is_loaded = is_loaded

    @property
    def program_address(self) -> int:
        return self._address if self._is_loaded() else 0


class CoreRunner(SwitchRunner):
    """See `SwitchRunner`; what ``process`` raises ends the loop."""

    def __init__(
        self,
        core: BatchCore,
        ports: Sequence[SwitchPort],
        bell: Bell,
        *,
        lock: threading.Lock | None = None,
        spin_ns: int = SPIN_NS,
        is_loaded: Callable[[], bool] = lambda: True,
        longest_turn_ns: int | None = None,
        starts_clock: bool = False,
    ) -> None:
        """``is_loaded``: whether the core can process frames; without it they are dropped, as without a program.

        ``longest_turn_ns``: the next turn after a longer one takes half as many frames from each port; control
        operations wait for a turn. ``starts_clock``: see `SwitchRunner`.
        """
        self._core = core
        self._longest_turn_ns = longest_turn_ns
        self._allowances = np.full(MAX_PORTS, PER_PORT, np.int32)
        self._raised: BaseException | None = None
        self.batch_began_ns = 0
        """When the core got the batch that it is processing (``time.monotonic_ns``); 0: none."""
        self.batch_thread = 0
        """Python's identifier of the thread that processes it."""
        super().__init__(
            _PythonProgram(self._process, is_loaded),
            ports,
            bell,
            lock=lock,
            spin_ns=spin_ns,
            allowances=address_of(self._allowances),
            starts_clock=starts_clock,
        )

    def _process(self, *arguments: int) -> int:
        """What the loop calls; an exception cannot pass through it."""
        try:
            self.batch_began_ns = start_ns = time.monotonic_ns()
            self.batch_thread = threading.get_ident()
            timer_ns = self._core.process(self._batch, arguments[-1])
            self.batch_began_ns = 0
            if self._longest_turn_ns is not None:
                self._adapt(time.monotonic_ns() - start_ns > self._longest_turn_ns)
        except BaseException as error:
            self._raised = error
            self._record["attention"] = 1
            return -1
        return -1 if timer_ns is None else timer_ns

    def _adapt(self, was_long: bool) -> None:
        most = int(self._allowances[0])
        self._allowances[:] = max(1, most // 2) if was_long else min(PER_PORT, 2 * most)

    def _run_slice(self) -> None:
        super()._run_slice()
        if self._raised is not None:
            raise self._raised
