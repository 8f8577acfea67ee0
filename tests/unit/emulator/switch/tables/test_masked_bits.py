"""The two ways to change bit rows, numpy's and the compiled one, leave the same bits."""

from __future__ import annotations

import numpy as np

from emulator.switch.tables import masked_bits
from emulator.switch.tables.masked_bits import CHUNK_DTYPE

BLOCKS_AT, WORDS = 2, 70


def chunks(random: np.random.Generator) -> np.ndarray:
    """Of 4 bits under a mask, and of 3 bits in a range."""
    mask = int(random.integers(16))
    low, high = sorted(int(n) for n in random.integers(8, size=2))
    return np.array([(0, 4, 0, int(random.integers(16)) & mask, mask), (16, 3, 1, low, high)], CHUNK_DTYPE)


def test_numpy_and_the_compiled_loops_agree() -> None:
    random = np.random.default_rng(7)
    plain = np.zeros((24, BLOCKS_AT + WORDS), np.uint64)
    compiled = plain.copy()
    for step in range(300):
        word, place = int(random.integers(3)) * 32, int(random.integers(64))
        match step % 4:
            case 0 | 1:
                new = chunks(random)
                masked_bits._plain_insert_bit(plain, BLOCKS_AT, word, place, new)
                masked_bits._compiled_insert_bit(compiled, BLOCKS_AT, word, place, new)
            case 2:
                masked_bits._plain_remove_bit(plain, BLOCKS_AT, word, place)
                masked_bits._compiled_remove_bit(compiled, BLOCKS_AT, word, place)
            case 3:
                masked_bits._plain_move_half(plain, BLOCKS_AT, word, word + 5)
                masked_bits._compiled_move_half(compiled, BLOCKS_AT, word, word + 5)
        assert np.array_equal(plain, compiled), step
    assert plain.any()
