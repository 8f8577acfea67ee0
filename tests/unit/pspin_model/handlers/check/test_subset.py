"""Handlers on the PsPIN model have no way around the checks: what they cannot be made of is refused, in one line that
names the handler, the place and the construct."""

from __future__ import annotations

import operator
from typing import Any

import numba
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from pspin_model.handlers import (
    HandlerError,
    atomic_add,
    charge,
    charge_elements,
    handler,
    helper,
    lock,
    packet,
    scratchpad,
    tag,
    yield_core,
)
from pspin_model.machine import Machine
from pspin_model.machine.switching import carray

PAIR = np.dtype([("index", np.uint16), ("value", np.float32)])


@numba.njit
def plain(array: Any, place: int) -> None:
    """No bounds are checked here."""
    array[place] = 5


def python(h: int) -> int:
    """Nobody compiles it."""
    return h


@helper
def goes_on(h: int, place: int) -> None:
    """Call it for a handler."""
    plain(scratchpad(h, 0, np.int64), place)


def directly(h):
    plain(scratchpad(h, 0, np.int64), 9)


def by_a_helper(h):
    goes_on(h, 9)


def flat(h):
    scratchpad(h, 0, np.int64).flat[9] = 3


def by_name(h):
    getattr(scratchpad(h, 0, np.int64), "flat")[9] = 3  # noqa: B009


def strided(h):
    as_strided(scratchpad(h, 0, np.int64), (1000,), (8,))[500] = 3


def strided_far(h):
    np.lib.stride_tricks.as_strided(scratchpad(h, 0, np.int64), (1000,), (8,))[500] = 3


def pointed(h):
    carray(scratchpad(h, 0, np.uint8).ctypes, 1000)[500] = 3


def in_place(h):
    operator.iadd(scratchpad(h, 0, np.int64), packet(h, np.int64)[:3])


def deleted(h):
    scratchpad(h, 0, np.int64)[:1] = np.delete(packet(h, np.int64), np.array([10**9]))[:1]


def doubled(h):
    made = np.zeros(5)
    while made.size:
        made = np.concatenate((made, made))


def repeated(h):
    scratchpad(h, 0, np.int64)[:1] = packet(h, np.int64).repeat(10**9)[:1]


def random(h):
    scratchpad(h, 0, np.float64)[0] = np.random.random()


def another(h):
    lock(h + 8, 0)


def renamed(h):
    take = lock
    take(h, 0)


def moved(h):
    h += 8
    lock(h, 0)


def python_called(h):
    python(h)


def unknown(h):
    nowhere(h)  # type: ignore[name-defined]  # noqa: F821


def prints(h):
    print(tag(h))


def backwards(h):
    for i in reversed(range(3)):
        charge(h, alu=i)


def comprehends(h):
    scratchpad(h, 0, np.int64)[0] = len([i for i in range(4)])


def generates(h):
    scratchpad(h, 0, np.int64)[0] = sum(i for i in range(4))


def within(h):
    def inner(x):
        return x + 1

    charge(h, alu=inner(1))


def shortly(h):
    charge(h, alu=(lambda x: x + 1)(1))


def tries(h):
    try:
        lock(h, 0)
    except ValueError:
        lock(h, 1)


def matches(h):
    match tag(h):
        case 0:
            lock(h, 0)


def formats(h):
    raise ValueError(f"not {tag(h)}")


def stars(h):
    lock(*(h, 0))


def lists(h):
    made = [1]
    made.append(2)


def texts(h):
    made = "a" * 10**9
    charge(h, alu=len(made))


def keeps(h):
    turns = enumerate(packet(h, np.int8))
    for i, _ in turns:
        charge(h, alu=i)


def binds(h):
    if (first := packet(h, np.int8)[0]) > 0:
        charge(h, alu=first)


def goes_over(h):
    for each in tag(h):
        charge(h, alu=each)


def wrongly(h):
    charge(h, alu=1, foo=3)


def with_a_text(h):
    yield_core(h)
    lock(h, (tag(h), 3))


def on_a_row(h):
    atomic_add(h, packet(h, np.int64).reshape(4, -1), 1, 1)


def unpriced(h):
    charge_elements(h, PAIR, 1)


def renamed_ufunc(h):
    add = np.add
    add(packet(h, np.int64), 1, scratchpad(h, 0, np.int64))


REFUSED = [
    (unpriced, "no price for elements of Record"),
    (renamed_ufunc, "add is a variable; functions are called by their own names"),
    (on_a_row, "an atomic is on an element of a view of numbers with one axis"),
    (directly, "plain is compiled by numba alone: make it a helper"),
    (by_a_helper, "its helper goes_on .*: plain is compiled by numba alone: make it a helper"),
    (flat, "no bounds are checked in '.flat'"),
    (by_name, "no texts in a handler"),
    (strided, "no bounds are checked in what 'as_strided' returns"),
    (strided_far, "no bounds are checked in what 'np.lib.stride_tricks.as_strided' returns"),
    (pointed, "no bounds are checked in '.ctypes'"),
    (in_place, "handlers do not call 'operator.iadd'"),
    (deleted, "handlers do not call 'np.delete'"),
    (doubled, "handlers do not call 'np.concatenate'"),
    (repeated, "handlers call no '.repeat'"),
    (random, "handlers do not call 'np.random.random'"),
    (another, "the first argument of 'lock' is the core"),
    (renamed, "take is a variable"),
    (moved, "its first argument is the core it runs on"),
    (python_called, "'python' is plain Python: make it a helper"),
    (unknown, "nothing is called 'nowhere'"),
    (prints, "no 'print'"),
    (backwards, "no 'reversed'"),
    (comprehends, r"'\[i for i in range\(4\)\]': no comprehensions"),
    (generates, "no generators"),
    (within, r"'def inner\(x\):': no functions within a handler; make it a helper"),
    (shortly, "functions are called by their own names"),
    (tries, "'try:': no try in a handler"),
    (matches, r"'match tag\(h\):': no match in a handler; write if and elif"),
    (formats, "no f-strings"),
    (stars, "no arguments or targets with a star"),
    (lists, r"'\[1\]': no lists"),
    (texts, "no texts in a handler"),
    (keeps, "'enumerate' is for loops to go over"),
    (binds, r"'first := packet\(h, np.int8\)\[0\]': no ':='"),
    (goes_over, "no loops over int64"),
    (wrongly, "unexpected keyword argument 'foo'"),
    (with_a_text, r"does not compile: "),
]


@pytest.mark.parametrize(("function", "text"), REFUSED, ids=lambda each: getattr(each, "__name__", ""))
def test_what_no_handler_can_be_is_refused_in_a_line(function: Any, text: str) -> None:
    with pytest.raises(HandlerError, match=rf"^{function.__name__}[ ,:].*{text}") as refused:
        Machine().context("bad", payload=handler(function))
    assert "\n" not in str(refused.value)
    assert "(test_subset.py:" in str(refused.value)
