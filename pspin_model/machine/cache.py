"""What slows a handler in addition to its instructions: cold lines of the instruction cache and busy banks of L1."""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from pspin_model.machine.config import index_of
from pspin_model.machine.events import E_FETCH, E_LINES, E_RESUME, push
from pspin_model.machine.fifos import arbiter_rank
from pspin_model.machine.ingest import beats
from pspin_model.machine.layout import (
    CORE_RUNNING,
    G_CODE_FREE,
    H_ACCESSES,
    H_ASKED,
    H_CHARGED,
    H_CLUSTER,
    H_CONTEXT,
    H_FETCHED,
    H_FIRST_LINE,
    H_KIND,
    H_LAST_LINE,
    H_LINES,
    H_OP,
    H_PACKET_BYTES,
    H_PLACE,
    H_SEGMENT,
    H_SEGMENT_END,
    H_STATE,
    H_TOTAL_INSTRUCTIONS,
    L_BUSY,
    L_CODE_AT,
    L_CODE_TURN,
    OP_END,
    X_LINE,
    X_LINES,
    State,
)
from pspin_model.machine.state import row_at

C_MISS = index_of("cache_miss")
C_RETURN = index_of("return_cycles")
C_REQUEST = index_of("cache_request")
C_LINE_PORT = index_of("cache_port")
C_LINES = index_of("cache_lines")
C_LINE_BYTES = index_of("cache_line_bytes")
C_SUPERBANKS = index_of("superbanks")
C_BANK = index_of("bank_permille")
C_CORES = index_of("cores")
C_HEADER = index_of("header_accesses")
C_HEADER_BANK = index_of("header_bank_permille")
C_CORE = index_of("core_permille")
C_FEW = index_of("few_accesses")

INSTRUCTION_BYTES = 4
DRAW_FACTOR, DRAW_STEP, DRAW_MASK = 6364136223846793005, 1442695040888963407, (1 << 63) - 1
"""Constants of Knuth's linear congruential generator."""


@njit
def _fill(s: State, now: int, cluster: int, line: int) -> int:
    """A core's request for a line comes to its cluster's unit for lines; returns when the core has it.

    The unit joins it to one for the same line that is under way. But a request that comes as the line does must look
    again, and for one that comes later, though its core missed the line, the line is brought once more. [src]
    """
    tags, place = row_at(s.tags, cluster), line % s.conf[C_LINES]
    last = s.refills[cluster, place]
    if tags[place] == line and now <= last + 1:
        return int(last + 1 + max(0, now - last + 1))
    start = max(now, s.g[G_CODE_FREE])
    s.g[G_CODE_FREE] = start + s.conf[C_LINE_PORT]
    landed = start + s.conf[C_MISS] - s.conf[C_REQUEST]
    s.refills[cluster, place] = landed
    if tags[place] != line:
        tags[place] = line
        s.lines[cluster, place] = landed
    return int(landed + 1)


@njit
def begin_fetch(s: State, core: int) -> None:
    """Have a core's segment come to its lines of code, and have it end when those its cluster's cache lacks are there.

    A handler's code is passed once from its first line to its last as instructions go by; turns of a loop find their
    lines.
    """
    h = row_at(s.cores, core)
    context, kind = row_at(s.contexts, h[H_CONTEXT]), h[H_KIND]
    last = context[X_LINES + kind]
    if h[H_OP] != OP_END:
        line_bytes = s.conf[C_LINE_BYTES]
        last = min(last, (h[H_TOTAL_INSTRUCTIONS] * INSTRUCTION_BYTES + line_bytes // 2) // line_bytes)
    h[H_FIRST_LINE] = h[H_LINES]
    h[H_LAST_LINE] = max(last, h[H_LINES])
    fetch(s, h[H_SEGMENT], core)


@njit
def fetch(s: State, now: int, core: int) -> None:
    """Pass a segment's lines of code until it misses one, which the core then asks for."""
    h = row_at(s.cores, core)
    cluster = h[H_CLUSTER]
    first_line = s.contexts[h[H_CONTEXT], X_LINE + h[H_KIND]]
    tags, lines = row_at(s.tags, cluster), row_at(s.lines, cluster)
    per_line = s.conf[C_LINE_BYTES] // INSTRUCTION_BYTES
    while h[H_LINES] < h[H_LAST_LINE]:
        line = first_line + h[H_LINES]
        place = line % s.conf[C_LINES]
        passed = min((h[H_LINES] - h[H_FIRST_LINE]) * per_line, h[H_CHARGED])
        if h[H_OP] == OP_END and h[H_FIRST_LINE] < h[H_LINES] == h[H_LAST_LINE] - 1:
            passed = max(0, h[H_CHARGED] - s.conf[C_RETURN])  # the line that the handler returns to
        at = h[H_SEGMENT] + h[H_FETCHED] + passed
        if tags[place] != line or lines[place] > at:
            if at > now:
                push(s, at, E_FETCH, core)
                return
            h[H_ASKED] = at
            _wake_unit(s, cluster, at + s.conf[C_REQUEST])
            return
        h[H_LINES] += 1
    h[H_SEGMENT_END] = h[H_SEGMENT] + h[H_CHARGED] + h[H_FETCHED]
    push(s, h[H_SEGMENT_END], E_RESUME, core)


@njit
def _wake_unit(s: State, cluster: int, at: int) -> None:
    """Have a cluster's unit for lines look for a core's request."""
    c = row_at(s.clusters, cluster)
    if c[L_CODE_AT] < 0 or at < c[L_CODE_AT]:
        c[L_CODE_AT] = at
        push(s, at, E_LINES, cluster)


@njit
def serve_lines(s: State, now: int, cluster: int) -> None:
    """Take one core's request for a line. The turn goes on by one with each, whoever asks. [src]"""
    c = row_at(s.clusters, cluster)
    if c[L_CODE_AT] != now:
        return
    c[L_CODE_AT] = -1
    cores = s.conf[C_CORES]
    best, best_rank = -1, 0
    for core in range(cluster * cores, (cluster + 1) * cores):
        if s.cores[core, H_ASKED] < 0:
            continue
        at = s.cores[core, H_ASKED] + s.conf[C_REQUEST]
        if at > now:
            _wake_unit(s, cluster, at)
            continue
        if best >= 0:
            _wake_unit(s, cluster, now + 1)
        rank = arbiter_rank(s.cores[core, H_PLACE], c[L_CODE_TURN], cores)
        if best < 0 or rank < best_rank:
            best, best_rank = core, rank
    if best < 0:
        return
    c[L_CODE_TURN] += 1
    h = row_at(s.cores, best)
    line = s.contexts[h[H_CONTEXT], X_LINE + h[H_KIND]] + h[H_LINES]
    h[H_FETCHED] += _fill(s, now, cluster, line) - h[H_ASKED] - 1
    h[H_LINES] += 1
    h[H_ASKED] = -1
    fetch(s, now, best)


@njit
def _header_waits(s: State, core: int, now: int, used: int) -> int:
    """Thousandths of a cycle by which the segment ending now is longer since cores turn headers round together.

    The headers of all packets of a length are at as many banks as that length leaves: at one if it is a multiple of all
    superbanks' beats. There cores take turns with each other and with ``used`` beats of copies.
    """
    h = row_at(s.cores, core)
    since, superbanks = h[H_SEGMENT], s.conf[C_SUPERBANKS]
    length = now - since
    together = length
    first = h[H_CLUSTER] * s.conf[C_CORES]
    for other in range(first, first + s.conf[C_CORES]):
        o = row_at(s.cores, other)
        if other != core and o[H_STATE] == CORE_RUNNING:
            together += max(0, min(now, o[H_SEGMENT_END]) - max(since, o[H_SEGMENT]))
    places = 1
    while places < superbanks and beats(s, h[H_PACKET_BYTES]) % (superbanks // places) != 0:
        places *= 2
    turns = together * min(h[H_ACCESSES], s.conf[C_HEADER]) * s.conf[C_HEADER_BANK] // (length * places)
    needed = turns * superbanks * length // max(1, superbanks * length - used)
    return int(max(0, needed - 1000 * length))


@njit
def _met(s: State, core: int, now: int) -> int:
    """Cycles that the few accesses of the segment ending now waited, each by itself.

    A stream of beats comes by a superbank in one cycle of as many as there are superbanks. Which one an access goes to
    follows from addresses that the model does not have, and is drawn from the cycle and the core.
    """
    h = row_at(s.cores, core)
    streams, since, superbanks = s.streams[h[H_CLUSTER]], h[H_SEGMENT], s.conf[C_SUPERBANKS]
    waited, drawn = 0, now * DRAW_FACTOR + core
    for i in range(h[H_ACCESSES]):
        drawn = (drawn * DRAW_FACTOR + DRAW_STEP) & DRAW_MASK
        at = since + (now - since) * (i + 1) // (h[H_ACCESSES] + 1)
        waited += _passes(streams, at, (drawn >> 33) % superbanks, superbanks)
    return waited


@njit
def _passes(streams: Any, at: int, superbank: int, superbanks: int) -> int:
    """Cycles from one on in which some stream has a beat at a superbank, one after the other."""
    cycles, met = -1, True
    while met:
        cycles, met = cycles + 1, False
        for i in range(streams.shape[0]):
            beat = at + cycles - streams[i, 0]
            met = met or (0 <= beat < streams[i, 1] - streams[i, 0] and beat % superbanks == superbank)
    return cycles


@njit
def bank_waits(s: State, core: int, now: int) -> int:
    """Cycles that the accesses of the segment ending now waited for L1: for beats of copies, and for other cores."""
    h = row_at(s.cores, core)
    since = h[H_SEGMENT]
    length = now - since
    if length <= 0:
        return 0
    streams = s.streams[h[H_CLUSTER]]
    used = 0
    for i in range(streams.shape[0]):
        used += max(0, min(now, streams[i, 1]) - max(since, streams[i, 0]))
    free = max(s.conf[C_SUPERBANKS] * length - used, length)
    others = s.clusters[h[H_CLUSTER], L_BUSY] - 1
    permille = h[H_ACCESSES] * (s.conf[C_BANK] * used // free + s.conf[C_CORE] * max(0, others))
    permille = max(permille, _header_waits(s, core, now, used))
    if used > 0 and 0 < h[H_ACCESSES] <= s.conf[C_FEW]:
        permille = 1000 * _met(s, core, now)
    # a core that waits for its code spreads its accesses: they wait meanwhile
    return max(0, int((permille + 500) // 1000) - int(h[H_FETCHED]))
