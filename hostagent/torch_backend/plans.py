"""From the arguments of a call to operations and messages on memory: pure functions, nothing is sent here.

A plan keeps every tensor its operations point into, and says what to copy where once they have finished (results for
tensors that are not one run of host memory arrive in scratch first). Tensors on a device are staged through host memory
by the plan's ``transfer``: nothing here waits for the device.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from hostagent.protocol.messages import ANY_SOURCE, LARGEST_TAG, POINT_TO_POINT, Message
from hostagent.protocol.operation import NOTHING, Operation, OperationKind, Span
from hostagent.torch_backend.device.accelerator import accelerator_of
from hostagent.torch_backend.device.block_sum import LEAST_ELEMENTS, BlockSum
from hostagent.torch_backend.device.transfer import MIXED_DEVICES, Transfer, pieces_of
from hostagent.torch_backend.errors import RefusedError
from hostagent.torch_backend.tensors import (
    Reduction,
    adjacent,
    check_movable,
    check_reducible,
    check_writable,
    dtype_name,
    is_flat,
    is_plain,
    readable,
    span,
)


@dataclass(frozen=True, slots=True)
class Member:
    """Who plans: a rank of a group of ``size`` ranks."""

    rank: int
    size: int


@dataclass(slots=True)
class Plan:
    """What one call turns into."""

    operations: list[Operation] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    """The future's value: the tensors the caller gets its results in."""
    memory: list[Tensor] = field(default_factory=list)
    """Kept alive until the operations have finished."""
    copies: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    """(target, source) pairs to copy once the operations have finished."""
    own_parts: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    """(target, source) of what a rank gives to itself: copied while the network works."""
    messages: list[Message] = field(default_factory=list)
    is_exchange: bool = False
    """The messages are those of a collective, which all ranks of the group call in the same order."""
    source: ctypes.c_int64 | None = None
    """Of a receive: where the sender's rank will be."""
    local: list[Callable[[], object]] = field(default_factory=list)
    """What to calculate after that."""
    then: Callable[[], Plan] | None = None
    """Makes the plan to start next, from what this one left behind; its outputs are those of this one."""
    contributions: Tensor | None = None
    """Of a sum that late ranks may miss: one number, how many ranks' data are in it."""
    transfer: Transfer | None = None
    """Of a call with tensors on a device."""

    def copy_own_parts(self) -> None:
        """Bring a rank's own parts to where it wants them."""
        if self.own_parts:
            self._copy(self.own_parts)

    def _copy(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
        with torch.no_grad():
            for target, source in pairs:
                if self.transfer is not None:
                    self.transfer.to_device(target, source)
                else:
                    target.copy_(source)

    def transfer_of(self, tensor: Tensor) -> Transfer | None:
        """What stages the tensor; None for one in host memory."""
        device = accelerator_of(tensor)
        if device is None:
            return None
        if self.transfer is None:
            self.transfer = Transfer(device)
        elif self.transfer.device is not device:
            raise RefusedError(MIXED_DEVICES)
        return self.transfer

    def finish(self) -> None:
        """Bring results from scratch to where the caller wants them."""
        if self.copies:
            self._copy(self.copies)
        if not self.local:
            return
        with torch.no_grad():
            for calculate in self.local:
                calculate()

    def description(self) -> Callable[[], str]:
        """Makes the words for the call in error messages; holds none of the plan's memory."""
        if self.operations:
            return self.operations[0].describe
        if not self.messages:
            return str
        messages = tuple(self.messages)
        return functools.partial(describe_exchange, messages) if self.is_exchange else messages[0].describe

    def send(self, tensor: Tensor, peer: int, collective: str, tag: int | None = None) -> None:
        """One message with the tensor's elements."""
        memory = self.input_of(tensor)
        self.messages.append(_message(collective, False, peer, memory, tag))

    def receive(self, tensor: Tensor, peer: int, collective: str, tag: int | None = None) -> None:
        """One message into the tensor. Of one with a tag, which a plan has one of, the source is noted."""
        source_address = 0
        if tag is not None:
            self.source = ctypes.c_int64(-1)
            source_address = ctypes.addressof(self.source)
        self.messages.append(_message(collective, True, peer, self.scratch_for(tensor), tag, source_address))

    def scratch_for(self, tensor: Tensor) -> Tensor:
        """Memory that the tensor's result may be written to; copied back at the end if not its own."""
        if is_plain(tensor):
            memory = tensor.detach()
            self.memory.append(memory)
            return memory
        return self._copied_back(tensor, self.scratch(tensor.numel(), tensor).view(tensor.shape))

    def scratch(self, elements: int, like: Tensor) -> Tensor:
        """Flat host memory, kept alive, for results that go to a tensor's device."""
        transfer = self.transfer_of(like)
        memory = torch.empty(elements, dtype=like.dtype) if transfer is None else transfer.host(elements, like.dtype)
        self.memory.append(memory)
        return memory

    def in_place(self, tensor: Tensor) -> Tensor:
        """Memory with the tensor's elements that its result may be written to as well, by the network alone."""
        if is_plain(tensor):
            self.memory.append(tensor)
            return tensor
        return self._copied_back(tensor, self.input_of(tensor))

    def _copied_back(self, tensor: Tensor, memory: Tensor) -> Tensor:
        check_writable(tensor)
        self.copies.append((tensor.detach(), memory))
        return memory

    def input_of(self, tensor: Tensor) -> Tensor:
        """Memory with the tensor's elements, kept alive."""
        memory = readable(tensor)
        self.memory.append(memory)
        transfer = self.transfer_of(tensor)
        return memory if transfer is None else transfer.to_host(memory)

    def flat_on_device(self, tensor: Tensor) -> Tensor:
        """The tensor's elements on its device, flat: for a result, which is copied from there if need be."""
        if is_flat(tensor):
            return tensor.detach().view(-1)
        flat = torch.empty(tensor.numel(), dtype=tensor.dtype, device=tensor.device)
        self.copies.append((tensor.detach(), flat.view(tensor.shape)))
        return flat

    def flat_output(self, tensors: Sequence[Tensor]) -> int:
        """Address of contiguous memory for all the tensors; scratch if they are not adjacent."""
        if adjacent(tensors):
            self.memory.extend(tensor.detach() for tensor in tensors)
            return tensors[0].data_ptr()
        flat = self.scratch(sum(tensor.numel() for tensor in tensors), tensors[0])
        parts = torch.split(flat, [tensor.numel() for tensor in tensors])
        pairs = zip(tensors, parts, strict=True)
        self.copies.extend((tensor.detach(), part.view(tensor.shape)) for tensor, part in pairs)
        return flat.data_ptr()

    def flat_input(self, tensors: Sequence[Tensor]) -> int:
        """Address of all the tensors' elements in contiguous memory; a copy if they are not adjacent."""
        if adjacent(tensors):
            self.memory.extend(tensor.detach() for tensor in tensors)
            return tensors[0].data_ptr()
        parts = [readable(tensor).reshape(-1) for tensor in tensors]
        transfer = self.transfer_of(tensors[0])
        if transfer is None:
            flat = torch.cat(parts)
        else:
            flat = transfer.host(sum(part.numel() for part in parts), parts[0].dtype)
            self.memory += parts
            for part, host in zip(parts, torch.split(flat, [part.numel() for part in parts]), strict=True):
                transfer.to_host(part, host)
        self.memory.append(flat)
        return flat.data_ptr()


def describe_exchange(messages: Sequence[Message]) -> str:
    """A collective that messages carry, in words: ``gather(float32, 1 message of 5 elements)``."""
    sizes = sorted({message.elements for message in messages})
    size = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    noun = "message" if len(messages) == 1 else "messages"
    return f"{messages[0].family}({messages[0].dtype}, {len(messages)} {noun} of {size} elements)"


def _message(
    collective: str, receives: bool, peer: int, memory: Tensor, tag: int | None, source_address: int = 0
) -> Message:
    name, width, family = dtype_name(memory), memory.element_size(), POINT_TO_POINT if tag is not None else collective
    elements, address = memory.numel(), memory.data_ptr()
    return Message(collective, receives, peer, name, width, elements, address, tag, family, source_address)


def wants_whole_output(tensor: Tensor, reduction: Reduction) -> bool:
    """64-bit comparisons take two passes, the second from what the first left: everywhere, in scratch if need be."""
    return tensor.dtype in (torch.int64, torch.float64) and reduction.name in ("MIN", "MAX")


def _operation(
    collective: str,
    like: Tensor,
    elements: int,
    reduction: Reduction | None,
    spans: tuple[Span, Span],
    root: int = -1,
) -> Operation:
    name, width = dtype_name(like), like.element_size()
    if reduction is None:
        return Operation(collective, OperationKind.RAW, name, width, elements, *spans, root=root)
    dtype = like.dtype
    if dtype.is_complex:  # two real numbers each
        dtype, width, elements = dtype.to_real(), width // 2, 2 * elements
        name, spans = str(dtype).removeprefix("torch."), (_doubled(spans[0]), _doubled(spans[1]))
    kind = reduction.kind_for(dtype)
    assert kind is not None
    exact = reduction.exact and kind is OperationKind.SUM and dtype.is_floating_point
    if reduction.factor is not None:  # for the network it is a sum; ranks that ask for a plain one are to be noticed
        collective = f"{collective} {reduction.name}"
    packed = reduction.packs(dtype)
    return Operation(collective, kind, name, width, elements, *spans, reduction.average, root, exact, packed)


def _doubled(whole: Span) -> Span:
    return Span(whole.address, 2 * whole.first, 2 * whole.count)


def check_alike(tensors: Sequence[Tensor], like: Tensor, collective: str, what: str) -> None:
    """Refuse a list with tensors that differ from ``like`` in element type or count."""
    for index, tensor in enumerate(tensors):
        check_movable(tensor, collective)
        if tensor.dtype != like.dtype or tensor.numel() != like.numel():
            raise RefusedError(
                f"netsum's {collective}: {what} {index} has {tensor.numel()} elements of {dtype_name(tensor)}, "
                f"expected {like.numel()} of {dtype_name(like)}"
            )


def check_own(tensors: Sequence[Tensor], own: Tensor, member: Member, collective: str, what: str) -> None:
    """Refuse a list, one tensor for each rank, whose element types are not that of ``own``, or in which this rank's has
    another number of elements. All ranks give the same sizes."""
    for index, tensor in enumerate(tensors):
        check_movable(tensor, collective)
        if tensor.dtype != own.dtype or (index == member.rank and tensor.numel() != own.numel()):
            raise RefusedError(
                f"netsum's {collective}: {what} {index} has {tensor.numel()} elements of {dtype_name(tensor)}, "
                f"expected {own.numel()} of {dtype_name(own)}"
            )


def only(tensors: Tensor | Sequence[Tensor], collective: str) -> Tensor:
    """The one tensor of a list that torch's interface allows to be longer, or not to be a list."""
    if isinstance(tensors, Tensor):
        return tensors
    if len(tensors) != 1:
        raise RefusedError(f"netsum's {collective} takes one tensor per rank, got {len(tensors)}")
    return tensors[0]


def check_root(root: int, member: Member, collective: str) -> None:
    if not 0 <= root < member.size:
        raise RefusedError(f"netsum's {collective}: rank {root} is not in the group, which has {member.size} ranks")


def _check_count(count: int, member: Member, collective: str, what: str) -> None:
    if count != member.size:
        raise RefusedError(f"netsum's {collective}: {count} {what}, but the group has {member.size} ranks")


def all_reduce(tensor: Tensor, reduction: Reduction, member: Member, collective: str = "all_reduce") -> Plan:
    """Every rank contributes the whole tensor and gets the whole result, in place."""
    check_reducible(tensor, reduction, collective)
    if reduction.kind_for(tensor.dtype) is None:
        return _composed_all_reduce(collective, tensor, reduction, member)
    if accelerator_of(tensor) is not None and (plan := _large_on_device(collective, tensor, reduction, member)):
        return plan
    return _at_once(collective, tensor, reduction)


def _large_on_device(collective: str, tensor: Tensor, reduction: Reduction, member: Member) -> Plan | None:
    """An all_reduce in pieces, so that copies and the network overlap; None for what is one operation in any case.

    A sum in block floating point has the same bits only if it is cut between chunks, whose length the network says: it
    is quantized on the device, which knows by then.
    """
    if _is_quantized_on_device(tensor, reduction):
        return _quantized_on_device(collective, tensor, tensor, 0, reduction, member)
    pieces = pieces_of(tensor.numel(), tensor.element_size())
    if tensor.is_complex() or reduction.sums_in_blocks(tensor.dtype) or len(pieces) == 1:
        return None
    plan = Plan(outputs=[tensor])
    transfer = plan.transfer_of(tensor)
    assert transfer is not None
    source = readable(reduction.scaled(tensor)).view(-1)
    target = plan.flat_on_device(tensor)
    plan.memory.append(source)
    host = transfer.host(tensor.numel(), tensor.dtype)
    for first, end in pieces:
        part, given, wanted = host[first:end], source[first:end], target[first:end]
        transfer.to_host(given, part)
        operation = _operation(collective, tensor, end - first, reduction, (span(part), span(part)))
        transfer.add_piece(operation, functools.partial(transfer.to_device, wanted, part))
        plan.operations.append(operation)
    return plan


def _is_quantized_on_device(tensor: Tensor, reduction: Reduction) -> bool:
    """A large sum in block floating point of a tensor that is on one."""
    is_large = reduction.on_device and tensor.numel() >= LEAST_ELEMENTS
    return is_large and reduction.sums_in_blocks(tensor.dtype) and accelerator_of(tensor) is not None


def _quantized_on_device(
    collective: str, tensor: Tensor, output: Tensor, first: int, reduction: Reduction, member: Member
) -> Plan:
    """The sum of the ranks' tensors; its elements from ``first`` on go to ``output``."""
    plan = Plan(outputs=[output])
    transfer = plan.transfer_of(tensor)
    assert transfer is not None
    source = readable(reduction.scaled(tensor)).view(-1)
    target = plan.flat_on_device(output)
    spans = (Span(0, 0, source.numel()), Span(0, first, target.numel()))
    whole = _operation(collective, tensor, source.numel(), reduction, spans)
    plan.operations.append(whole)
    transfer.device.keep(source)
    transfer.begin = BlockSum(transfer, source, target, whole, member.size).begin
    return plan


def _at_once(collective: str, tensor: Tensor, reduction: Reduction) -> Plan:
    """An all_reduce as one operation."""
    plan = Plan(outputs=[tensor])
    if reduction.factor is None:
        spans = (span(plan.in_place(tensor)),) * 2
    else:
        spans = (span(plan.input_of(reduction.scaled(tensor))), span(plan.scratch_for(tensor)))
    plan.operations.append(_operation(collective, tensor, tensor.numel(), reduction, spans))
    return plan


GATHERED_BYTES = 256 << 10
"""The most that a rank receives of a composed all_reduce in one step: more is exchanged, reduced in parts, gathered."""


def _composed_all_reduce(collective: str, tensor: Tensor, reduction: Reduction, member: Member) -> Plan:
    """What no aggregator calculates. Small tensors and two ranks: everybody gets everything. Otherwise rank r gets, and
    reduces, the r-th part of every tensor, and the parts are gathered: 2 tensors a rank receives instead of n."""
    source, size = readable(tensor).reshape(-1), member.size
    if size <= 2 or size * source.nbytes <= GATHERED_BYTES:
        parts = list(source.new_empty(size, source.numel()).unbind())
        plan = _gathered(f"{collective} {reduction.name}", parts, source, member)
        plan.local.append(lambda: reduction.combine(tensor.detach(), parts))
        plan.outputs = [tensor]
        return plan
    share = (source.numel() + size - 1) // size
    padded = source.new_zeros(size, share)
    padded.view(-1)[: source.numel()] = source
    mine = source.new_empty(share)
    plan = reduce_scatter(mine, list(padded.unbind()), reduction, member)
    plan.outputs = [tensor]

    def gathered() -> Plan:
        last = _gathered(f"{collective} {reduction.name}", [padded], mine, member)
        last.local.append(lambda: tensor.detach().copy_(padded.view(-1)[: source.numel()].view(tensor.shape)))
        return last

    plan.then = gathered
    return plan


def all_reduce_coalesced(tensors: Sequence[Tensor], reduction: Reduction, member: Member) -> Plan:
    """Several tensors at once: one operation per element type, over all its tensors together."""
    collective = "all_reduce_coalesced"
    if not tensors:
        raise RefusedError(f"netsum's {collective}: the list of tensors is empty")
    parts = []
    for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
        alike = [tensor for tensor in tensors if tensor.dtype == dtype]
        for tensor in alike:
            check_reducible(tensor, reduction, collective)
        if reduction.kind_for(dtype) is None or reduction.factor is not None:
            parts += [_apart(tensor, reduction, member, collective) for tensor in alike]
            continue
        plan, elements = Plan(), sum(tensor.numel() for tensor in alike)
        source, target = plan.flat_input(alike), plan.flat_output(alike)
        spans = (Span(source, 0, elements), Span(target, 0, elements))
        plan.operations.append(_operation(collective, alike[0], elements, reduction, spans))
        parts.append(plan)
    whole = together(parts)
    whole.outputs = list(tensors)
    return whole


def _apart(tensor: Tensor, reduction: Reduction, member: Member, collective: str) -> Plan:
    if reduction.kind_for(tensor.dtype) is None:
        return _composed_all_reduce(collective, tensor, reduction, member)
    return _at_once(collective, tensor, reduction)


def all_reduce_sparse(tensor: Tensor, counts: Sequence[int], member: Member) -> Plan:
    """The sum of sparse tensors of which rank r has ``counts[r]`` elements that are not zero; ``tensor`` is coalesced.

    Every rank gets all indices and all values, and adds them in the order of the ranks.
    """
    plan, total, before = Plan(), sum(counts), sum(counts[: member.rank])
    gathered = []
    for part in (tensor.indices().t(), tensor.values()):
        mine, row = plan.input_of(part), part.shape[1:].numel()
        whole = plan.scratch(total * row, part).view(total, *part.shape[1:])
        spans = (span(mine, before * row), span(whole))
        plan.operations.append(_operation("all_reduce_sparse", mine, total * row, None, spans))
        gathered.append(torch.split(whole, list(counts)))
    shape, device = tensor.shape, tensor.device

    def add() -> None:
        parts = [
            torch.sparse_coo_tensor(i.t().to(device), values.to(device), shape, check_invariants=False)
            for i, values in zip(*gathered, strict=True)
        ]
        held = parts[0]
        for part in parts[1:]:
            held = _sparse_sum(held, part)
        plan.outputs[0].copy_(held.coalesce())

    plan.local.append(add)
    return plan


def _sparse_sum(one: Tensor, other: Tensor) -> Tensor:
    """PyTorch adds no sparse float16 tensors on a CPU; each sum in float32, rounded, has the same bits."""
    if one.dtype is not torch.float16:
        return one + other
    return (one.float() + other.float()).half()


def broadcast(tensor: Tensor, root: int, member: Member) -> Plan:
    """The root's elements to all others."""
    check_movable(tensor, "broadcast")
    check_root(root, member, "broadcast")
    plan = Plan(outputs=[tensor])
    transfer, pieces = plan.transfer_of(tensor), pieces_of(tensor.numel(), tensor.element_size())
    if transfer is not None and len(pieces) > 1:
        _broadcast_in_pieces(plan, transfer, tensor, pieces, root, member)
        return plan
    if member.rank == root:
        spans = (span(plan.input_of(tensor)), NOTHING)
    else:
        spans = (NOTHING, span(plan.scratch_for(tensor)))
    plan.operations.append(_operation("broadcast", tensor, tensor.numel(), None, spans, root))
    return plan


def _broadcast_in_pieces(
    plan: Plan, transfer: Transfer, tensor: Tensor, pieces: Sequence[tuple[int, int]], root: int, member: Member
) -> None:
    """On a device, so that copies and the network overlap."""
    is_root, host = member.rank == root, transfer.host(tensor.numel(), tensor.dtype)
    source = readable(tensor).view(-1) if is_root else tensor
    target = tensor if is_root else plan.flat_on_device(tensor)
    plan.memory.append(source)
    for first, end in pieces:
        part = host[first:end]
        spans, arrived = (NOTHING, span(part)), None
        if is_root:
            spans = (span(transfer.to_host(source[first:end], part)), NOTHING)
        else:
            arrived = functools.partial(transfer.to_device, target[first:end], part)
        operation = _operation("broadcast", tensor, end - first, None, spans, root)
        transfer.add_piece(operation, arrived)
        plan.operations.append(operation)


def reduce(tensor: Tensor, root: int, reduction: Reduction, member: Member) -> Plan:
    """As all_reduce, with the result at the root only; the others' tensors stay as they are."""
    check_root(root, member, "reduce")
    check_reducible(tensor, reduction, "reduce")
    if reduction.kind_for(tensor.dtype) is None:
        return _composed_reduce(tensor, root, reduction, member)
    if member.rank == root:
        plan = _at_once("reduce", tensor, reduction)
        plan.operations = [replace(operation, root=root) for operation in plan.operations]
        return plan
    plan = Plan(outputs=[tensor])
    memory = plan.input_of(tensor.clone() if wants_whole_output(tensor, reduction) else reduction.scaled(tensor))
    spans = (span(memory), span(memory) if wants_whole_output(tensor, reduction) else NOTHING)
    plan.operations = [_operation("reduce", tensor, tensor.numel(), reduction, spans, root)]
    return plan


def _composed_reduce(tensor: Tensor, root: int, reduction: Reduction, member: Member) -> Plan:
    source = readable(tensor)
    parts = list(source.new_empty(member.size, *source.shape).unbind()) if member.rank == root else []
    plan = gather(parts, source, root, member, f"reduce {reduction.name}")
    if parts:
        plan.local.append(lambda: reduction.combine(tensor.detach(), parts))
    plan.outputs = [tensor]
    return plan


def all_gather(outputs: Sequence[Tensor], tensor: Tensor, member: Member) -> Plan:
    """Every rank's tensor to every rank, one output tensor per rank."""
    check_movable(tensor, "all_gather")
    _check_count(len(outputs), member, "all_gather", "output tensors")
    check_own(outputs, tensor, member, "all_gather", "output tensor")
    return _gathered("all_gather", outputs, tensor, member, [output.numel() for output in outputs])


def all_gather_single(output: Tensor, tensor: Tensor, member: Member) -> Plan:
    """Every rank's tensor to every rank, concatenated or stacked in one output tensor."""
    _check_single(output, tensor, member, "all_gather_single", ("output", "input"))
    return _gathered("all_gather_single", [output], tensor, member)


def gather(outputs: Sequence[Tensor], tensor: Tensor, root: int, member: Member, collective: str = "gather") -> Plan:
    """Every rank's tensor to the root, one output tensor per rank there."""
    check_movable(tensor, collective)
    check_root(root, member, collective)
    plan = Plan(outputs=list(outputs), is_exchange=True)
    if member.rank != root:
        if outputs:
            raise RefusedError(f"netsum's {collective}: only the root (rank {root}) may give output tensors")
        plan.send(tensor, root, collective)
        return plan
    _check_count(len(outputs), member, collective, "output tensors")
    check_alike(outputs, tensor, collective, "output tensor")
    for rank, output in enumerate(outputs):
        if rank == root:
            plan.own_parts.append((output.detach(), tensor.detach().reshape(output.shape)))
        else:
            plan.receive(output, rank, collective)
    return plan


def _gathered(
    collective: str, outputs: Sequence[Tensor], tensor: Tensor, member: Member, counts: Sequence[int] = ()
) -> Plan:
    """``counts``: elements of each rank; default: the same of all."""
    plan = Plan(outputs=list(outputs))
    counts = counts or [tensor.numel()] * member.size
    source = span(plan.input_of(tensor), sum(counts[: member.rank]))
    target = Span(plan.flat_output(outputs), 0, sum(counts))
    plan.operations.append(_operation(collective, tensor, sum(counts), None, (source, target)))
    return plan


def _check_single(whole: Tensor, part: Tensor, member: Member, collective: str, names: tuple[str, str]) -> None:
    check_movable(whole, collective)
    check_movable(part, collective)
    if whole.dtype != part.dtype or whole.numel() != part.numel() * member.size:
        raise RefusedError(
            f"netsum's {collective}: the {names[0]} tensor has {whole.numel()} elements of {dtype_name(whole)}, "
            f"expected {member.size} times the {names[1]} tensor's, {part.numel()} of {dtype_name(part)}"
        )


def scatter(output: Tensor, inputs: Sequence[Tensor], root: int, member: Member) -> Plan:
    """The root's list of tensors, one to each rank."""
    check_movable(output, "scatter")
    check_root(root, member, "scatter")
    plan = Plan(outputs=[output], is_exchange=True)
    if member.rank != root:
        if inputs:
            raise RefusedError(f"netsum's scatter: only the root (rank {root}) may give input tensors")
        plan.receive(output, root, "scatter")
        return plan
    _check_count(len(inputs), member, "scatter", "input tensors")
    check_alike(inputs, output, "scatter", "input tensor")
    for rank, tensor in enumerate(inputs):
        if rank == root:
            plan.own_parts.append((output.detach(), tensor.detach().reshape(output.shape)))
        else:
            plan.send(tensor, rank, "scatter")
    return plan


def reduce_scatter(output: Tensor, inputs: Sequence[Tensor], reduction: Reduction, member: Member) -> Plan:
    """Rank r gets the reduction of every rank's r-th input tensor."""
    check_reducible(output, reduction, "reduce_scatter")
    _check_count(len(inputs), member, "reduce_scatter", "input tensors")
    check_own(inputs, output, member, "reduce_scatter", "input tensor")
    if reduction.kind_for(output.dtype) is None:
        return _composed_reduce_scatter(output, inputs, reduction, member)
    plan = Plan(outputs=[output])
    address = plan.flat_input([reduction.scaled(tensor) for tensor in inputs])
    counts = [tensor.numel() for tensor in inputs]
    return _reduced("reduce_scatter", plan, address, output, counts, reduction, member)


def _composed_reduce_scatter(output: Tensor, inputs: Sequence[Tensor], reduction: Reduction, member: Member) -> Plan:
    """An exchange: rank r gets every rank's r-th tensor, and reduces them."""
    count, size = output.numel(), member.size
    parts = list(output.new_empty(size, count).unbind())
    plan = all_to_all(parts, [tensor.reshape(-1) for tensor in inputs], member, f"reduce_scatter {reduction.name}")
    plan.local.append(lambda: reduction.combine(output.detach(), parts))
    plan.outputs = [output]
    return plan


def reduce_scatter_single(output: Tensor, tensor: Tensor, reduction: Reduction, member: Member) -> Plan:
    """Rank r gets the r-th part of the reduction of every rank's input tensor."""
    check_reducible(output, reduction, "reduce_scatter_single")
    _check_single(tensor, output, member, "reduce_scatter_single", ("input", "output"))
    if reduction.kind_for(output.dtype) is None:
        inputs = list(readable(tensor).reshape(member.size, -1).unbind())
        return _composed_reduce_scatter(output, inputs, reduction, member)
    if output.device == tensor.device and _is_quantized_on_device(tensor, reduction):
        first = member.rank * output.numel()
        return _quantized_on_device("reduce_scatter_single", tensor, output, first, reduction, member)
    plan = Plan(outputs=[output])
    address = plan.input_of(reduction.scaled(tensor)).data_ptr()
    counts = [output.numel()] * member.size
    return _reduced("reduce_scatter_single", plan, address, output, counts, reduction, member)


def _reduced(
    collective: str,
    plan: Plan,
    address: int,
    output: Tensor,
    counts: Sequence[int],
    reduction: Reduction,
    member: Member,
) -> Plan:
    """``counts``: elements of each rank's part."""
    first, count = sum(counts[: member.rank]), sum(counts)
    source = Span(address, 0, count)
    if wants_whole_output(output, reduction):
        scratch = plan.scratch(count, output)
        plan.copies.append((output.detach(), scratch[first : first + output.numel()].view(output.shape)))
        target = span(scratch)
    else:
        target = span(plan.scratch_for(output), first)
    plan.operations.append(_operation(collective, output, count, reduction, (source, target)))
    return plan


def all_to_all(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], member: Member, collective: str = "all_to_all"
) -> Plan:
    """Rank r's i-th input becomes rank i's r-th output; each pair of ranks agrees on its own sizes."""
    _check_count(len(outputs), member, collective, "output tensors")
    _check_count(len(inputs), member, collective, "input tensors")
    for tensor in (*outputs, *inputs):
        check_movable(tensor, collective)
    own_output, own_input = outputs[member.rank], inputs[member.rank]
    if own_output.numel() != own_input.numel() or own_output.dtype != own_input.dtype:
        raise RefusedError(
            f"netsum's {collective}: this rank's own part has {own_input.numel()} elements of "
            f"{dtype_name(own_input)} and goes to {own_output.numel()} of {dtype_name(own_output)}"
        )
    plan = Plan(outputs=list(outputs), is_exchange=True)
    plan.own_parts.append((own_output.detach(), own_input.detach().reshape(own_output.shape)))
    for step in range(1, member.size):  # not all to the same rank at first
        source, destination = (member.rank - step) % member.size, (member.rank + step) % member.size
        plan.receive(outputs[source], source, collective)
        plan.send(inputs[destination], destination, collective)
    return plan


def send(tensor: Tensor, peer: int, tag: int, member: Member) -> Plan:
    """The tensor's elements to one rank."""
    check_movable(tensor, "send")
    check_root(peer, member, "send")
    _check_tag(tag, "send")
    plan = Plan()
    plan.send(tensor, peer, "send", tag)
    return plan


def receive(tensor: Tensor, peer: int, tag: int, member: Member) -> Plan:
    """The elements that one rank sends, or ``ANY_SOURCE``."""
    check_movable(tensor, "recv")
    if peer != ANY_SOURCE:
        check_root(peer, member, "recv")
    _check_tag(tag, "recv")
    plan = Plan(outputs=[tensor])
    plan.receive(tensor, peer, "recv", tag)
    return plan


def _check_tag(tag: int, collective: str) -> None:
    if not 0 <= tag <= LARGEST_TAG:
        raise RefusedError(f"netsum's {collective}: tag {tag} is not one of 0 to {LARGEST_TAG}")


def split_rows(tensor: Tensor, sizes: Sequence[int], ranks: int, collective: str) -> list[Tensor]:
    """The tensor's rows dealt to the ranks: ``sizes`` rows each, or evenly when that is empty."""
    check_movable(tensor, collective)
    rows = tensor.shape[0] if tensor.dim() else 0
    if not sizes and rows % ranks == 0:
        sizes = [rows // ranks] * ranks
    if len(sizes) != ranks or sum(sizes) != rows:
        raise RefusedError(
            f"netsum's {collective}: {rows} rows cannot be split as {list(sizes) or 'equal parts'} over {ranks} ranks"
        )
    return list(torch.split(tensor, list(sizes)))


def barrier() -> Plan:
    """Finishes when every rank has called it."""
    return Plan(operations=[Operation("barrier", OperationKind.BARRIER, "uint8", 1, 0)])


def together(plans: Sequence[Plan]) -> Plan:
    """Several plans as one call."""
    whole = Plan()
    for plan in plans:
        whole.operations += plan.operations
        whole.outputs += plan.outputs
        whole.memory += plan.memory
        whole.copies += plan.copies
        whole.messages += plan.messages
        whole.own_parts += plan.own_parts
        whole.is_exchange |= plan.is_exchange
        whole.local += plan.local
        if whole.transfer is None or plan.transfer is None:
            whole.transfer = whole.transfer or plan.transfer
        else:
            whole.transfer.take_over(plan.transfer)
    following = [plan.then for plan in plans if plan.then is not None]
    if following:
        whole.then = lambda: together([make() for make in following])
    return whole
