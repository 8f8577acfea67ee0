"""What a rank was asked to do, counted: beside the aggregator's counters it shows that nothing went another way."""

from __future__ import annotations

from hostagent.transport.channel import Operation

MOST_KINDS = 512
"""Different operations told apart; a program with more sizes than that gets the rest counted as one."""


class Tally:
    """Operations by collective, operator, element type and number of elements."""

    def __init__(self) -> None:
        self._calls: dict[str, int] = {}

    def add(self, operation: Operation) -> None:
        """Count one call."""
        name = f"operation/{operation.collective}/{operation.kind.name}/{operation.dtype}/{operation.elements}"
        if name not in self._calls and len(self._calls) >= MOST_KINDS:
            name = "operation/other"
        self._calls[name] = self._calls.get(name, 0) + 1

    def counters(self) -> dict[str, int]:
        """``operation/COLLECTIVE/OPERATOR/DTYPE/ELEMENTS`` to calls."""
        return dict(self._calls)
