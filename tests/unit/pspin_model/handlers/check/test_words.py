"""Integers of handlers wrap as in the 32-bit registers of the machine, by C's rules; faults of indices and divisions
say where and by how much. With both costs, and in operators of reductions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pspin_model.flare.combine import compile_operator, compiled_rows
from pspin_model.handlers import handler, packet, scratchpad, tag
from pspin_model.handlers.errors import HandlerError
from pspin_model.machine import FLARE_COSTS, Machine, MachineConfig

KNUTH = 2654435761
FILE = Path(__file__).name
SHIFT = 4 * 4
PAD = 256
"""Bytes of a cluster's scratchpad."""


def hashes(h: int) -> None:
    """Of each word, hashes and remainders whose high bits matter; results to the scratchpad."""
    words, signed = packet(h, np.uint32), packet(h, np.int32)
    narrow, short = packet(h, np.uint8), packet(h, np.int16)
    out = scratchpad(h, 0, np.uint32)
    out[0] = (words[0] * np.uint32(2654435761)) >> np.uint32(16)
    out[1] = (words[1] * KNUTH) >> SHIFT
    value = words[2]
    value *= 2654435761
    value ^= value >> 15
    out[2] = value % 1000
    out[3] = (signed[3] * 65536 * 3) >> 4
    out[4] = (-words[4]) >> 1
    out[5] = (~words[5]) >> 1
    out[6] = (words[6] ** 3) >> 3
    out[7] = ((words[7] + 4294967295) // 3) * 2
    out[8] = words[8] << 33
    out[9] = (narrow[0] * 16777216 * 2) // 3
    out[10] = (short[1] - words[9]) // 7
    out[11] = (np.int64(words[10]) * 65536) >> 20
    out[12] = (words[11] & 65535) * (words[12] | 1) // (words[13] % 5 + 1)


def expected(words: Any) -> list[int]:
    """The same in Python's integers."""
    w, bits = [int(each) for each in words], 0xFFFFFFFF

    def signed(value: int) -> int:
        return (value & bits) - ((value & 0x80000000) << 1)

    value = w[2] * KNUTH & bits
    value ^= value >> 15
    short = int(words.view(np.int16)[1])
    return [
        (w[0] * KNUTH & bits) >> 16,
        (w[1] * KNUTH & bits) >> 16,
        value % 1000,
        (signed(signed(signed(w[3]) * 65536) * 3) >> 4) & bits,
        (-w[4] & bits) >> 1,
        (~w[5] & bits) >> 1,
        (w[6] ** 3 & bits) >> 3,
        ((w[7] + 4294967295) & bits) // 3 * 2 & bits,
        w[8] << 1 & bits,
        signed(signed((w[0] & 255) * 16777216) * 2) // 3 & bits,
        ((short - w[9]) & bits) // 7,
        (w[10] * 65536 >> 20) & bits,
        ((w[11] & 65535) * (w[12] | 1) & bits) // (w[13] % 5 + 1),
    ]


@pytest.mark.parametrize("cost", ["declared", "derived"])
def test_integers_of_up_to_32_bits_wrap_as_the_machines(cost: Any) -> None:
    machine = Machine(MachineConfig(clusters=1), costs=FLARE_COSTS)
    context = machine.context("hashes", payload=handler(cost=cost)(hashes), scratchpad_bytes=PAD)
    random = np.random.default_rng(5)
    for round_ in range(20):
        words = random.integers(0, 1 << 32, 16, np.uint32)
        machine.inject(context, messages=[0], data=words.view(np.uint8)[None], at=[round_ * 100_000])
        assert machine.run().faults == []
        assert context.scratchpads[0].view(np.uint32)[:13].tolist() == expected(words)


def product_with_a_counter(h: int) -> None:
    """A product whose high bits depend on a width that nobody named."""
    words = packet(h, np.uint32)
    for i in range(words.size):
        words[i] = (words[i] * i) >> 16


def sum_from_a_constant(h: int) -> None:
    """The same, by a variable that begins as a constant."""
    value = 0
    words = packet(h, np.uint32)
    for each in words:
        value = (value + each) * each
    words[0] = value % 64


@pytest.mark.parametrize("cost", ["declared", "derived"])
@pytest.mark.parametrize("function", [product_with_a_counter, sum_from_a_constant])
def test_a_product_of_a_word_and_an_integer_of_64_bits_is_refused(function: Any, cost: Any) -> None:
    with pytest.raises(HandlerError, match=rf"{function.__name__}.*int64.*np.uint32\(\.\.\)"):
        Machine(MachineConfig(clusters=1)).context("refused", payload=handler(cost=cost)(function))


def misses(h: int) -> None:
    """What the packet's tag says."""
    what = tag(h)
    words, grid = packet(h, np.uint32), packet(h, np.uint8).reshape(8, 8)
    if what == 0:
        words[0] = words[what + 99]
    elif what == 1:
        words[np.int32(what - 18)] = 1
    elif what == 2:
        words[16] = 1
    elif what == 3:
        grid[7, what + 5] = 1
    elif what == 4:
        words[1] = words[0] // (words[0] - words[0])
    elif what == 5:
        rest = words[0]
        rest %= what - 5
        words[1] = rest
    elif what == 6:
        words[what + 10] += 1
    elif what == 7:
        words[1] = 1 / (what - 7)
    words[-1] = 5  # inside


FIRST = misses.__code__.co_firstlineno
EXPECTED = {
    0: f"IndexError: index 99 is out of bounds of 16 elements ({FILE}:{FIRST + 5})",
    1: f"IndexError: index -17 is out of bounds of 16 elements ({FILE}:{FIRST + 7})",
    2: f"IndexError: index 16 is out of bounds of 16 elements ({FILE}:{FIRST + 9})",
    3: f"IndexError: index 8 is out of bounds of 8 elements ({FILE}:{FIRST + 11})",
    4: f"ZeroDivisionError: division by zero ({FILE}:{FIRST + 13})",
    5: f"ZeroDivisionError: division by zero ({FILE}:{FIRST + 16})",
    6: f"IndexError: index 16 is out of bounds of 16 elements ({FILE}:{FIRST + 19})",
    7: f"ZeroDivisionError: division by zero ({FILE}:{FIRST + 21})",
}


def test_a_fault_says_index_size_and_line() -> None:
    machine = Machine(MachineConfig(clusters=1), costs=FLARE_COSTS)
    context = machine.context("misses", payload=handler(misses))
    tags = [*EXPECTED, 8]
    machine.inject(context, range(len(tags)), np.zeros((len(tags), 64), np.uint8), [0] * len(tags), tags=tags)
    faults = {fault.message: fault.text for fault in machine.run().faults}
    assert faults == EXPECTED


@handler(cost="derived")
def misses_derived(h: int) -> None:
    """The same, charged."""
    words = packet(h, np.uint32)
    if tag(h) == 0:
        words[0] = words[tag(h) + 99]
    elif tag(h) == 1:
        words[16] += 1
    elif tag(h) == 2:
        words[0] = words[0] % words[1]


def test_so_does_one_with_derived_costs() -> None:
    machine = Machine(MachineConfig(clusters=1), costs=FLARE_COSTS)
    context = machine.context("misses", payload=misses_derived)
    machine.inject(context, range(3), np.zeros((3, 64), np.uint8), [0] * 3, tags=range(3))
    texts = {fault.message: fault.text for fault in machine.run().faults}
    assert re.fullmatch(rf"IndexError: index 99 is out of bounds of 16 elements \({FILE}:\d+\)", texts[0])
    assert re.fullmatch(rf"IndexError: index 16 is out of bounds of 16 elements \({FILE}:\d+\)", texts[1])
    assert re.fullmatch(rf"ZeroDivisionError: division by zero \({FILE}:\d+\)", texts[2])


def mixed(a: Any, b: Any) -> Any:
    """An operator whose high bits matter."""
    return ((a ^ b) * KNUTH) >> 7


def test_operators_of_reductions_wrap_too() -> None:
    dtype = np.dtype(np.uint32)
    combined = compiled_rows(compile_operator(mixed, dtype, "mixed"), "mixed")
    left, right = np.random.default_rng(3).integers(0, 1 << 32, (2, 50), np.uint32)
    with np.errstate(over="ignore"):
        expected_row = ((left ^ right) * np.uint32(KNUTH)) >> np.uint32(7)
    assert combined.combine(left, right).tolist() == expected_row.tolist()
