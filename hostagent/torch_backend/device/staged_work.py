"""The handle of a call whose tensors are on a device: its operations start later, on the thread of `starter`; their
results are copied back by whoever waits.

As with torch's own backends, a finished wait does not mean that the device has the results, but that the waiting
thread's stream waits for them. The same holds for the future: its value carries the events.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

import torch

from hostagent.protocol.messages import Message
from hostagent.protocol.operation import Operation
from hostagent.torch_backend.device.host_memory import Event
from hostagent.torch_backend.device.transfer import Transfer
from hostagent.torch_backend.plans import Plan
from hostagent.torch_backend.work import NetsumWork
from hostagent.transport.channel import Channel
from hostagent.transport.errors import Cause, TransportError

START_MARGIN_S = 5.0
"""How much longer than the call's time-out to wait for what the starting thread says of it."""


class StagedWork(NetsumWork):
    """See the module. `transfer.Start` is what it offers to the plan that starts."""

    def __init__(
        self,
        channel: Channel,
        plan: Plan,
        transfer: Transfer,
        messages: Sequence[Message],
        timeout_s: float,
        watch: Callable[[NetsumWork], None],
        note: Callable[[], str] = str,
    ) -> None:
        super().__init__(channel, plan, (), timeout_s, watch, note)
        self._transfer, self._device = transfer, transfer.device
        self._messages = messages
        self._started = threading.Event()
        self._submitted: list[tuple[int, Callable[[], None] | None]] = []
        self._arrived = 0
        self._arrival = threading.Lock()
        self._copied: Event | None = None
        self._uses = 2  # of the host memory: the start's and the results'
        self._uses_lock = threading.Lock()

    # The starting thread.

    def start(self) -> None:
        """Start the call once its input is in host memory. Raises nothing."""
        try:
            self._transfer.start(self)
            if self._messages:
                self._submitted += [(number, None) for number in self._channel.post(self._messages)]
        except TransportError as error:
            self._cause = self._cause or error
        except Exception as error:  # this rank lacks an operation that the others have started
            self._cause = TransportError(f"cannot bring its input from the device: {error}", Cause.LOCAL)
            with suppress(TransportError):
                self._channel.fail(self._cause)
        self._memory_used()
        self._started.set()

    def submit(self, operation: Operation, arrived: Callable[[], None] | None = None) -> int:
        """See `transfer.Start`."""
        number = self._channel.submit(operation)
        self._submitted.append((number, arrived))
        return number

    def finish(self, number: int) -> None:
        """See `transfer.Start`."""
        if not self._wait_for(number, self._deadline_s):
            error = self._channel.expire(number, self._timeout_s)
            raise error
        failure = self._channel.failure(number)
        if failure is not None:
            raise failure

    def lanes(self) -> int:
        """See `transfer.Start`."""
        return self._channel.lanes(max(0.0, self._deadline_s - time.monotonic()))

    # Waiting.

    def _wait_until(self, end_s: float) -> bool:
        if not self._started.wait(_left_s(end_s)) or not self._arrival.acquire(timeout=_left_s(end_s)):
            return False
        try:
            return self._take_arrived(end_s)
        finally:
            self._arrival.release()

    def _take_arrived(self, end_s: float) -> bool:
        """Wait for the operations in turn, and have the device take each result; False when the time ran out first."""
        while self._arrived < len(self._submitted):
            number, arrived = self._submitted[self._arrived]
            if not self._wait_for(number, end_s):
                return False
            self._arrived += 1
            if arrived is not None and self._cause is None and self._channel.failure(number) is None:
                self._queue(arrived)
        return True

    def _queue(self, arrived: Callable[[], None]) -> None:
        """Have the device take an operation's result while others are on their way."""
        try:
            with self._stream(), torch.inference_mode():  # the outputs may have been made in it
                arrived()
        except Exception as error:
            self._cause = error

    def _finished(self) -> bool:
        return self._started.is_set() and all(self._channel.finished(number) for number, _ in self._submitted)

    def _expire(self) -> None:
        if not self._started.wait(START_MARGIN_S):
            self._cause = TransportError(
                f"Timed out waiting {1e3 * self._timeout_s:g}ms: the device has not produced the call's input, or not "
                "that of a call before it",
                Cause.TIMEOUT,
            )
            self._channel.fail(self._cause)
            return
        for number, _ in self._submitted:
            if not self._channel.finished(number):
                self._cause = self._channel.expire(number, self._timeout_s)
                return

    # The results.

    def settle(self) -> None:
        if self._cause is None and not self._started.wait(START_MARGIN_S):  # of several works one has timed out
            self._cause = TransportError("the call has not started, and its job has ended")
        with self._arrival:  # all have finished or failed: whoever waits ends soon, and has queued its copies then
            if self._cause is None and not self._settled:
                self._numbers = tuple(number for number, _ in self._submitted)
                self._take_arrived(time.monotonic())
            super().settle()

    def _finish(self, plan: Plan) -> None:
        with self._stream(), torch.inference_mode():
            plan.finish()
            self._copied = self._device.record()

    def _memory_used(self) -> None:
        with self._uses_lock:
            self._uses -= 1
            if self._uses:
                return
        self._submitted.clear()  # and with it the tensors: the group keeps its works for longer
        self._transfer.release()

    def is_completed(self) -> bool:
        return super().is_completed() and (self._copied is None or self._copied.query())

    def _take_results(self) -> None:
        if self._copied is not None:
            self._device.wait(self._copied)

    def _empty_future(self) -> torch.futures.Future[Any]:
        return self._device.future()

    def _stream(self) -> AbstractContextManager[Any]:
        return self._device.use(self._transfer.stream)


def _left_s(end_s: float) -> float:
    """Until then, as threading takes it."""
    return max(0.0, min(end_s - time.monotonic(), threading.TIMEOUT_MAX))
