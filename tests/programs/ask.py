"""One question to a piece of P4: numbers in, numbers out, on both engines."""

from __future__ import annotations

from tests.programs.run import Piece, around


def ask(apply: str, *values: int, rest: bytes = b"", **pieces: str) -> tuple[int, ...]:
    """p, q, r and s after the piece ran on the values; ``pieces`` are those of `around`."""
    return Piece(around(apply, **pieces))(*values, rest=rest)
