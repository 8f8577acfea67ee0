"""Sums of floats that are quantized on the device: the host moves int32 lanes.

As PROTOCOL.md, sections 8.1 and 8.10, with two operations in place of one: MAX of the chunks' exponents, then SUM of
the lanes. The same chunks, exponents and lanes, and so the same bits as the sum of a tensor in host memory. Where a
chunk is not finite on any rank (which all ranks see by the exponents), the whole sum is made by the hosts as usual.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import torch
from torch import Tensor

from hostagent.protocol.operation import Operation, OperationKind, Span
from hostagent.protocol.quantizer.blocks import EXPONENT_NOT_FINITE, EXPONENT_ZERO, log2_ceiling
from hostagent.protocol.quantizer.packed import LARGEST_JOB
from hostagent.protocol.worker.dequantize_result import LARGEST_EXPONENT, LEAST_EXPONENT
from hostagent.torch_backend.device.block_kernels import lanes_of
from hostagent.torch_backend.device.host_memory import Event
from hostagent.torch_backend.device.transfer import Start, Transfer, pieces_of

LEAST_ELEMENTS = 1 << 22
"""Fewer are quantized by the hosts: a round trip and the device's answers take longer than what they save. Measured
on an H100 that the ranks share (BENCHMARKS.md)."""

LANE_BYTES = 4


class BlockSum:
    """The sum of ``source`` over the ranks, a part of it to ``target``: flat, contiguous tensors of one type on one
    device."""

    def __init__(self, transfer: Transfer, source: Tensor, target: Tensor, whole: Operation, workers: int) -> None:
        """``whole``: the sum as one operation, without memory; its output span says which part. ``workers``: ranks."""
        self._transfer, self._device = transfer, transfer.device
        self._source, self._target = source, target
        self._whole, self._part = whole, whole.output
        self._workers_log2 = log2_ceiling(workers)
        self._divisor = workers if whole.average else 1
        self._packed = whole.packed and workers <= LARGEST_JOB

    def begin(self, ticket: Start) -> None:
        """See `transfer.Transfer.begin`."""
        self._chunk = ticket.lanes() * (2 if self._packed else 1)
        agreed = self._agree(ticket)
        if (agreed == EXPONENT_NOT_FINITE).any():
            self._begin_on_host(ticket)
            return
        special = agreed == EXPONENT_ZERO  # anything else that is no exponent is taken as the nearest that is
        agreed.clamp_(LEAST_EXPONENT, LARGEST_EXPONENT).masked_fill_(special, EXPONENT_ZERO)
        lanes = self._transfer.host(self._lanes(self._source.numel()), torch.int32)
        pieces = pieces_of(self._source.numel(), LANE_BYTES // (2 if self._packed else 1), self._chunk)
        parts = [lanes[self._lanes(first) : self._lanes(end)] for first, end in pieces]
        with self._device.use(self._transfer.stream):
            self._exponents = self._on_device(agreed)
            self._make_room()
            copied = [self._quantize(part, *piece) for part, piece in zip(parts, pieces, strict=True)]
        for part, (first, end), event in zip(parts, pieces, copied, strict=True):
            event.synchronize()
            begin = min(max(first, self._first), end)
            stop = max(min(end, self._end), begin)
            own = slice(self._lanes(begin) - self._lanes(first), self._lanes(stop) - self._lanes(first))
            operation = self._operation("lanes", OperationKind.SUM, part, own)
            arrived = functools.partial(self._arrive, part[own], begin, stop) if begin < stop else None
            ticket.submit(operation, arrived)

    def _make_room(self) -> None:
        """For the results of all chunks that have elements of the part."""
        self._first = self._part.first // self._chunk * self._chunk
        end = self._part.first + self._part.count
        self._end = min((end + self._chunk - 1) // self._chunk * self._chunk, self._source.numel())
        self._is_aligned = (self._first, self._end) == (self._part.first, end)
        self._results = self._target if self._is_aligned else self._source.new_empty(self._end - self._first)

    def _lanes(self, elements: int) -> int:
        """Of the first elements."""
        return lanes_of(elements, self._chunk) if self._packed else elements

    def _agree(self, ticket: Start) -> Tensor:
        """The largest exponent of each chunk on any rank, in host memory."""
        count = (self._source.numel() + self._chunk - 1) // self._chunk
        with self._device.use(self._transfer.stream):
            own = torch.empty(count, dtype=torch.int32, device=self._source.device)
            self._device.kernels.exponents(self._source, self._chunk, own)
            agreed = self._transfer.to_host(own)
            copied = self._device.record()
        copied.synchronize()
        ticket.finish(ticket.submit(self._operation("exponents", OperationKind.MAX, agreed)))
        return agreed

    def _operation(self, what: str, kind: OperationKind, host: Tensor, own: slice | None = None) -> Operation:
        """``own``: the part of the result that this rank wants, if not all."""
        whole = Span(host.data_ptr(), 0, host.numel())
        result = whole
        if own is not None:
            result = Span(host.data_ptr() + own.start * LANE_BYTES, own.start, own.stop - own.start)
        name = f"{self._whole.collective} {what} of {'packed ' if self._packed else ''}{self._whole.dtype}"
        return Operation(name, kind, "int32", LANE_BYTES, host.numel(), whole, result)

    def _on_device(self, host: Tensor) -> Tensor:
        made = torch.empty(host.shape, dtype=host.dtype, device=self._source.device)
        self._device.copy(made, host)
        return made

    def _exponents_of(self, first: int, end: int) -> Tensor:
        return self._exponents[first // self._chunk : (end + self._chunk - 1) // self._chunk]

    def _quantize(self, host: Tensor, first: int, end: int) -> Event:
        """Queue the lanes of elements ``first`` to ``end``, to host memory."""
        kernels = self._device.kernels
        lanes = torch.empty(host.numel(), dtype=torch.int32, device=self._source.device)
        to_lanes = kernels.pack if self._packed else kernels.quantize
        to_lanes(self._source[first:end], self._exponents_of(first, end), self._chunk, self._workers_log2, lanes)
        self._device.copy(host, lanes)
        return self._device.record()

    def _arrive(self, host: Tensor, first: int, end: int) -> None:
        """Queue the result of those elements, from their summed lanes."""
        kernels = self._device.kernels
        lanes, exponents = self._on_device(host), self._exponents_of(first, end)
        to_elements = kernels.unpack if self._packed else kernels.dequantize
        results = self._results[first - self._first : end - self._first]
        to_elements(lanes, exponents, self._chunk, self._workers_log2, self._divisor, results)
        self._device.keep(self._results)
        if end == self._end and not self._is_aligned:
            start = self._part.first - self._first
            self._device.copy(self._target, self._results[start : start + self._part.count])
            self._device.keep(self._target)

    def _begin_on_host(self, ticket: Start) -> None:
        """The tensor as it is: the hosts count its NaN and infinities."""
        with self._device.use(self._transfer.stream):
            host = self._transfer.to_host(self._source)
            copied = self._device.record()
        copied.synchronize()
        part = host[self._part.first : self._part.first + self._part.count]
        spans = Span(host.data_ptr(), 0, host.numel()), Span(part.data_ptr(), self._part.first, part.numel())
        operation = replace(self._whole, input=spans[0], output=spans[1])
        ticket.submit(operation, lambda: self._transfer.to_device(self._target, part))
