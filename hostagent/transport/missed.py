"""Operations that a late rank's transport takes part in without its data (PROTOCOL.md, section 6.7). No I/O.

    another rank's request -> Terms -> perform: an Operation without input, into memory of ours -> the core
    the late rank's own call --------> adopt: the number of that operation; collect: its result, copied to the caller

The rules that keep this right: operations are missed in the order of their numbers, and only the one that this rank
would have submitted next; so what is missed, and what the caller submits, are one sequence. A unit (the count of the
contributions and what is counted) is missed whole or not at all.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hostagent.protocol.operation import NOTHING, Operation, OperationKind, Span
from hostagent.transport.errors import Cause, TransportError
from hostagent.transport.session.terms import Terms

MOST_MISSED_BYTES = 1 << 30
"""Of results that wait for their late caller. Beyond it the other ranks wait."""

MOST_MISSED = 1024
"""Operations that wait for their late caller: fewer than the 4,096 of which a job remembers how they ended."""


def terms_of(operation: Operation) -> Terms:
    """Without the rank's memory."""
    return Terms(*(getattr(operation, name) for name in Terms.__slots__))


def units(operations: Mapping[int, Operation], first: int, end: int) -> list[tuple[int, tuple[Terms, ...]]]:
    """The whole units among operations ``first`` to ``end - 1`` that a late rank may miss, up to one that it may not;
    with the number of the first operation of each."""
    found = []
    while first < end and (opening := operations.get(first)) is not None and opening.unit:
        members = [operations.get(number) for number in range(first, min(end, first + opening.unit))]
        if len(members) < opening.unit or None in members:
            break
        found.append((first, tuple(terms_of(member) for member in members if member is not None)))
        first += opening.unit
    return found


@dataclass(frozen=True, slots=True)
class _Missed:
    number: int
    operation: Operation
    result: NDArray[np.uint8]


class MissedOperations:
    """Of one job on one rank. The caller serialises all calls."""

    def __init__(self, most_bytes: int = MOST_MISSED_BYTES) -> None:
        self._most_bytes = most_bytes
        self._held_bytes = 0
        self._waiting: deque[_Missed] = deque()
        self._adopted: dict[int, tuple[_Missed, Operation]] = {}
        self.count = 0
        """Operations missed so far."""

    def perform(self, unit: Sequence[Terms]) -> list[tuple[Operation, NDArray[np.uint8]]]:
        """The operations to submit in the caller's place, with their results' memory; none: there is no room for it."""
        size = sum(terms.elements * terms.element_bytes for terms in unit)
        if self._held_bytes + size > self._most_bytes or len(self._waiting) + len(unit) > MOST_MISSED:
            return []
        self._held_bytes += size
        made = []
        for terms in unit:
            result = np.empty(terms.elements * terms.element_bytes, np.uint8)
            output = Span(result.ctypes.data, 0, terms.elements)
            operation = Operation(
                *(terms.collective, OperationKind.SUM, terms.dtype, terms.element_bytes, terms.elements),
                input=NOTHING,
                output=output,
                average=terms.average,
                exact=terms.exact,
            )
            made.append((operation, result))
        return made

    def entered(self, number: int, operation: Operation, result: NDArray[np.uint8]) -> None:
        """One of them has been submitted under this number."""
        self.count += 1
        self._waiting.append(_Missed(number, operation, result))

    def adopt(self, operation: Operation) -> int | None:
        """The number under which the caller's next operation was missed; None: it was not. Raises TransportError where
        it is another one than the other ranks'."""
        if not self._waiting:
            return None
        missed = self._waiting[0]
        own = replace(operation, input=NOTHING, output=missed.operation.output, unit=0)
        if own != missed.operation:
            others = missed.operation.describe()
            text = f"the late rank called {operation.describe()}, where the other ranks had called {others}"
            raise TransportError(text, Cause.MISMATCH)
        self._waiting.popleft()
        self._adopted[missed.number] = (missed, operation)
        return missed.number

    def collect(self, number: int) -> None:
        """The operation has succeeded: if it was missed, copy its result to the caller's memory."""
        missed, operation = self._adopted.pop(number, (None, None))
        if missed is None or operation is None:
            return
        self._held_bytes -= missed.result.size
        span = operation.output
        begin, size = span.first * operation.element_bytes, span.count * operation.element_bytes
        ctypes.memmove(span.address, missed.result.ctypes.data + begin, size)
