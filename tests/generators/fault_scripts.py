"""Random scripts of faults (``emulator.network.faults``) of all kinds that end: every sum must come out right."""

from __future__ import annotations

import random
from collections.abc import Sequence

FOR_LINKS = (
    "impair: {link}, loss: 30%",
    "impair: {link}, duplicate: 30%",
    "impair: {link}, reorder: 40%, reorder_by: 20ms",
    "impair: {link}, corrupt: 5%",
    "impair: {link}, delay: 30ms, jitter: 5ms",
    "impair: {link}, rate: 1Mbit",
    "down: {link}",
    "partition: [{host}]",
)
FOR_PROCESSES = ("slow: {host}, to: 30%", "restart: {switch}", "restart: controller")


def draw(
    rng: random.Random,
    hosts: int,
    *,
    first_ms: int,
    last_ms: int,
    count: int,
    longest_ms: int,
    kinds: Sequence[str] = FOR_LINKS,
) -> str:
    """Text of a script for a star of so many hosts. Faults begin between ``first_ms`` and ``last_ms``, overlap, and
    end by ``longest_ms`` after they begin."""
    lines = [f"seed: {rng.randrange(1, 1000)}", "faults:"]
    for _ in range(count):
        host = f"h{rng.randrange(hosts)}"
        link = rng.choice((f"{host}-s0", f"{host}->s0", f"s0->{host}"))
        fault = rng.choice(kinds).format(link=link, host=host, switch="s0")
        until = f", for: {rng.randrange(1, longest_ms)}ms"
        lines.append(f"- {{at: {rng.randrange(first_ms, last_ms)}ms, {fault}{until}}}")
    return "\n".join(lines)
