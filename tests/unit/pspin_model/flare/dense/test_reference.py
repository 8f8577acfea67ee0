"""Dense reduction: the same sum for every order of arrival, floats the same on a tree, and repeats not added."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from pspin_model.flare.dense.reference import ContributionError, DenseBlocks, Shape, Verdict, reduce_tree
from pspin_model.flare.elements import ELEMENT_TYPES, ElementError, Values, operator
from pspin_model.flare.models.dense import Algorithm
from pspin_model.flare.user_objects import element_kind
from pspin_model.machine.config import ConfigError

CHILDREN, ELEMENTS = 7, 16


def reduce_in_order(
    rows: Values, order: Iterable[int], algorithm: Algorithm, which: object = "sum", buffers: int = 3
) -> Values:
    shape = Shape(1, len(rows), rows.shape[1], rows.dtype, algorithm, buffers)
    blocks = DenseBlocks(shape, operator(which))  # type: ignore[arg-type]
    verdicts = [blocks.contribute(0, child, rows[child], buffer=i % buffers) for i, child in enumerate(order)]
    assert verdicts == [Verdict.ADDED] * (len(rows) - 1) + [Verdict.COMPLETED]
    assert blocks.live_buffers == 0
    return np.asarray(blocks.results[0])


def rows_of(dtype: str) -> Values:
    values = np.random.default_rng(7).normal(0, 20, (CHILDREN, ELEMENTS))
    return values.astype(ELEMENT_TYPES[dtype])


@pytest.mark.parametrize("algorithm", list(Algorithm))
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_integer_sums_are_exact_in_any_order_of_arrival(algorithm: Algorithm, dtype: str) -> None:
    rows, random = rows_of(dtype), np.random.default_rng(1)
    expected = rows.sum(axis=0, dtype=rows.dtype)  # wraps, as the cores do
    for _ in range(20):
        assert (reduce_in_order(rows, random.permutation(CHILDREN), algorithm) == expected).all()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_tree_gives_the_same_bits_for_every_order_of_arrival(dtype: str) -> None:
    rows, random = rows_of(dtype), np.random.default_rng(2)
    expected = reduce_tree(rows, operator("sum"))
    for _ in range(50):
        found = reduce_in_order(rows, random.permutation(CHILDREN), Algorithm.TREE)
        assert found.tobytes() == expected.tobytes()


def test_a_single_buffer_is_not_reproducible_with_floats() -> None:
    rows, random = rows_of("float32"), np.random.default_rng(3)
    found = {reduce_in_order(rows, random.permutation(CHILDREN), Algorithm.SINGLE).tobytes() for _ in range(50)}
    assert len(found) > 1


@pytest.mark.parametrize("algorithm", list(Algorithm))
@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ("min", lambda rows: rows.min(axis=0)),
        ("max", lambda rows: rows.max(axis=0)),
        ("product", lambda rows: rows.prod(axis=0, dtype=rows.dtype)),
        (lambda a, b: a ^ b, np.bitwise_xor.reduce),
        (lambda a, b: a if abs(a) > abs(b) else b, lambda rows: rows[np.abs(rows).argmax(axis=0), range(ELEMENTS)]),
    ],
    ids=["min", "max", "product", "xor of the user", "element by element of the user"],
)
def test_operators_of_ours_and_of_the_user(algorithm: Algorithm, which: object, expected: object) -> None:
    rows = np.random.default_rng(5).permutation(CHILDREN * ELEMENTS).reshape(CHILDREN, -1).astype(np.int32)
    found = reduce_in_order(rows, range(CHILDREN), algorithm, which)
    assert (found == expected(rows)).all()  # type: ignore[operator]


def test_the_operands_of_a_tree_stand_in_the_order_of_the_children() -> None:
    first = reduce_in_order(rows_of("int32"), range(CHILDREN)[::-1], Algorithm.TREE, lambda a, _b: a)
    assert (first == rows_of("int32")[0]).all()


@pytest.mark.parametrize("algorithm", list(Algorithm))
def test_a_repeat_is_not_added_and_is_served_when_the_block_is_complete(algorithm: Algorithm) -> None:
    shape = Shape(2, 2, 4, np.dtype(np.int32), algorithm, 2)
    blocks, ones = DenseBlocks(shape, operator("sum")), np.ones(4, np.int32)
    verdicts = [blocks.contribute(1, child, ones) for child in (0, 0, 1, 1)]
    assert verdicts == [Verdict.ADDED, Verdict.REPEAT, Verdict.COMPLETED, Verdict.SERVED_AGAIN]
    assert blocks.results[1].tolist() == [2] * 4
    assert blocks.complete.tolist() == [False, True]
    assert blocks.repeats == 2


@pytest.mark.parametrize(
    ("block", "child", "values", "message"),
    [
        (2, 0, np.ones(4, np.int32), "block 2: this reduction has block 0 to 1"),
        (0, 5, np.ones(4, np.int32), "child 5: this reduction has child 0 to 1"),
        (0, 0, np.ones(4, np.int16), "int16: this reduction's have 4 int32"),
        (0, 0, np.ones(5, np.int32), "(5,) int32"),
    ],
)
def test_a_wrong_packet_is_refused_and_changes_nothing(block: int, child: int, values: Values, message: str) -> None:
    blocks = DenseBlocks(Shape(2, 2, 4, np.dtype(np.int32)), operator("sum"))
    with pytest.raises(ContributionError) as caught:
        blocks.contribute(block, child, values)
    assert message in str(caught.value)
    assert not blocks.came.any()


def test_an_unknown_type_or_operator_names_those_there_are() -> None:
    with pytest.raises(ConfigError, match="float16, float32"):
        element_kind("float64")
    with pytest.raises(ElementError, match="sum, min, max, product"):
        operator("median")
