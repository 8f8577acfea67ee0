"""What a rank misses and takes up later, without a network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hostagent.protocol.operation import NOTHING, Operation, OperationKind, Span
from hostagent.transport.errors import TransportError
from hostagent.transport.missed import MOST_MISSED, MissedOperations, terms_of, units

COUNT = Operation("contributions", OperationKind.SUM, "int32", 4, 1, unit=2)
SUM = Operation("all_reduce", OperationKind.SUM, "float32", 4, 3)
OTHER = Operation("barrier", OperationKind.BARRIER, "uint8", 1, 0)
UNIT = (terms_of(COUNT), terms_of(SUM))


def test_whole_units_up_to_what_cannot_be_missed() -> None:
    operations = dict(enumerate([OTHER, COUNT, SUM, COUNT, SUM, OTHER, COUNT, SUM]))
    assert units(operations, 1, 8) == [(1, UNIT), (3, UNIT)]
    assert units(operations, 0, 8) == []
    assert units(operations, 2, 8) == [], "half of it has been submitted already"
    assert units(operations, 1, 4) == [(1, UNIT)], "the second is not submitted whole"
    assert units(operations, 8, 8) == []


def missed_by(missed: MissedOperations, number: int) -> list[np.ndarray]:
    results = []
    for place, (operation, result) in enumerate(missed.perform(UNIT)):
        assert operation.input == NOTHING
        missed.entered(number + place, operation, result)
        results.append(result)
    return results


def test_a_late_caller_gets_the_result() -> None:
    missed = MissedOperations()
    assert missed.adopt(COUNT) is None
    _, result = missed_by(missed, 4)
    result.view(np.float32)[:] = (1, 2, 3)
    mine = np.zeros(3, np.float32)
    late = replace(SUM, input=Span(mine.ctypes.data, 0, 3), output=Span(mine.ctypes.data, 0, 3))
    total = np.zeros(1, np.int32)
    assert missed.adopt(replace(COUNT, output=Span(total.ctypes.data, 0, 1))) == 4
    assert missed.adopt(late) == 5
    assert missed.adopt(late) is None
    assert mine.tolist() == [0, 0, 0]
    missed.collect(5)
    missed.collect(6)
    assert mine.tolist() == [1, 2, 3]


def test_a_caller_of_something_else_is_told_what_the_others_called() -> None:
    missed = MissedOperations()
    missed_by(missed, 0)
    with pytest.raises(TransportError, match=r"called barrier\(\), where the other ranks had called contributions\("):
        missed.adopt(OTHER)
    missed.adopt(COUNT)
    with pytest.raises(TransportError, match="4 elements"):
        missed.adopt(replace(SUM, elements=4))


def test_operations_that_nobody_fetches_are_bounded() -> None:
    missed = MissedOperations()
    for number in range(0, MOST_MISSED, 2):
        assert missed_by(missed, number)
    assert missed.perform(UNIT) == []


def test_results_that_nobody_fetches_are_bounded() -> None:
    missed = MissedOperations(most_bytes=40)
    assert missed_by(missed, 0)
    assert missed_by(missed, 2)
    assert missed.perform(UNIT) == []
    assert missed.adopt(COUNT) == 0
    missed.collect(0)
    assert missed.adopt(SUM) == 1
    missed.collect(1)
    assert len(missed.perform(UNIT)) == 2
