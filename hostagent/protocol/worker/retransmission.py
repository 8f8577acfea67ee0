"""When a chunk in flight is retransmitted.

- Lost, by a result's report of the slots before its own: sent before it, and absent from the aggregator, or its result
  has been sent. What is present is WAITED.
- Overtaken, as in RACK (RFC 8985): something sent later has been answered, and the round trip that took has passed.
  FRESH chunks are overtaken by the result of a chunk *first* sent later: a result may be due to another rank, so the
  last of several transmissions proves nothing. REPEATED ones also by the answer to a later retransmission, for each is
  answered, by a result or a `waiting`; and FRESH ones after a silence where the congestion window is small, so that
  those that wait for other ranks do not fill it.
  WAITED ones, which the aggregator has, get three round trips since that was known, and are due again while results
  come.
  Where an overflow server has some of the slots, the switch's answers say little of the server's, which come by a
  longer path: they overtake after LONGER_PATHS of its round trips, and are no samples.
- After a silence of the time-out: two probes, the lowest unfinished chunk and the one sent last (as RFC 8985's TLP and
  RFC 9002's PTO). What their results overtake follows. Doubled by every second silence (a probe and its answer are lost
  easily, too), and ended by any result.

Both are DUE. What is lost goes at once, before new chunks. After them goes, at once, what others need the result of
soon. Else it has patience: the rank that it really waits for may recover it, and what is merely queued comes.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from hostagent.protocol.wire import NEARBY_PRESENT, NEARBY_SLOTS, NEARBY_UNKNOWN
from hostagent.protocol.worker.congestion import (
    is_lossy,
    may_send,
    note_progress,
    note_round_trip,
    reset_congestion,
)
from hostagent.protocol.worker.latency import count_latency
from hostagent.protocol.worker.lists import NONE, chunk_in, chunk_of, head, move_to, tail
from hostagent.protocol.worker.records import DUE, FRESH, LATENCY_AT, NO_LIST, REPEATED, RUNNING, WAITED, core_at
from hostagent.protocol.worker.round_trip import take_sample, timeout_ns

SMALLEST_REORDERING_NS = 50_000
"""Reordering that is no sign of loss however short the round trip: a batch of frames is handled in this time."""
REORDERING_SHIFT = 2
"""Nor is that of a quarter of the shortest round trip (RFC 8985, section 6.2)."""
EVERY_RESULT = 1 << 16
"""``late_share`` where every result is late."""
LATE_SHIFT = 6
"""The share of late results is smoothed over about 64 of them."""
LONGER_PATHS = 4
"""Round trips of the longer path, of which the queue may grow meanwhile, after which a result of the shorter one says
that a chunk is lost."""
NEVER_NS = 2**62


@njit
def reset_retransmission(core: Any, now_ns: int) -> None:
    """Forget what was under way, not what was learnt of the path: a new epoch."""
    core.backoff = 0
    core.result_ns = 0
    core.answered_ns = 0
    core.answered_number = 0
    core.answered_rtt_ns = 0
    core.repeated_ns = 0
    core.repeated_rtt_ns = 0
    core.shorter_answered_ns = 0
    core.has_reports = 0
    core.timer_began_ns = now_ns
    if core.smoothed_rtt_ns == 0:
        core.late_share = EVERY_RESULT // 2
    reset_congestion(core, now_ns)


@njit
def is_urgent(core: Any, number: int) -> Any:
    """Does a missing result hold up others, or will it soon? A window beyond it has been sent, or all there is."""
    return core.top > number + core.window or core.top >= core.numbered_end


@njit
def are_most_late(core: Any) -> Any:
    """Have most of the last results come of chunks that were overtaken before?

    Then about every chunk loses a contribution (1 - (1 - p)^(n + 1) is 1/2 at 13 % loss for n = 4): most repeats are
    needed, and turns would delay every chain of chunks.
    """
    return core.late_share > EVERY_RESULT // 2


@njit
def reordering_ns(core: Any) -> Any:
    """How much later than something sent later an answer may come before its chunk counts as lost."""
    return max(core.least_rtt_ns >> REORDERING_SHIFT, SMALLEST_REORDERING_NS)


@njit
def is_on_shorter_path(core: Any, chunk: Any) -> Any:
    """Does the chunk's result come by a shorter path than those of other slots?"""
    return chunk.number & (core.window - 1) < core.shorter_path_slots


@njit
def note_answer(core: Any, chunk: Any, is_waiting: bool, now_ns: int) -> None:
    """A chunk in flight has been answered, and is still in its list: a sample, and what it proves of others.

    A ``waiting`` after two tries answers the second, and is a sample of the path alone: no other rank delays it.
    """
    if is_on_shorter_path(core, chunk):
        return
    rtt_ns = now_ns - chunk.sent_ns
    if chunk.list == FRESH or (is_waiting and chunk.tries == 2):
        take_sample(core, rtt_ns, now_ns)
        note_round_trip(core, rtt_ns)
    if not is_waiting:
        late = EVERY_RESULT if chunk.list != FRESH else 0
        core.late_share += (late - core.late_share) >> LATE_SHIFT
    is_answer = is_waiting or rtt_ns >= core.least_rtt_ns > 0
    if chunk.tries > 1 and is_answer and chunk.sent_ns >= core.repeated_ns:
        core.repeated_ns = chunk.sent_ns
        core.repeated_rtt_ns = rtt_ns


@njit
def note_result(core: Any, chunk: Any, now_ns: int) -> None:
    """A chunk has its result: progress."""
    count_latency(core.address + LATENCY_AT, now_ns - chunk.first_sent_ns)
    core.backoff = 0
    core.result_ns = now_ns
    if is_on_shorter_path(core, chunk):
        core.shorter_answered_ns = max(core.shorter_answered_ns, chunk.first_sent_ns)
        return
    note_progress(core, chunk.first_sent_ns, now_ns)
    is_later = chunk.first_sent_ns == core.answered_ns and chunk.number > core.answered_number
    if chunk.first_sent_ns > core.answered_ns or is_later:
        core.answered_ns = chunk.first_sent_ns
        core.answered_number = chunk.number
        core.answered_rtt_ns = now_ns - chunk.first_sent_ns


@njit
def is_overtaken(core: Any, chunk: Any) -> Any:
    """Has the result come of a chunk that was first sent after this one was last sent? Of the same moment what is lost
    goes first, then new chunks in order."""
    is_earlier = chunk.number < core.answered_number or chunk.tries > 1
    return chunk.sent_ns < core.answered_ns or (chunk.sent_ns == core.answered_ns and is_earlier)


@njit
def note_nearby(core: Any, chunk: Any, nearby: int, now_ns: int) -> None:
    """A result's report of the slots before its own: what is present waits for others, what is absent by now is lost.

    In a slot at most one chunk is in flight, as each waits for the result of the one before.
    """
    if nearby == 0:
        return
    core.has_reports = 1
    if chunk.number <= core.floor and core.top <= core.floor + core.window:
        return
    for place in range(NEARBY_SLOTS):
        known = nearby >> (2 * place) & 3
        distance = (chunk.number - (1 << place) - core.floor) & (core.window - 1)
        newest = core.top - 1
        number = newest - ((newest - core.floor - distance) & (core.window - 1))
        while number >= core.floor and not is_in_flight(core, number):
            number -= core.window
        if number < core.floor or known == NEARBY_UNKNOWN:
            continue
        other = chunk_of(core, number)
        if known == NEARBY_PRESENT:
            other.is_lost = 0
            other.reported_ns = now_ns
            if other.list != WAITED:
                move_to(core, number & (core.ring - 1), WAITED)
        elif is_overtaken(core, other):
            other.is_lost = 1
            move_to(core, number & (core.ring - 1), DUE)


@njit
def allowance_ns(core: Any) -> Any:
    """How much later than one that has overtaken it a result may come: where results report nearby slots, time for such
    a report. Not where most are late, nor beside TCP flows, which would take the share of the rank that waits."""
    has_reports = core.has_reports and core.shorter_path_slots == 0 and core.marked_round == 0
    return core.smoothed_rtt_ns if has_reports and not are_most_late(core) else reordering_ns(core)


@njit
def overtaken_ns(core: Any, chunk: Any, which: int) -> Any:
    """When a chunk counts as lost because something sent later has been answered; NEVER_NS: nothing has."""
    if which == WAITED:
        known_ns = chunk.sent_ns if are_most_late(core) else max(chunk.sent_ns, chunk.reported_ns)
        has_progress = known_ns < core.answered_ns or core.result_ns > known_ns + core.smoothed_rtt_ns
        return known_ns + 3 * core.smoothed_rtt_ns if has_progress else NEVER_NS
    if is_overtaken(core, chunk):
        return chunk.sent_ns + core.answered_rtt_ns + allowance_ns(core)
    is_stalled = core.backoff > 0 and core.congestion_window < core.window
    if (which == REPEATED or is_stalled) and chunk.sent_ns < core.repeated_ns:
        return chunk.sent_ns + core.repeated_rtt_ns + reordering_ns(core)
    if chunk.sent_ns < core.shorter_answered_ns and core.answered_rtt_ns > 0:
        return chunk.sent_ns + LONGER_PATHS * core.answered_rtt_ns + reordering_ns(core)
    return NEVER_NS


@njit
def note_overtaken(core: Any, now_ns: int) -> None:
    """What must have been answered by now, had it not been lost, is due again."""
    for which in (FRESH, REPEATED, WAITED):
        place = head(core, which)
        while place != NONE and overtaken_ns(core, chunk_in(core, place), which) <= now_ns:
            move_to(core, place, DUE)
            place = head(core, which)


@njit
def patient_until_ns(core: Any, chunk: Any) -> Any:
    """How long an overtaken chunk waits whether another rank recovers it. Ranks take turns: one may be enough.

    A turn is as long as a retransmission and its result take, so that the next rank knows (Floyd et al., A Reliable
    Multicast Framework, SIGCOMM 1995: timers at random there; the chunk's number serves as the random number here).

    There is no time to lose where the missing result holds up others, and no use in turns where most are late.
    """
    if chunk.is_lost or core.in_flight == 0 or is_urgent(core, chunk.number) or are_most_late(core):
        return 0
    turn = (core.child + chunk.number) % core.workers
    return chunk.sent_ns + (1 + turn) * 5 * core.smoothed_rtt_ns // 4


@njit
def newest_sent(core: Any) -> Any:
    """Place of the chunk in flight that was sent last, NONE if nothing is."""
    place = tail(core, FRESH)
    other = tail(core, REPEATED)
    if place == NONE or (other != NONE and chunk_in(core, other).sent_ns > chunk_in(core, place).sent_ns):
        return other
    return place


@njit
def timer_ns(core: Any) -> Any:
    """When the silence has been too long; NEVER_NS while nothing is awaited.

    The least time-out is for late processes. Where frames are lost it is many times what a lost last frame should cost.
    """
    place = newest_sent(core)
    if place == NONE:
        place = tail(core, WAITED)
    if place == NONE:
        return NEVER_NS
    silence_ns = timeout_ns(core, core.backoff // 2)
    if is_lossy(core) and core.rto_ns == core.minimum_rto_ns:
        estimate_ns = core.smoothed_rtt_ns + max(4 * core.rtt_variance_ns, core.smoothed_rtt_ns)
        silence_ns = min(silence_ns, (estimate_ns + 2 * reordering_ns(core)) << (core.backoff // 2))
    return max(chunk_in(core, place).sent_ns, core.timer_began_ns) + silence_ns


@njit
def is_in_flight(core: Any, number: int) -> Any:
    """Does the chunk wait for its result?"""
    chunk = chunk_of(core, number)
    return chunk.number == number and chunk.list != NO_LIST


@njit
def core_next_timer(address: int) -> Any:
    """When ``core_poll_transmit`` must be called at the latest, in the clock of ``now_ns``; NEVER_NS for never.

    A frame that waits for its memory or for room on the port is not in it: the caller knows when it has made room.
    """
    core = core_at(address)
    if core.state != RUNNING:
        return NEVER_NS
    when_ns = timer_ns(core)
    for which in (FRESH, REPEATED, WAITED):
        place = head(core, which)
        if place != NONE:
            when_ns = min(when_ns, overtaken_ns(core, chunk_in(core, place), which))
    place = head(core, DUE)
    while place != NONE:
        chunk = chunk_in(core, place)
        patient_ns = patient_until_ns(core, chunk)
        if patient_ns > 0 and may_send(core, chunk.number):
            when_ns = min(when_ns, patient_ns)
        place = chunk.next
    return when_ns
