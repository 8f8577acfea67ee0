"""A process group's end of its job: operations go in, completions come out, the compiled loop does the rest.

The life of a job: JOINED (members are being gathered; operations may be submitted already) -> OPEN (leased, served by
the loop) -> FAILED or CLOSED. The lease is asked for with the first operation, in a thread of its own, so that
submitting returns at once.

What ends a job is reported to the controller by the first to learn of it, and comes back from there as one text for all
ranks. Only when the controller does not answer in time does a rank make do with what it knows itself.
"""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of
from emulator.ports.errors import NotOffered, PortError
from emulator.ports.host import FramePool
from hostagent.protocol.frames import Addresses
from hostagent.protocol.messages import MOST_TRANSFERS, Message
from hostagent.protocol.operation import (
    REQUEST,
    Operation,
    OperationRefused,
    hash_of,
    legality_at,
    refusal_text,
    request_of,
)
from hostagent.protocol.served import Status
from hostagent.protocol.window import MOST_CHILDREN
from hostagent.protocol.wire import full_frame_bytes
from hostagent.protocol.worker import (
    FAILED_BY_CALLER,
    FAILED_MISMATCH,
    FAILED_REFUSED,
    TRANSMIT,
    CoreMemory,
    CoreSettings,
    frame_stride_bytes,
    ring_chunks,
    scratch_bytes,
)
from hostagent.transport.engine import Engine
from hostagent.transport.errors import Cause, TransportError, listed
from hostagent.transport.loop import calls as loop_calls
from hostagent.transport.loop import loop, turns
from hostagent.transport.loop.records import (
    DETACH,
    FAIL,
    FREEZE,
    JOB,
    JOB_LIMIT,
    JOB_MESSAGE_TAIL,
    JOB_REQUEST_TAIL,
    MESSAGE_NUMBERS,
    NO_LIMIT,
    PEER_LEFT,
    RESUME,
    TRANSMIT_CAPACITY,
)
from hostagent.transport.messages import JobMessages
from hostagent.transport.missed import MissedOperations, units
from hostagent.transport.session.session import SessionClient
from hostagent.transport.session.terms import (
    JobFailed,
    Lease,
    Membership,
    Mismatch,
    MissingRanks,
    SessionError,
    Terms,
    label_of,
)

REQUESTS = 4096
"""Operations that may be submitted and not yet finished; more make ``submit`` wait."""

SMALLEST_LANES = 64
"""Fewest lanes of any program; scratch memory is sized for it until the lease gives the number of lanes."""

PACK_REQUEST = struct.Struct(f"{len(REQUEST.names or ())}q").pack_into
"""Writes a record of int64 alone, a quarter of the time that numpy takes."""
MOST_SPARES, MOST_SPARE_BYTES = 8, 1 << 16
NO_SPARE: tuple[NDArray[np.uint8] | None, int] = (None, 0)
SLICE_S = 1.0
"""Longest wait without looking for Python signals and for a transport that has gone."""

TOLD_TIMEOUT_S = 3.0
"""How long to wait for the controller's word on a failure that this rank has reported."""

OFFER_TIMEOUT_S = 20.0
"""How long the port of a lease may be missing: for as long as a switch needs to start again."""

COMMAND_TIMEOUT_S = 5.0
DELIVERY_TIMEOUT_S, DELIVERY_LOOK_NS = 30.0, 2_000_000

LARGE_BYTES = 64 << 10
"""From here on the loop's thread makes the frames of an operation rather than the caller: some 20 us for 64 KiB."""

FAILED_LOCALLY = FAILED_BY_CALLER
DESTROYED = "the process group has been destroyed"

CALLS, TIMES = "operation/", "operation_ns/"
"""Begin the names of the counters of what was called, and of how long it took."""

MOST_KINDS = 512
"""Different operations counted apart; a program with more sizes than that gets the rest counted as one."""


class JobHost(Protocol):
    """What a job shares with the other jobs of its process; ``process.Transport`` is it."""

    share: int
    """Of a queue that marks, as a multiple of what a TCP flow gets there."""

    @property
    def session(self) -> SessionClient:
        """The connection to the controller."""

    def engine_for(self, lease: Lease) -> Engine:
        """The transport thread, started with the first lease; all leases of a process name the same port."""

    @property
    def wake_words(self) -> tuple[int, int, int]:
        """What the compiled functions wake the loop with: port, bell, descriptor."""

    @property
    def loop_runs(self) -> bool:
        """Whether the transport thread is alive."""

    def wake(self) -> None:
        """Make the loop look at everything once more."""

    def release_pool(self, pool: FramePool) -> None:
        """Give a detached job's frames back once the switch has read what was posted of them."""

    def forget(self, channel: JobChannel) -> None:
        """A job has been left."""


class OperationCounts:
    """Operations by collective, operator, element type and number of elements: calls, and time from call to end.

    Next to the aggregator's counters the calls show that no operation took another path.
    """

    def __init__(self) -> None:
        self._names: dict[tuple[str, int, str, int], str] = {}
        """Of kinds of operations that have been called: making a name takes longer than counting."""
        self._calls: dict[str, int] = {}
        self._times_ns: dict[str, int] = {}
        self.leased_ns = 0
        """When operations could begin; earlier ones have waited for ranks to join."""
        self._began_ns = self._ended_ns = self._in_flight_ns = 0

    def add(self, operation: Operation) -> str:
        """Count one call; the name of its kind."""
        key = (operation.collective, int(operation.kind), operation.dtype, operation.elements)
        name = self._names.get(key)
        if name is None:
            name = f"{operation.collective}/{operation.kind.name}/{operation.dtype}/{operation.elements}"
            if len(self._names) >= MOST_KINDS:
                name = "other"
            else:
                self._names[key] = name
        self._calls[name] = self._calls.get(name, 0) + 1
        return name

    def settle(self, name: str, called_ns: int, end_ns: int) -> None:
        """Count the time of one that has ended, in the order of the calls."""
        began_ns = max(called_ns, self.leased_ns)
        self._times_ns[name] = self._times_ns.get(name, 0) + max(0, end_ns - began_ns)
        self._began_ns = self._began_ns or began_ns
        self._in_flight_ns += max(0, end_ns - max(began_ns, self._ended_ns))  # what overlaps counts once
        self._ended_ns = max(self._ended_ns, end_ns)

    def counters(self) -> dict[str, int]:
        """``operation/COLLECTIVE/OPERATOR/DTYPE/ELEMENTS`` to calls, ``operation_ns/...`` to their time, and
        ``in_flight_ns`` (with at least one operation) of ``elapsed_ns`` (from the first to the last end)."""
        calls = {f"{CALLS}{name}": count for name, count in self._calls.copy().items()}
        times = {f"{TIMES}{name}": time_ns for name, time_ns in self._times_ns.copy().items()}
        elapsed_ns = self._ended_ns - self._began_ns
        return calls | times | {"in_flight_ns": self._in_flight_ns, "elapsed_ns": elapsed_ns}


class JobChannel:
    """See ``channel.Channel``. ``on_...`` are called by the transport, on the session thread."""

    def __init__(self, transport: JobHost, membership: Membership, timeout_s: float) -> None:
        self.membership = membership
        self._transport = transport
        self._timeout_s = timeout_s
        self._order = threading.Lock()  # of submissions; may be held long, so the session thread never takes it
        self._lock = threading.RLock()  # of commands and of the job's state; held briefly
        self._told = threading.Event()
        self._opened = threading.Event()  # or failed, or left: it will not be
        self._not_offered: NotOffered | None = None
        self._failure: TransportError | None = None
        self._own_cause: Cause | None = None
        self._peer_left = -1
        self._left_early: list[int] = []  # before the lease came
        self._asked = False
        self._attached = False
        self._closed = False
        self._leaving: threading.Thread | None = None
        self._next = 0
        self._tickets = 0
        self._lanes = SMALLEST_LANES
        self._scratch: deque[tuple[int, NDArray[np.uint8], int]] = deque()
        """Of operations under way: their number, the memory, its address."""
        self._spare: dict[int, tuple[NDArray[np.uint8], int]] = {}
        """Small memory of one that has ended, by its size: the next one like it often follows."""
        self._operations: dict[int, Operation] = {}
        self._called: dict[int, tuple[int, str]] = {}
        """When each of them was called, and the name of its kind."""
        self._progress = (-1, 0.0)
        """Lowest chunk without a result, and since when, as far as anybody has looked."""
        self._missed = MissedOperations()
        self._requests: NDArray[Any] = np.zeros(REQUESTS, REQUEST)
        self._request_bytes = self._requests.view(np.uint8).data
        self._done: NDArray[np.int64] = np.zeros(REQUESTS, np.int64)
        self._record: NDArray[Any] = np.zeros(1, JOB)
        self._record["requests"], self._record["request_mask"] = address_of(self._requests), REQUESTS - 1
        self._record["done"], self._record["done_mask"] = address_of(self._done), REQUESTS - 1
        self._ended_ns: NDArray[np.int64] = np.zeros(REQUESTS, np.int64)
        self._record["ended_ns"] = address_of(self._ended_ns)
        self._record["limit_chunk"] = NO_LIMIT
        self._address = address_of(self._record)
        self._messages = JobMessages(self._address, self._record)
        self._message_order = threading.Lock()  # as ``_order``, of messages: they wait for no collective
        self._counts = OperationCounts()
        self._core: CoreMemory | None = None
        self._pool: FramePool | None = None
        self._engine: Engine | None = None

    # --- what process groups call ---

    def submit(self, operation: Operation) -> int:
        """See Channel."""
        with self._order:
            number = self._adopt(operation) if self._missed.count else None
            return self._enter(operation) if number is None else number

    def _adopt(self, operation: Operation) -> int | None:
        """The number of the caller's operation, where this rank has missed it."""
        try:
            with self._lock:
                return self._missed.adopt(operation)
        except TransportError as error:
            raise self._report_failure(f"rank {self.membership.rank}: {error}", Cause.MISMATCH) from None

    def _enter(self, operation: Operation) -> int:
        """Submit it under the next number."""
        number = self._next
        while number >= REQUESTS and not self.wait(number - REQUESTS, SLICE_S):
            pass  # the place of its request is taken
        try:
            request = request_of(operation, self._scratch_for(number, operation))
        except OperationRefused as error:
            raise TransportError(str(error), Cause.LOCAL) from None
        PACK_REQUEST(self._request_bytes, number % REQUESTS * REQUEST.itemsize, *request)
        with self._lock:
            self._check_usable()
            self._forget_finished()
            self._operations[number] = operation
            self._called[number] = time.monotonic_ns(), self._counts.add(operation)
            self._next = number + 1
            if self._attached:
                self._publish(JOB_REQUEST_TAIL, self._next, operation.elements * operation.element_bytes)
            else:
                self._ask_lease()
        return number

    def _scratch_for(self, number: int, operation: Operation) -> int:
        """Address of what the core needs besides the operation's own memory until it has finished; 0: nothing."""
        size = scratch_size(operation, self._lanes)
        if size == 0:
            return 0
        memory, address = self._spare.pop(size, NO_SPARE)
        if memory is None:
            memory = np.empty(size, np.uint8)
            address = address_of(memory)
        self._scratch.append((number, memory, address))
        return address

    def post(self, messages: Sequence[Message]) -> list[int]:
        """See Channel."""
        with self._message_order:
            numbers, largest_bytes = [], 0
            for message in messages:
                numbers.append(self._enter_message(message))
                largest_bytes = max(largest_bytes, message.elements * message.element_bytes)
            self._publish_messages(largest_bytes)
            return numbers

    def lanes(self, timeout_s: float) -> int:
        """See Channel."""
        with self._lock:
            self._check_usable()
            if not self._attached:
                self._ask_lease()
        if not self._opened.wait(
            timeout_s + TOLD_TIMEOUT_S
        ):  # the lease has the same time-out, and knows who is missing
            text = f"Timed out waiting {1e3 * timeout_s:g}ms: not all ranks have joined the group"
            raise self._report_failure(text, Cause.TIMEOUT)
        with self._lock:
            self._check_usable()
            return self._lanes

    def wait(self, number: int, timeout_s: float) -> bool:
        """See Channel."""
        end_s = time.monotonic() + timeout_s
        while not self.finished(number):
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return False
            slice_ns = int(min(left_s, SLICE_S) * 1e9)
            if self._engine is not None and self._is_small(number):
                done = turns.wait_by_turns(self._engine.address, self._address, number, slice_ns)
            else:
                done = loop_calls.wait_done(self._address, number, slice_ns)
            if done:
                return True
            self._check_loop()
        return True

    def _is_small(self, number: int) -> bool:
        """Whether the caller takes the turns; a large one would pass between this thread and the loop's many times."""
        called = self._operations.get(number) or self._messages.descriptions.get(number)
        return called is not None and called.elements * called.element_bytes < LARGE_BYTES

    def _check_loop(self) -> None:
        """A transport thread that has ended by itself (a bug) must not leave anybody waiting."""
        if self._attached and not self._transport.loop_runs:
            with self._lock:
                self._attached = False
                self._failure = self._failure or TransportError("the transport thread has ended; this is a bug")

    def finished(self, number: int) -> bool:
        """See Channel."""
        if number >= MESSAGE_NUMBERS and self._messages.refusal:
            return True
        return bool(loop_calls.is_done(self._address, number)) or (self._failure is not None and not self._attached)

    def failure(self, number: int) -> Exception | None:
        """See Channel."""
        if loop_calls.is_done(self._address, number):
            status = int(loop_calls.status_of(self._address, number))
            return None if status == 0 else self._cause(status, number)
        if number >= MESSAGE_NUMBERS and self._messages.refusal:
            return TransportError(self._messages.refusal, Cause.REFUSED)
        return self._failure

    def describe(self, operation_hash: int) -> str:
        """What an operation, send or receive is, by its hash; empty: none that has not been forgotten has it."""
        with self._lock:
            for number, operation in self._operations.items():
                if hash_of(operation, number) == operation_hash:
                    return operation.describe()
            for message in self._messages.descriptions.values():
                if message.hashes()[1] == operation_hash:
                    return message.describe()
        return ""

    def expire(self, number: int, timeout_s: float) -> Exception:
        """See Channel."""
        if not self._attached:
            self._told.wait(TOLD_TIMEOUT_S)  # the lease is timing out as well, and knows who has not joined
        return self._report_failure(self._timeout_text(number, timeout_s), Cause.TIMEOUT)

    def overdue(self, bound_s: float) -> list[int]:
        """See Channel."""
        with self._lock:
            oldest = self._oldest_unfinished()
            if self._core is None or oldest is None:
                return []
            now_s, floor = time.monotonic(), int(self._core.record["floor"][0])
            if floor != self._progress[0]:
                self._progress = (floor, now_s)
            is_over = now_s - max(self._progress[1], self._called[oldest][0] / 1e9) >= bound_s
            return self._missing() if is_over else []

    def proceed(self, bound_s: float) -> None:
        """See Channel."""
        with self._lock:
            now_s, oldest = time.monotonic(), self._oldest_unfinished()
            if oldest is None:
                return
            asked = units(self._operations, oldest, self._next)
            asked = [unit for unit in asked if now_s - self._called[unit[0]][0] / 1e9 >= bound_s]
            self._progress = (self._progress[0], now_s)
        if asked:
            self._transport.session.proceed(self.membership.job, asked)

    def _oldest_unfinished(self) -> int | None:
        return next((number for number in self._operations if not loop_calls.is_done(self._address, number)), None)

    def collect(self, number: int) -> None:
        """See Channel."""
        if self._missed.count:
            with self._lock:
                self._missed.collect(number)

    def fail(self, error: Exception) -> None:
        """See Channel."""
        self._report_failure(str(error), Cause.LOST)

    def leave(self) -> None:
        """See Channel."""
        leaving = self._start_leaving()
        if self._in_flight():
            leaving.join()

    def close(self) -> None:
        """See Channel."""
        self._start_leaving().join()

    # --- what the session calls ---

    def attach(self, lease: Lease) -> None:
        """The job's lease is here: make its core and have the loop serve it. On the session thread.

        Where the switch has ended meanwhile, the resumption after its restart comes here again.
        """
        with self._lock:
            if self._failure is not None or self._attached:
                return
            try:
                self._open(lease)
            except NotOffered as error:
                self._not_offered = error
            except (PortError, OSError, RuntimeError, ValueError) as error:
                self._cannot_attach(error)
            else:
                self._opened.set()

    def _cannot_attach(self, error: Exception) -> None:
        text = f"rank {self.membership.rank} cannot attach to the network: {error}"
        self._failure = TransportError(text, Cause.LOCAL)
        self._transport.session.fail(self.membership.job, text)
        self._opened.set()

    def on_freeze(self) -> int:
        """Stop; returns the lowest chunk without a result."""
        with self._lock:
            return self._command(FREEZE) if self._attached else 0

    def on_resume(self, lease: Lease) -> None:
        """Go on in a new epoch, in which the window may be another."""
        with self._lock:
            if self._attached:
                assert self._core is not None, "it is attached"
                self._core.set_window(lease.window, lease.shorter_path_slots)
                self._record["command_epoch"], self._record["command_base"] = lease.epoch, lease.base
                self._command(RESUME)
                return
        self.attach(lease)  # the aggregator had died before this rank came to it

    def on_failed(self, failure: JobFailed) -> None:
        """The job has ended, for this reason."""
        self._fail_locally(TransportError(str(failure), self._own_cause or failure.cause))
        self._told.set()

    def on_proceed(self, asked: Sequence[tuple[int, Sequence[Terms]]]) -> None:
        """Another rank is not to wait for these operations; takes part in those that the caller has not called yet."""
        threading.Thread(target=self._miss, args=(asked,), name="netsum-missed", daemon=True).start()

    def _miss(self, asked: Sequence[tuple[int, Sequence[Terms]]]) -> None:
        with suppress(TransportError):  # it has failed or is closed: nobody waits for it
            for number, unit in asked:
                with self._order:
                    if number != self._next or not self._attached:
                        continue
                    for operation, result in self._missed.perform(unit):
                        entered = self._enter(operation)
                        with self._lock:
                            self._missed.entered(entered, operation, result)

    def on_peer_left(self, rank: int, next_chunk: int) -> None:
        """A rank left in order; it has contributed to nothing from this chunk on."""
        with self._lock:
            if next_chunk < int(self._record["limit_chunk"][0]):
                self._peer_left = rank
                loop_calls.publish_word(self._address + JOB_LIMIT, next_chunk)
                self._transport.wake()
            if self._attached:
                self._end_messages_of(rank)
            else:
                self._left_early.append(rank)

    def _end_messages_of(self, rank: int) -> None:
        self._record["command_code"] = rank
        self._command(PEER_LEFT)

    # --- opening ---

    def _lease(self) -> None:
        try:
            self._transport.session.lease(self.membership, self._timeout_s, attach=self.attach)
        except SessionError as error:
            waited = f"Timed out waiting {1e3 * self._timeout_s:g}ms: " if isinstance(error, MissingRanks) else ""
            self._fail_locally(TransportError(f"{waited}{error}", error.cause))
            self._told.set()
            return
        if self._not_offered is not None and not self._opened.wait(OFFER_TIMEOUT_S):
            with self._lock:
                if not self._opened.is_set():
                    self._cannot_attach(self._not_offered)

    def _ask_lease(self) -> None:
        """Ask for the lease with the first thing to do, once."""
        if not self._asked:
            self._asked = True
            threading.Thread(target=self._lease, name="netsum-lease", daemon=True).start()

    def _open(self, lease: Lease) -> None:
        engine = self._transport.engine_for(lease)
        ring = ring_chunks(lease.largest_window)
        engine.port.require_frame_bytes(full_frame_bytes(lease.lanes))
        self._pool = engine.port.frame_pool(ring, frame_stride_bytes(lease.lanes))
        self._posted: NDArray[np.uint64] = np.zeros(ring, np.uint64)
        self._transmit: NDArray[Any] = np.zeros(TRANSMIT_CAPACITY, TRANSMIT)
        self._core = CoreMemory(
            core_settings(lease, self._transport.share),
            self._pool.address,
            self._pool.stride_bytes,
            address_of(self._posted),
        )
        self._lanes = lease.lanes
        self._messages.open(lease, engine)
        self._fill_record(lease)
        engine.serve(lease.job, self._record)
        self._attached = True
        self._counts.leased_ns = time.monotonic_ns()
        self._engine = engine
        self._publish(JOB_REQUEST_TAIL, self._next)
        self._publish(JOB_MESSAGE_TAIL, self._messages.submitted)
        for rank in self._left_early:
            self._end_messages_of(rank)
        if self._messages.refusal:
            loop.wake_waiters(self._address)

    def _fill_record(self, lease: Lease) -> None:
        assert self._core is not None
        self._record["number"] = lease.job
        self._record["core"] = self._core.address
        self._record["transmit_queue"]["frames"] = address_of(self._transmit)
        self._record["transmit_queue"]["posted"] = address_of(self._posted)

    # --- operations ---

    def _check_usable(self) -> None:
        if self._closed:
            raise TransportError(DESTROYED, Cause.LOCAL)
        if self._failure is not None:
            raise self._failure

    def _publish(self, tail_at: int, tail: int, size_bytes: int = LARGE_BYTES) -> None:
        """Let the loop see what was submitted; what is small leaves at once, in a turn of our own."""
        assert self._engine is not None
        large = size_bytes >= LARGE_BYTES
        if large != self._engine.serves_large:
            self._engine.serve_large(large)
        loop_calls.publish_word(self._address + tail_at, tail)
        if large or not turns.take_turn(self._engine.address):
            self._engine.wake()

    # --- messages ---

    def _enter_message(self, message: Message) -> int:
        """Write a message's request, and return its number; waits while too many have not ended."""
        end_s = time.monotonic() + self._timeout_s
        while True:
            with self._lock:
                self._check_usable()
                if self._messages.refusal:
                    raise TransportError(self._messages.refusal, Cause.REFUSED)
                number = self._messages.enter(message)
                if number is not None:
                    return number
            self._publish_messages()
            if time.monotonic() > end_s:
                text = f"rank {self.membership.rank} has {MOST_TRANSFERS} sends and receives that have not ended"
                raise self._report_failure(f"{text} within {self._timeout_s:g} s", Cause.TIMEOUT)
            loop_calls.wait_any(self._address, int(SLICE_S * 1e9))

    def _publish_messages(self, largest_bytes: int = LARGE_BYTES) -> None:
        """Let the loop see the requests that have been written."""
        with self._lock:
            self._check_usable()
            if self._attached:
                self._publish(JOB_MESSAGE_TAIL, self._messages.submitted, largest_bytes)
            else:
                self._ask_lease()

    def _forget_finished(self) -> None:
        if self._core is not None and self._core.record["failure"][0]:
            return  # all have ended then, and one of them is the cause, which is to be named
        while self._operations and loop_calls.is_done(self._address, oldest := next(iter(self._operations))):
            called_ns, name = self._called.pop(oldest)
            self._counts.settle(name, called_ns, self._ended_ns.item(oldest % REQUESTS))
            del self._operations[oldest]
            if self._scratch and self._scratch[0][0] == oldest:
                _, memory, address = self._scratch.popleft()
                if memory.size <= MOST_SPARE_BYTES and len(self._spare) < MOST_SPARES:
                    self._spare[memory.size] = memory, address

    # --- failure ---

    def _cause(self, status: int, number: int) -> TransportError:
        """Why an operation ended with this status; reports it to the controller where nobody has."""
        if self._failure is not None:
            return self._failure
        if status == FAILED_MISMATCH:
            return self._report_mismatch(number)
        if status == FAILED_REFUSED:
            return self._report_refusal()
        if status == loop.FAILED_PEER_LEFT:
            left = self._messages.left_peer() if number >= MESSAGE_NUMBERS else self._peer_left
            group = label_of(self.membership.group)
            text = f"rank {left} has left group {group!r}, and {self._name(number)} needs it"
            return self._fail_locally(TransportError(text, Cause.LOST))
        what = f"was refused{self._legality(number)}" if status == loop.FAILED_REFUSED else f"failed with code {status}"
        return self._report_failure(f"{self._name(number)} {what}; this is a bug", Cause.LOCAL)

    def _legality(self, number: int) -> str:
        """Why the core takes no such operation; nothing where it has been forgotten."""
        operation = self._operations.get(number)
        if operation is None:
            return ""
        request = address_of(self._requests) + (number % REQUESTS) * REQUEST.itemsize
        reason = legality_at(request, self._lanes, self.membership.size)
        return f": {refusal_text(operation, int(reason))}" if reason else ""

    def _name(self, number: int) -> str:
        if number >= MESSAGE_NUMBERS:
            return self._messages.name(number)
        operation = self._operations.get(number)
        return f"{operation.describe()} (operation {number})" if operation else f"operation {number}"

    def _report_mismatch(self, number: int) -> TransportError:
        if number >= MESSAGE_NUMBERS:
            return self._report_failure(
                "a send and a receive disagree", Cause.MISMATCH, Mismatch(*self._messages.mismatch())
            )
        assert self._core is not None
        record = self._core.record[0]
        words = (int(record[name]) for name in ("first_hash", "first_child", "other_hash", "other_child"))
        return self._report_failure("ranks disagree on an operation", Cause.MISMATCH, Mismatch(*words))

    def _report_refusal(self) -> TransportError:
        assert self._core is not None
        record = self._core.record[0]
        name = self._name(int(record["refused_operation"]))
        operation = self._operations.get(int(record["refused_operation"]))
        served = operation.served if operation is not None else None
        why = served.answer.refusal if served is not None else f"status {int(record['refused_status'])}"
        text = f"the rack server refused {name}: {why}"
        behind = served is not None and served.answer.status is Status.RACKS  # joining again mends that
        return self._report_failure(text, Cause.LOST if behind else Cause.REFUSED)

    def _report_failure(self, text: str, cause: Cause, mismatch: Mismatch | None = None) -> TransportError:
        """Tell the controller, and take its word as the job's cause; our own where it does not come in time."""
        own = f"{text} (group {label_of(self.membership.group)!r})"
        if self._failure is None:
            self._own_cause = cause
            self._transport.session.fail(self.membership.job, text, cause, mismatch=mismatch)
            self._told.wait(TOLD_TIMEOUT_S)
        return self._fail_locally(TransportError(own, cause))

    def _fail_locally(self, error: TransportError) -> TransportError:
        """End the job here; the first cause stays. Returns when the loop no longer touches the operations' memory."""
        with self._lock:
            self._failure = self._failure or error
            self._opened.set()
            if self._attached:
                self._record["command_code"] = FAILED_LOCALLY
                self._command(FAIL)
            else:
                loop.wake_waiters(self._address)
            return self._failure

    def _timeout_text(self, number: int, timeout_s: float) -> str:
        """As torch words it: scripts look for "Timed out" between spaces."""
        waited = f"Timed out waiting {1e3 * timeout_s:g}ms: rank {self.membership.rank} had called {self._name(number)}"
        if number >= MESSAGE_NUMBERS:
            return waited + self._messages.progress(number)
        came, missing = self._came(), self._missing()
        if missing:
            return f"{waited}, to which rank {listed(missing)} had not contributed"
        if came is not None:
            return f"{waited}: all ranks had contributed, and the server waits for other keys of the step"
        if self._attached:
            return f"{waited}, and the aggregator did not say who was missing: is it alive?"
        return f"{waited}, but not all ranks have joined the group"

    def _missing(self) -> list[int]:
        """Ranks of which the aggregator has said that it waits for them."""
        came = self._came()
        return [rank for rank in range(self.membership.size) if came is not None and not came >> rank & 1]

    def _came(self) -> int | None:
        """Bitmap of the ranks that the aggregator had heard of when it last said so; of more ranks than bits it says
        nothing (PROTOCOL.md, section 12.1)."""
        if self._core is None or self.membership.size > MOST_CHILDREN:
            return None
        record = self._core.record[0]
        if int(record["waiting_chunk"]) < int(record["floor"]):
            return None
        return int(record["waiting_children"])

    # --- the end ---

    def _start_leaving(self) -> threading.Thread:
        """The thread that leaves the job, started once."""
        with self._lock:
            if self._leaving is None:
                self._closed = True
                self._leaving = threading.Thread(target=self._leave, name="netsum-leave", daemon=True)
                self._leaving.start()
            return self._leaving

    def _in_flight(self) -> bool:
        """Whether the loop may still touch callers' memory. What has finished is sent again from retained frames."""
        with self._lock:
            self._messages.forget_finished()
            operations = self._next > 0 and not self.finished(self._next - 1)
            return operations or bool(self._messages.descriptions)

    def _leave(self) -> None:
        self._deliver()
        self._linger()
        with self._lock:
            self._failure = self._failure or TransportError(DESTROYED, Cause.LOCAL)
            self._opened.set()
            self._detach()
        self._transport.forget(self)

    def _deliver(self) -> None:
        """Stay until short sends, which end before they are acknowledged, have been."""
        bound_s = min(self._timeout_s, DELIVERY_TIMEOUT_S)
        end_s = time.monotonic() + bound_s
        while self._messages.undelivered and self._attached and self._failure is None:
            if time.monotonic() > end_s:
                text = f"rank {self.membership.rank} leaves, and a send of its has not arrived in {bound_s:g} s"
                self._report_failure(text, Cause.TIMEOUT)
                return
            loop_calls.wait_any(self._address, DELIVERY_LOOK_NS)

    def _linger(self) -> None:
        """Stay until the other ranks have every result of ours, or the controller's patience ends."""
        job, session = self.membership.job, self._transport.session
        if self._core is not None:
            session.report(job, self.statistics())
            record = self._core.record[0]
            unfinished = self._next > 0 and not self.finished(self._next - 1)
            next_chunk = int(record["low"] if unfinished else record["numbered_end"])
        else:
            next_chunk = 0
        session.leave(job, next_chunk)

    def statistics(self) -> dict[str, int]:
        """The core's counters, what was asked for, and how far this rank is (``progress/``)."""
        with self._lock:
            self._forget_finished()
            core = self._core.statistics() if self._core is not None else {}
            progress = {"progress/operations": self._next}
            missed = {"missed_operations": self._missed.count} if self._missed.count else {}
            return core | progress | self._messages.statistics() | self._counts.counters() | missed

    def _detach(self) -> None:
        if not self._attached:
            return
        self._record["command_code"] = FAILED_LOCALLY
        self._command(DETACH)
        self._attached = False
        if self._pool is not None:
            self._transport.release_pool(self._pool)
            self._pool = None
        if self._messages.pool is not None:
            self._transport.release_pool(self._messages.pool)
            self._messages.pool = None

    def _command(self, command: int) -> int:
        """Have the loop do something and wait until it has; returns what it says."""
        self._tickets += 1
        self._record["command"] = command
        port, bell, fifo = self._transport.wake_words
        loop_calls.command(self._address, self._tickets, port, bell, fifo)
        end_s = time.monotonic() + COMMAND_TIMEOUT_S
        while not loop_calls.wait_command(self._address, self._tickets, int(0.1 * 1e9)):
            if not self._transport.loop_runs or time.monotonic() > end_s:
                raise TransportError("the transport thread does not answer; this is a bug", Cause.LOCAL)
        return int(self._record["command_result"][0])


def scratch_size(operation: Operation, lanes: int) -> int:
    """Bytes that the core needs besides the operation's own memory until it has finished. Mostly never touched."""
    dtype, factor = operation.core_type()
    return scratch_bytes(int(operation.kind), int(dtype), operation.exact, operation.elements * factor, lanes)


def core_settings(lease: Lease, share: int) -> CoreSettings:
    """The lease's terms that concern the worker core."""
    return CoreSettings(
        job=lease.job,
        child=lease.child,
        workers=lease.children,
        epoch=lease.epoch,
        lanes=lease.lanes,
        window=lease.window,
        largest_window=lease.largest_window,
        addresses=Addresses(lease.host_mac, lease.switch_mac, lease.host_ip, lease.switch_ip),
        base=lease.base,
        checksum=not lease.zero_checksum_allowed,
        short_no_data=lease.short_no_data,
        share=share,
        shorter_path_slots=lease.shorter_path_slots,
    )
