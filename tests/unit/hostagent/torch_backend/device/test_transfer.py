"""Pieces of large tensors."""

from __future__ import annotations

import pytest

from hostagent.torch_backend.device.transfer import PIECE_BYTES, pieces_of


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("multiple", [1, 64, 1000, 2048])
@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES // 2, PIECE_BYTES, 2 * PIECE_BYTES + 3, 10 * PIECE_BYTES - 8])
def test_pieces_cover_the_tensor_at_multiples_and_are_of_like_size(size: int, multiple: int, width: int) -> None:
    elements = size // width
    pieces = pieces_of(elements, width, multiple)
    assert [first for first, _ in pieces] == [0, *(end for _, end in pieces[:-1])]
    assert pieces[-1][1] == elements
    assert all(first % multiple == 0 for first, _ in pieces)
    if len(pieces) > 1:
        largest = PIECE_BYTES // width
        assert all(largest / 2 - multiple <= end - first <= 1.5 * largest + multiple for first, end in pieces)
