"""The handle of a running collective: waiting, futures, and the lifetime of its memory.

Requirements of torch, each of which caused a crash or a hang:
- C++ never calls back into ``is_completed``: everything goes through ``wait`` and ``get_future``.
- ``Future.set_exception`` does not reach C++ (DDP's backward then dies with SIGSEGV). A future therefore fails by
  raising inside a ``then`` callback, and C++ is handed the child of that ``then``.
- A future of tensors on a device is completed with the tensors: C++ records events for the devices of its value alone.
- ``then`` callbacks run in the thread that completes the future, and may start and wait for another collective. So
  futures are completed by ``completer.Completer``, never by the transport's thread.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor
from torch._C._distributed_c10d import Work

from hostagent.torch_backend.errors import NetsumError, OperationTimeoutError, as_torch_error
from hostagent.torch_backend.plans import Plan
from hostagent.torch_backend.stragglers import Stragglers
from hostagent.transport.channel import Channel
from hostagent.transport.loop.records import MESSAGE_NUMBERS

SMALL_OUTPUT_BYTES = 1024
"""Outputs up to this size stay with their handle, as those of torch's own backends. DDP's join lets a number
go, and asks for the future after the wait."""


class NetsumWork(Work):
    """One call's operations on a channel. Any thread may wait for it, any number of times."""

    def __init__(
        self,
        channel: Channel,
        plan: Plan,
        numbers: Sequence[int],
        timeout_s: float,
        watch: Callable[[NetsumWork], None],
        note: Callable[[], str] = str,
    ) -> None:
        """``note`` makes what error messages end with."""
        super().__init__()
        self._channel = channel
        self._plan: Plan | None = plan
        self._describe = plan.description()
        self._source = plan.source
        self.is_message = bool(plan.messages) and not plan.is_exchange
        self._numbers = tuple(numbers)
        self._timeout_s = timeout_s
        self._deadline_s = time.monotonic() + timeout_s
        self._watch = watch
        self._note = note
        self._parts: tuple[NetsumWork, ...] = ()
        self.stragglers: Stragglers | None = None
        """What to do about late ranks; None: wait."""
        self._contributions = plan.contributions
        self._lock = threading.Lock()
        self._held = plan.outputs
        self._outputs = list(map(weakref.ref, plan.outputs))
        self._cause: Exception | None = None
        self._settled = False
        self._trigger: tuple[torch.futures.Future[Any], list[Tensor]] | None = None
        self._future: torch.futures.Future[list[Tensor]] | None = None
        self._profiled: torch.futures.Future[Any] | None = None

    @classmethod
    def merged(
        cls,
        channel: Channel,
        works: Sequence[NetsumWork],
        timeout_s: float,
        watch: Callable[[NetsumWork], None],
        note: Callable[[], str] = str,
    ) -> NetsumWork:
        """One handle for several works of a channel; waiting for it settles each of them."""
        plan = Plan(outputs=[tensor for work in works for tensor in work.result()])
        whole = cls(channel, plan, (), timeout_s, watch, note)
        whole._parts = tuple(works)
        return whole

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Block until the results are in place; True, or an exception.

        A positive ``timeout`` limits this wait only: the operation goes on, and may be waited for again. When the
        operation's own time-out passes, its job ends with an error on every rank.
        """
        seconds = timeout.total_seconds() if timeout is not None else 0.0
        own_end_s = time.monotonic() + seconds if seconds > 0 else float("inf")
        if not self._wait_until(min(own_end_s, self._deadline_s)):
            if own_end_s < self._deadline_s:
                raise OperationTimeoutError(
                    f"netsum: {self._name} has not finished within the {seconds:g} s of this wait; it goes on"
                )
            self._expire()
        self.settle()
        if self._profiled is not None:
            with suppress(RuntimeError):  # the same as below
                self._profiled.wait()
        if self._cause is not None:
            raise self._error(self._cause) from None
        self._take_results()
        self.let_go()
        return True

    def _take_results(self) -> None:
        """Whatever this thread does with the outputs from now on sees the results."""
        for part in self._parts:
            part._take_results()

    def let_go(self) -> None:
        """Release large outputs: the operations no longer need them, and the caller has its own references. (The group
        keeps recent handles, also those that nobody asks any more.)"""
        size_bytes = 0
        for tensor in self._held:
            size_bytes += tensor.numel() * tensor.element_size()
        if size_bytes > SMALL_OUTPUT_BYTES:
            self._held = []

    def _error(self, cause: Exception) -> NetsumError:
        return as_torch_error(cause, self._name, self._note())

    @property
    def _name(self) -> str:
        return self._describe() or "empty call"

    def _wait_until(self, end_s: float) -> bool:
        for number in self._numbers:
            if not self._wait_for(number, end_s):
                return False
        return all(part._wait_until(end_s) for part in self._parts) if self._parts else True

    def _wait_for(self, number: int, end_s: float) -> bool:
        """Block until an operation has finished; False when the time ran out first."""
        if self.stragglers is None or number >= MESSAGE_NUMBERS:
            return self._channel.wait(number, max(0.0, end_s - time.monotonic()))
        while not self._channel.finished(number):
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return False
            if not self._channel.wait(number, min(left_s, self.stragglers.look_s)):
                self._cause = self._cause or self.stragglers.look(self._channel, number)
        return True

    def contributions(self) -> int | None:
        """After the wait: how many ranks' data are in the result, where late ones may be left out; else None."""
        return None if self._contributions is None else int(self._contributions[0])

    def _expire(self) -> None:
        for number in self._numbers:
            if not self._channel.finished(number):
                self._cause = self._channel.expire(number, self._timeout_s)
                return
        for part in self._parts:
            if not part._finished():
                part._expire()
                return

    def _finished(self) -> bool:
        """Whether all operations have finished or failed."""
        for number in self._numbers:
            if not self._channel.finished(number):
                return False
        return all(part._finished() for part in self._parts) if self._parts else True

    def extend_profile(self, event: torch.autograd.profiler.record_function) -> None:
        """Have the event, which has begun, last until the new work has finished, and ``wait`` return after its end."""
        with self._lock:
            self._trigger, self._future = self._new_future(self._held)
            self._profiled = event._call_end_callbacks_on_future(self._future)
        self._watch(self)  # only now, also if it has finished: what ends in this thread would not be asynchronous

    def wait_for_future(self) -> None:
        """Wait for a work with a future, time-outs included; called by the completer; never raises."""
        if not self._wait_until(self._deadline_s):
            self._expire()
        self.settle()

    def complete_future(self) -> None:
        """Run the future's callbacks in this thread."""
        with self._lock:
            trigger, self._trigger, self._future = self._trigger, None, None
        if trigger is not None:
            self._complete(*trigger)

    def _complete(self, trigger: torch.futures.Future[Any], outputs: list[Tensor]) -> None:
        with self._stream():
            if self._cause is None:
                self._take_results()
            trigger.set_result(outputs)

    def _empty_future(self) -> torch.futures.Future[Any]:
        """One that can carry the outputs."""
        return self._parts[0]._empty_future() if self._parts else torch.futures.Future()

    def _stream(self) -> AbstractContextManager[Any]:
        """Makes the stream of the copies, where there is one, this thread's."""
        return self._parts[0]._stream() if self._parts else nullcontext()

    def settle(self) -> None:
        """After all operations have finished: copy results from scratch and let the memory go. Acts once."""
        with self._lock:
            plan, self._plan = self._plan, None
            if plan is None:
                return
            for part in self._parts:
                part.settle()
                self._cause = self._cause or part._cause
            for number in self._numbers:
                self._cause = self._cause or self._channel.failure(number)
            if self._cause is None:
                for number in self._numbers:
                    self._channel.collect(number)
                try:
                    self._finish(plan)
                except RuntimeError as error:  # torch cannot write an output
                    self._cause = error
            self._settled = True
            self._memory_used()

    def _memory_used(self) -> None:
        """The operations and copies no longer use the plan's memory."""

    def _finish(self, plan: Plan) -> None:
        """Bring the results to where the caller wants them."""
        plan.finish()

    @property
    def settled(self) -> bool:
        """Whether results are in place (or the failure known) and the memory let go."""
        return self._settled

    def get_future(self) -> torch.futures.Future[list[Tensor]]:
        """A future of the output tensors; it fails with the exception that ``wait`` raises."""
        with self._lock:
            if self._future is not None:
                return self._future
            outputs = self._held or self.result()
            self.let_go()
            self._trigger, self._future = self._new_future(outputs)
            future, settled = self._future, self._settled
        if settled:
            self.complete_future()
        else:
            self._watch(self)
        return future

    def _new_future(
        self, outputs: list[Tensor]
    ) -> tuple[tuple[torch.futures.Future[Any], list[Tensor]], torch.futures.Future[list[Tensor]]]:
        trigger = self._empty_future()

        def value(_: Any) -> list[Tensor]:
            if self._cause is not None:
                raise self._error(self._cause) from None
            return outputs

        return (trigger, outputs), trigger.then(value)

    def is_completed(self) -> bool:
        if not self.settled and self._finished():
            self.settle()
        return self.settled

    def is_success(self) -> bool:
        return self.is_completed() and self._cause is None

    def exception(self) -> NetsumError | None:
        return self._error(self._cause) if self.is_completed() and self._cause is not None else None

    def result(self) -> list[Tensor]:
        """The output tensors that the caller still holds."""
        return [tensor for reference in self._outputs if (tensor := reference()) is not None]

    def synchronize(self) -> None:
        self.wait()

    def _source_rank(self) -> int:
        if self._source is None:
            raise NetsumError("netsum: only receives have a source rank")
        return self._source.value
