"""Whether anything listens at a controller's address, before a session waits for it."""

from __future__ import annotations

import socket
import time

WITHIN_S = 1.8
"""Longer than a controller on this machine needs to listen again after it was killed and started is not waited for:
a session that has begun mends itself, one that begins should say at once that nobody is there."""

LOOK_AGAIN_S = 0.1
FIRST_PATIENCE_S = 0.2
"""Doubled with each attempt: a new one sends another SYN, the kernel repeats a lost one only after 1 s (RFC 6298)."""


class Unreachable(Exception):
    """Nothing listens there; the text says so, and what to do."""


def check_reachable(address: str, within_s: float = WITHIN_S) -> None:
    """Returns once something accepts connections at HOST:PORT. Raises Unreachable after ``within_s``."""
    host, _, port = address.rpartition(":")
    end_s = time.monotonic() + within_s
    patience_s = FIRST_PATIENCE_S
    while True:
        try:
            socket.create_connection(
                (host.strip("[]"), int(port)), max(0.1, min(patience_s, end_s - time.monotonic()))
            ).close()
            return
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
        patience_s *= 2
        if time.monotonic() + LOOK_AGAIN_S >= end_s:
            raise Unreachable(
                f"no controller answers at {address}: {why}. Is `netsum controller` running there, and reachable?"
            )
        time.sleep(LOOK_AGAIN_S)
