"""The process group "netsum": what torch.distributed, DDP, FSDP and the functional collectives call.

Every collective is the same three steps: a plan (``plans``), its operations submitted to the group's channel, a handle
(``work``). Torch calls some collectives by several names; the names C++ reaches and the names only Python uses are
listed in torch 2.13's ``ProcessGroup``.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import Store

from hostagent.protocol.messages import ANY_SOURCE, COLLECTIVE_TAGS, Message
from hostagent.torch_backend import plans, roll_call
from hostagent.torch_backend.completer import Completer
from hostagent.torch_backend.device.accelerator import accelerator_of, on_side_stream
from hostagent.torch_backend.device.staged_work import StagedWork
from hostagent.torch_backend.device.starter import Starter
from hostagent.torch_backend.device.transfer import Transfer
from hostagent.torch_backend.errors import OperationTimeoutError, RefusedError, as_torch_error
from hostagent.torch_backend.plans import Member, Plan
from hostagent.torch_backend.stragglers import Stragglers, counted, may_be_missed
from hostagent.torch_backend.tensors import Reduction, parse_reduction
from hostagent.torch_backend.work import NetsumWork
from hostagent.transport.channel import Channel
from hostagent.transport.errors import Cause, TransportError

RECENT_WORKS = 1024
"""Handles kept referenced: C++ does not keep a handle's Python half alive, and hangs in ``wait`` without it."""

HELD_OUTPUTS = 16
"""Recent handles without a wait that keep their output tensors alive, for a later ``get_future``."""

LEAST_OPEN_MESSAGES = 64
"""Sends and receives to keep before looking which of them are over."""

MOST_LISTED = 16
"""Ranks of a sub-group that an error message lists."""

_ProcessGroup: Any = dist.ProcessGroup  # its declared overloads fit neither its own callers nor a subclass

_P = ParamSpec("_P")
_T = TypeVar("_T")


def untraced(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """The method, which torch.compile does not trace.

    torch._dynamo.disable does that, but importing torch._dynamo costs seconds, which a script without torch.compile
    should not pay; a process that has not imported it cannot be tracing.
    """
    without_tracing: Callable[_P, _T] | None = None

    @functools.wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        nonlocal without_tracing
        if without_tracing is None:
            if "torch._dynamo" not in sys.modules:
                return method(*args, **kwargs)
            disable = getattr(sys.modules["torch._dynamo"], "disable", None)
            if disable is None:  # it is being imported
                return method(*args, **kwargs)
            without_tracing = disable(method)
        return without_tracing(*args, **kwargs)

    call._torchdynamo_disable = True  # type: ignore[attr-defined]
    return call


def collective(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """A method that takes tensors: not traced; where they are on a device, called on a side stream of it."""

    @functools.wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        tensor: Any = args[1] if len(args) > 1 else None
        while isinstance(tensor, (list, tuple)) and tensor:
            tensor = tensor[0]
        if not isinstance(tensor, Tensor):
            tensor = _first_tensor((*args[2:], *kwargs.values()))
        device = None if tensor is None else accelerator_of(tensor)
        if device is None:
            return method(*args, **kwargs)
        with on_side_stream(device, method.__name__):
            return method(*args, **kwargs)

    return untraced(call)


def _first_tensor(values: Sequence[Any]) -> Tensor | None:
    """The first of a call's tensors, in lists or lists of lists."""
    for value in values:
        if isinstance(value, (list, tuple)):  # first, since the other question takes longer
            found = _first_tensor(value)
            if found is not None:
                return found
        elif isinstance(value, Tensor):
            return value
    return None


class NetsumProcessGroup(_ProcessGroup):  # type: ignore[misc]
    """A process group with collectives that are computed by an aggregator in the network."""

    def __init__(
        self,
        store: Store,
        rank: int,
        size: int,
        timeout: timedelta,
        channel: Channel,
        *,
        exact: bool = False,
        packed: bool = False,
        on_device: bool = True,
        global_ranks: Sequence[int] = (),
        stragglers: Stragglers | None = None,
        reorders: bool = False,
    ) -> None:
        """``exact``, ``packed``, ``on_device``: how sums of floats are made (see ``options.Options``).
        ``global_ranks``: of the members of a group made by ``new_group``; none for that of ``init_process_group``.
        ``stragglers``: what is done about late ranks; None: wait. ``reorders``: schedules on the group run in the order
        that a probe finds."""
        super().__init__(rank, size)
        self._store = store
        self._member = Member(rank, size)
        self._timeout_s = timeout.total_seconds()
        self._channel = channel
        self._exact, self._packed, self._on_device = exact, packed, on_device
        self._global_ranks = tuple(global_ranks)
        self._stragglers = stragglers if size > 1 else None
        self.reorders = reorders
        self._name = "netsum"
        self._description = "undefined"
        self._completer = Completer(f"netsum rank {rank}")
        self._starter = Starter(f"netsum rank {rank} staging")
        self._message_starter = Starter(f"netsum rank {rank} messages")
        self._pending: deque[NetsumWork] = deque()
        self._recent: deque[NetsumWork] = deque(maxlen=RECENT_WORKS)
        self._open_messages: list[NetsumWork] = []
        self._most_open_messages = LEAST_OPEN_MESSAGES
        self._exchanges = 0
        self._order = threading.RLock()  # of calls that all ranks make in the same order
        self._remembering = threading.RLock()
        self._coalesced: list[NetsumWork] | None = None
        self._sequence = 0

    # What C++ and DeviceMesh ask about the group itself.

    supports_splitting = supports_time_estimate = False

    def _get_backend(self, device: torch.device) -> NetsumProcessGroup:
        """Asked for with ``init_process_group(device_id=...)``: the group is its own backend, for all devices."""
        return self

    def getBackendName(self) -> str:
        return "netsum"

    def _get_backend_name(self) -> str:
        return "netsum"

    def name(self) -> str:
        return "netsum"

    def get_group_store(self) -> Store:
        return self._store

    def getRank(self) -> int:
        return self._member.rank

    def getSize(self) -> int:
        return self._member.size

    def _set_group_name(self, name: str) -> None:
        self._name = name

    def setGroupName(self, name: str) -> None:
        self._name = name

    def getGroupName(self) -> str:
        return self._name

    @property
    def group_name(self) -> str:
        return self._name

    def _set_group_desc(self, description: str) -> None:
        self._description = description

    def setGroupDesc(self, description: str) -> None:
        self._description = description

    def getGroupDesc(self) -> str:
        return self._description

    @property
    def group_desc(self) -> str:
        return self._description

    def _set_sequence_number_for_group(self) -> None:
        self._sequence = 0

    def _get_sequence_number_for_group(self) -> int:
        """Collectives that this rank has called: the same on all ranks, unless one has fallen behind."""
        return self._sequence

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout_s = timeout.total_seconds()

    def _set_default_timeout(self, timeout: timedelta) -> None:
        self._timeout_s = timeout.total_seconds()

    # Reductions.

    @collective
    def allreduce(self, tensors: Sequence[Tensor], opts: Any = None, timeout: timedelta | None = None) -> NetsumWork:
        reduction, tensor = self._reduction(opts, "all_reduce"), plans.only(tensors, "all_reduce")
        if tensor.layout is torch.sparse_coo:
            return self._allreduce_sparse(tensor, reduction, opts, timeout)
        plan = plans.all_reduce(tensor, reduction, self._member)
        if self._stragglers is not None and self._stragglers.proceeds and may_be_missed(plan):
            plan = counted(plan, self._member.size)
        return self._start("all_reduce", plan, opts, timeout)

    def _allreduce_sparse(
        self, tensor: Tensor, reduction: Reduction, opts: Any, timeout: timedelta | None
    ) -> NetsumWork:
        """Blocks for one small all_gather, of the shapes and of how many elements each rank has."""
        collective = "all_reduce of sparse tensors"
        if reduction.name != "SUM":
            raise RefusedError(f"netsum's {collective} supports SUM only, not {reduction.name}")
        mine = tensor.detach().coalesce()
        rows = self._gather_rows([mine._nnz(), mine.sparse_dim(), *mine.shape], "all_reduce_sparse sizes", opts)
        if any(row[1:] != rows[0][1:] for row in rows):
            shapes = ", ".join(f"rank {rank}: {row[2:]}" for rank, row in enumerate(rows))
            raise RefusedError(f"netsum's {collective}: the ranks' shapes differ in group {self._name!r} ({shapes})")
        plan = plans.all_reduce_sparse(mine, [row[0] for row in rows], self._member)
        plan.outputs = [tensor]
        return self._start("all_reduce_sparse", plan, opts, timeout)

    @collective
    def allreduce_coalesced(self, tensors: Sequence[Tensor], opts: Any = None) -> NetsumWork:
        reduction = self._reduction(opts, "all_reduce_coalesced")
        return self._start("all_reduce_coalesced", plans.all_reduce_coalesced(tensors, reduction, self._member), opts)

    @collective
    def reduce(self, tensors: Sequence[Tensor], opts: Any) -> NetsumWork:
        reduction = self._reduction(opts, "reduce")
        plan = plans.reduce(plans.only(tensors, "reduce"), opts.rootRank, reduction, self._member)
        return self._start("reduce", plan, opts)

    @collective
    def reduce_scatter(
        self, outputs: Sequence[Tensor], inputs: Sequence[Sequence[Tensor]], opts: Any = None
    ) -> NetsumWork:
        reduction = self._reduction(opts, "reduce_scatter")
        output, parts = plans.only(outputs, "reduce_scatter"), _only_list(inputs, "reduce_scatter")
        return self._start("reduce_scatter", plans.reduce_scatter(output, parts, reduction, self._member), opts)

    @collective
    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> NetsumWork:
        reduction = self._reduction(opts, "reduce_scatter_single")
        plan = plans.reduce_scatter_single(output, tensor, reduction, self._member)
        return self._start("reduce_scatter_single", plan, opts)

    @collective
    def reduce_scatter_single_coalesced(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None
    ) -> NetsumWork:
        reduction = self._reduction(opts, "reduce_scatter_single")
        pairs = _pairs(outputs, inputs, "reduce_scatter_single_coalesced")
        parts = [plans.reduce_scatter_single(out, given, reduction, self._member) for out, given in pairs]
        return self._start("reduce_scatter_single_coalesced", plans.together(parts), opts)

    # Moves.

    @collective
    def broadcast(self, tensors: Sequence[Tensor], opts: Any) -> NetsumWork:
        plan = plans.broadcast(plans.only(tensors, "broadcast"), opts.rootRank, self._member)
        return self._start("broadcast", plan, opts)

    @collective
    def allgather(self, outputs: Sequence[Sequence[Tensor]], inputs: Sequence[Tensor], opts: Any = None) -> NetsumWork:
        plan = plans.all_gather(_only_list(outputs, "all_gather"), plans.only(inputs, "all_gather"), self._member)
        return self._start("all_gather", plan, opts)

    @collective
    def allgather_coalesced(
        self, outputs: Sequence[Sequence[Tensor]], inputs: Sequence[Tensor], opts: Any = None
    ) -> NetsumWork:
        collective = "all_gather_coalesced"
        if any(len(row) != len(inputs) for row in outputs):
            raise RefusedError(f"netsum's {collective}: every rank's output list needs {len(inputs)} tensors")
        parts = [plans.all_gather([row[i] for row in outputs], given, self._member) for i, given in enumerate(inputs)]
        return self._start(collective, plans.together(parts), opts)

    @collective
    def all_gather_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> NetsumWork:
        return self._start("all_gather_single", plans.all_gather_single(output, tensor, self._member), opts)

    @collective
    def all_gather_single_coalesced(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None
    ) -> NetsumWork:
        pairs = _pairs(outputs, inputs, "all_gather_single_coalesced")
        parts = [plans.all_gather_single(output, given, self._member) for output, given in pairs]
        return self._start("all_gather_single_coalesced", plans.together(parts), opts)

    @collective
    def gather(self, outputs: Sequence[Sequence[Tensor]], inputs: Sequence[Tensor], opts: Any) -> NetsumWork:
        parts = outputs[0] if outputs else []
        plan = plans.gather(parts, plans.only(inputs, "gather"), opts.rootRank, self._member)
        return self._start("gather", plan, opts)

    @collective
    def scatter(self, outputs: Sequence[Tensor], inputs: Sequence[Sequence[Tensor]], opts: Any) -> NetsumWork:
        parts = inputs[0] if inputs else []
        plan = plans.scatter(plans.only(outputs, "scatter"), parts, opts.rootRank, self._member)
        return self._start("scatter", plan, opts)

    @collective
    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None) -> NetsumWork:
        return self._start("all_to_all", plans.all_to_all(outputs, inputs, self._member), opts)

    @collective
    def all_to_all_single(
        self,
        output: Tensor,
        tensor: Tensor,
        output_split_sizes: Sequence[int] = (),
        input_split_sizes: Sequence[int] = (),
        opts: Any = None,
        timeout: timedelta | None = None,
    ) -> NetsumWork:
        collective, size = "all_to_all_single", self._member.size
        inputs = plans.split_rows(tensor, input_split_sizes, size, collective)
        outputs = plans.split_rows(output, output_split_sizes, size, collective)
        plan = plans.all_to_all(outputs, inputs, self._member)
        plan.outputs = [output]
        return self._start(collective, plan, opts, timeout)

    @untraced
    def barrier(self, opts: Any = None, timeout: timedelta | None = None) -> NetsumWork:
        return self._start("barrier", plans.barrier(), opts, timeout)

    def monitored_barrier(self, timeout: timedelta | float | None = None, wait_all_ranks: bool = False) -> None:
        """A barrier on torch's store that names the ranks that did not come to it; the group stays usable."""
        timeout_s = self._timeout_s if timeout is None else _seconds(timeout)
        member = self._member
        problem = roll_call.monitored_barrier(self._store, member.rank, member.size, timeout_s, wait_all_ranks)
        if problem:
            raise OperationTimeoutError(f"netsum: {problem}")

    # Older names of the same collectives.

    all_gather_into_tensor = _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single

    # Point to point. Ranks are those of the group.

    @collective
    def send(self, tensors: Sequence[Tensor], dstRank: int, tag: int = 0) -> NetsumWork:
        return self._start("send", plans.send(plans.only(tensors, "send"), dstRank, tag, self._member))

    @collective
    def recv(self, tensors: Sequence[Tensor], srcRank: int, tag: int = 0) -> NetsumWork:
        return self._start("recv", plans.receive(plans.only(tensors, "recv"), srcRank, tag, self._member))

    @collective
    def recv_anysource(self, tensors: Sequence[Tensor], tag: int = 0) -> NetsumWork:
        plan = plans.receive(plans.only(tensors, "recv"), ANY_SOURCE, tag, self._member)
        return self._start("recv_anysource", plan)

    # The coalescing manager, when given a device, brackets plain calls with these.

    def _start_coalescing(self, device: torch.device) -> None:
        self._coalesced = []

    def _end_coalescing(self, device: torch.device) -> NetsumWork:
        works, self._coalesced = self._coalesced or [], None
        merged = NetsumWork.merged(self._channel, works, self._timeout_s, self._completer.watch, self._whose_ranks)
        self._recent.append(merged)
        return merged

    # The end.

    def shutdown(self) -> None:
        """Leave the job. A sub-group is left in the background, but for operations in flight. The default group waits,
        bounded, until the other ranks leave it, too: with it goes rank 0's store, which they may be using."""
        if not self._global_ranks:
            self._channel.close()
        else:
            self._channel.leave()
        self._starter.close()
        self._message_starter.close()
        self._completer.close()

    def abort(self) -> None:
        """End the job on every rank."""
        reason = f"rank {self._member.rank} aborted the process group"
        self._channel.fail(TransportError(reason, Cause.LOST))

    # The one way a plan becomes a work.

    def _start(self, event: str, plan: Plan, opts: Any = None, timeout: timedelta | None = None) -> NetsumWork:
        while plan.then is not None:
            outputs, following = plan.outputs, plan.then
            plan.then = None
            self._start(event, plan, opts, timeout).wait()
            plan = following()
            plan.outputs = outputs
        timeout_s = _timeout_s(opts, timeout) or self._timeout_s
        if not torch._C._autograd._profiler_enabled():
            return self._start_in_order(event, plan, timeout_s)
        with torch.autograd.profiler.record_function(f"netsum:{event}") as profiled:
            work = self._start_in_order(event, plan, timeout_s)
            work.extend_profile(profiled)
            return work

    def _start_in_order(self, event: str, plan: Plan, timeout_s: float) -> NetsumWork:
        if plan.messages and not plan.is_exchange:  # a send or receive waits for no other call
            work = self._start_by(self._message_starter, event, plan, timeout_s)
            self._remember(work)
            return work
        with self._order:
            work = self._start_by(self._starter, event, plan, timeout_s)
            self._sequence += 1
            work.stragglers = self._stragglers
            self._remember(work)
            return work

    def _start_by(self, starter: Starter, event: str, plan: Plan, timeout_s: float) -> NetsumWork:
        """After the calls before it, of which those on a device start when that has come so far."""
        if plan.transfer is not None:
            return self._start_staged(plan, plan.transfer, starter, timeout_s)
        if starter.unstarted and not starter.drain(timeout_s):
            raise OperationTimeoutError(
                f"netsum: {event} Timed out after {timeout_s:g} s: calls before it wait for a GPU"
            )
        try:
            numbers = list(map(self._channel.submit, plan.operations))
            if plan.messages:
                numbers += self._channel.post(self._numbered(plan))
        except TransportError as error:
            raise as_torch_error(error, event, self._whose_ranks()) from None
        plan.copy_own_parts()  # before anybody may find the work completed
        return NetsumWork(self._channel, plan, numbers, timeout_s, self._completer.watch, self._whose_ranks)

    def _start_staged(self, plan: Plan, transfer: Transfer, starter: Starter, timeout_s: float) -> NetsumWork:
        plan.copy_own_parts()
        transfer.planned(plan.operations)
        work = StagedWork(
            self._channel, plan, transfer, self._numbered(plan), timeout_s, self._completer.watch, self._whose_ranks
        )
        starter.put(work.start)
        return work

    def _whose_ranks(self) -> str:
        """What error messages of a sub-group add, as the controller and the aggregator know its own ranks alone."""
        ranks = self._global_ranks
        if ranks == tuple(range(len(ranks))):
            return ""
        some = [f"{rank} = {each}" for rank, each in enumerate(ranks[:MOST_LISTED])]
        more = ", ..." if len(ranks) > MOST_LISTED else ""
        return f" (ranks are the group's; rank of the group = global rank: {', '.join(some)}{more})"

    def _numbered(self, plan: Plan) -> list[Message]:
        """A plan's messages, receives first; those of a collective with a tag that the same call has on all ranks."""
        if not plan.is_exchange:
            return plan.messages
        messages = sorted(plan.messages, key=lambda message: not message.receives)
        self._exchanges += 1
        for message in messages:
            message.tag = COLLECTIVE_TAGS | self._exchanges
        return messages

    def _remember(self, work: NetsumWork) -> None:
        """Keep the work, and so its tensors, until its operations are over; then its Python half for a while longer."""
        with self._remembering:
            self._recent.append(work)
            if len(self._recent) > HELD_OUTPUTS:
                self._recent[-HELD_OUTPUTS - 1].let_go()
            if self._coalesced is not None:
                self._coalesced.append(work)
            if not work.is_message:
                self._pending.append(work)
            else:
                self._open_messages.append(work)
                if len(self._open_messages) >= self._most_open_messages:
                    self._open_messages = [each for each in self._open_messages if not each.is_completed()]
                    self._most_open_messages = max(LEAST_OPEN_MESSAGES, 2 * len(self._open_messages))
            while len(self._pending) > 1 and self._pending[0].is_completed():  # the new one hardly is
                self._pending.popleft()

    def _gather_rows(self, row: list[int], event: str, opts: Any) -> list[list[int]]:
        """Every rank's list of so many integers; blocks for one small all_gather."""
        mine = torch.tensor(row, dtype=torch.int64)
        rows = [torch.empty_like(mine) for _ in range(self._member.size)]
        plan = plans.all_gather(rows, mine, self._member)
        plan.operations = [replace(operation, collective=event) for operation in plan.operations]
        self._start(event, plan, opts).wait()
        return [each.tolist() for each in rows]

    def _reduction(self, opts: Any, collective: str) -> Reduction:
        return parse_reduction(_reduce_op(opts), collective, self._exact, self._packed, self._on_device)


def _reduce_op(opts: Any) -> Any:
    """The operator of an options object, of a bare ReduceOp, or torch's default."""
    return dist.ReduceOp.SUM if opts is None else getattr(opts, "reduceOp", opts)


def _timeout_s(opts: Any, timeout: timedelta | None) -> float:
    """The call's own time-out; 0 when it has none (torch writes -1 ms for that)."""
    chosen = timeout if timeout is not None else getattr(opts, "timeout", None)
    if chosen is None:
        return 0.0
    return max(0.0, _seconds(chosen))


def _seconds(timeout: timedelta | float) -> float:
    """torch takes both."""
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)


def _only_list(lists: Sequence[Sequence[Tensor]], collective: str) -> Sequence[Tensor]:
    if len(lists) != 1:
        raise RefusedError(f"netsum's {collective} takes one list of tensors per rank, got {len(lists)}")
    return lists[0]


def _pairs(outputs: Sequence[Tensor], inputs: Sequence[Tensor], collective: str) -> list[tuple[Tensor, Tensor]]:
    if len(outputs) != len(inputs):
        raise RefusedError(f"netsum's {collective}: {len(outputs)} output tensors for {len(inputs)} inputs")
    return list(zip(outputs, inputs, strict=True))
