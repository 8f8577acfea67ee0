"""When a chunk in flight is retransmitted.

- UNANSWERED: after a round-trip estimate (RFC 6298's, with Karn's rule: only what was sent once is a sample). Rounds
  in which nothing at all is answered double it, up to 1 s; so do retransmissions that prove to be mostly spurious.
- Early, by time of sending as in RACK (RFC 8985): when the result of a chunk first sent a quarter of a round trip later
  has come. First sent: a result may be due to another rank, so the last of several transmissions proves nothing.
- WAITED: the aggregator has it, another rank is late. Retransmitted in rounds: the lowest unfinished one, and those
  that results of later chunks have overtaken, for their own results may be lost. The rounds' interval starts at an
  estimate, doubles up to 1 s, and starts afresh at any progress.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.jit import njit
from hostagent.protocol.worker.lists import NONE, chunk_in, chunk_of, head, move_to
from hostagent.protocol.worker.records import DUE, RUNNING, UNANSWERED, WAITED, core_at

FIRST_RTO_NS = 20_000_000
"""Before any sample. Ranks and a switch sharing two busy cores answer within a few scheduler slices of 3 ms."""
LARGEST_RTO_NS = 1_000_000_000
PLENTY_RTO_NS = 32_000_000
"""An estimate above this needs a path whose shortest round trip is an eighth of it: ten slices of a busy scheduler."""
LEAST_OF_SAMPLES = 16
SMALLEST_WINDOW_NS = 50_000
"""Reordering that is no sign of loss however short the round trip: a batch of frames is handled in this time."""
ASSESSED_RESULTS = 64
MOST_BACKOFF_SHIFT = 8
NEVER_NS = 2**62


@njit
def reset_retransmission(core: Any, now_ns: int) -> None:
    """Forget what was learnt of the path but the round trip itself: a new epoch."""
    core.backoff = 0
    core.answered = 0
    core.backoff_at_ns = now_ns
    core.answered_ns = 0
    core.probed_ns = now_ns
    core.probe_interval_ns = core.rto_ns
    core.highest = core.base - 1


@njit
def note_progress(core: Any, number: int) -> None:
    """A chunk's result has come: probes start afresh."""
    core.highest = max(core.highest, number)
    core.probe_interval_ns = core.rto_ns


@njit
def take_sample(core: Any, rtt_ns: int, now_ns: int) -> None:
    """RFC 6298 section 2, in integers, for many samples a round trip.

    A window of samples would let the variance forget in a hundredth of a round trip what a late scheduler did in it. So
    it grows with any sample, and shrinks once a round trip, by a quarter of the way to the largest of that round trip.
    """
    if core.smoothed_rtt_ns == 0:
        core.smoothed_rtt_ns = rtt_ns
        core.rtt_deviation_ns = core.rtt_variance_ns = rtt_ns // 2
    else:
        error = rtt_ns - core.smoothed_rtt_ns
        core.rtt_deviation_ns += (abs(error) - core.rtt_deviation_ns) // 4
        core.smoothed_rtt_ns += error // 8
        core.worst_deviation_ns = max(core.worst_deviation_ns, core.rtt_deviation_ns)
        core.rtt_variance_ns = max(core.rtt_variance_ns, core.rtt_deviation_ns)
        if now_ns - rtt_ns >= core.round_began_ns:
            core.rtt_variance_ns -= (core.rtt_variance_ns - core.worst_deviation_ns) // 4
            core.worst_deviation_ns = 0
            core.round_began_ns = now_ns
    estimate = core.smoothed_rtt_ns + max(4 * core.rtt_variance_ns, core.smoothed_rtt_ns // 8)
    most_ns = max(PLENTY_RTO_NS, 8 * least_rtt_ns(core, rtt_ns))
    core.rto_ns = min(max(min(estimate, most_ns), core.minimum_rto_ns), LARGEST_RTO_NS)


@njit
def least_rtt_ns(core: Any, rtt_ns: int) -> Any:
    """The shortest of the last 16 to 32 samples, this one included.

    A result waits for the slowest rank, so under loss most samples include another rank's retransmissions. Estimates
    from those alone would increase each other without bound; the minimum is of a chunk without retransmissions.
    """
    core.least_rtt_ns = min(core.least_rtt_ns, rtt_ns) if core.rtt_samples > 0 else rtt_ns
    core.rtt_samples += 1
    least_ns = np.int64(core.least_rtt_ns)
    if core.earlier_least_rtt_ns > 0:
        least_ns = min(least_ns, core.earlier_least_rtt_ns)
    if core.rtt_samples == LEAST_OF_SAMPLES:
        core.earlier_least_rtt_ns = core.least_rtt_ns
        core.rtt_samples = 0
    return least_ns


@njit
def sample_answer(core: Any, chunk: Any, is_waiting: bool, now_ns: int) -> None:
    """Take a round-trip sample from an answer: of a chunk sent once; a `waiting` after two tries answers the second."""
    core.answered = 1
    core.backoff = 0
    if chunk.tries == (2 if is_waiting else 1):
        take_sample(core, now_ns - chunk.sent_ns, now_ns)


@njit
def note_duplicate(core: Any, number: int) -> None:
    """Another result of a chunk that has one. Of one that was sent once it is the network's doing."""
    core.duplicate_results += 1
    chunk = chunk_of(core, number)
    if chunk.number == number and chunk.tries > 1:
        core.spurious_retransmits += 1


@njit
def effective_rto_ns(core: Any) -> Any:
    """The estimate with its doublings. The first silent round is common under loss and does not double it."""
    return min(core.rto_ns << (core.backoff_shift + max(0, core.backoff - 1)), LARGEST_RTO_NS)


@njit
def assess_retransmissions(core: Any, now_ns: int) -> None:
    """Every ASSESSED_RESULTS results, and not before an RTO has passed: adapt the timer if most retransmissions are
    spurious.

    Each retransmission that comes too early brings a duplicate result. When the path has become slower than the
    estimate, every chunk is retransmitted before it is answered and none gives a sample, so duplicates are the only
    evidence. Where frames are lost, most retransmissions bring none. A duplicate arrives a round trip after its
    retransmission, so the previous assessment counts by half.
    """
    core.assessed_results += 1
    if core.assessed_results < ASSESSED_RESULTS or now_ns - core.assessed_ns < effective_rto_ns(core):
        return
    spurious = core.spurious_retransmits - core.assessed_spurious
    retransmits = core.retransmissions_sent - core.assessed_retransmits
    core.recent_spurious = core.recent_spurious // 2 + spurious
    core.recent_retransmits = core.recent_retransmits // 2 + retransmits
    core.assessed_results, core.assessed_ns = 0, now_ns
    core.assessed_spurious, core.assessed_retransmits = core.spurious_retransmits, core.retransmissions_sent
    enough = max(core.recent_retransmits, ASSESSED_RESULTS // 4)
    if spurious > 0 and 2 * core.recent_spurious >= enough:
        core.backoff_shift = min(core.backoff_shift + 1, MOST_BACKOFF_SHIFT)
    elif spurious + retransmits == 0 or 4 * core.recent_spurious < enough:
        core.backoff_shift = max(core.backoff_shift - 1, 0)


@njit
def note_overtaken(core: Any, first_sent_ns: int) -> None:
    """A chunk first sent then has its result: what was last sent clearly before is due again."""
    core.answered_ns = max(core.answered_ns, first_sent_ns)
    edge_ns = core.answered_ns - max(core.smoothed_rtt_ns // 4, SMALLEST_WINDOW_NS)
    for which in (UNANSWERED, WAITED):
        place = head(core, which)
        while place != NONE and chunk_in(core, place).sent_ns < edge_ns:
            move_to(core, place, DUE)
            core.retransmissions_by_overtaking += 1
            place = head(core, which)


@njit
def note_timeouts(core: Any, now_ns: int) -> None:
    """Make due what has waited for an estimate, and when it is time, probes."""
    rto_ns = effective_rto_ns(core)
    place = head(core, UNANSWERED)
    timed_out = False
    while place != NONE and chunk_in(core, place).sent_ns + rto_ns <= now_ns:
        move_to(core, place, DUE)
        core.retransmissions_by_timeout += 1
        timed_out = True
        place = head(core, UNANSWERED)
    if timed_out and now_ns >= core.backoff_at_ns:
        core.backoff = 0 if core.answered else min(core.backoff + 1, 30)
        core.answered = 0
        core.backoff_at_ns = now_ns + rto_ns
    if head(core, WAITED) != NONE and now_ns >= core.probed_ns + core.probe_interval_ns:
        probe(core, now_ns)


@njit
def probe(core: Any, now_ns: int) -> None:
    """One round of probes."""
    core.probed_ns = now_ns
    core.probe_interval_ns = min(2 * core.probe_interval_ns, LARGEST_RTO_NS)
    place = head(core, WAITED)
    while place != NONE and chunk_in(core, place).sent_ns + core.rto_ns <= now_ns:
        chunk = chunk_in(core, place)
        following = np.int64(chunk.next)
        if chunk.number == core.floor or chunk.number < core.highest:
            move_to(core, place, DUE)
            core.retransmissions_by_probe += 1
        place = following


@njit
def core_next_timer(address: int) -> Any:
    """When ``core_poll_transmit`` must be called at the latest, in the clock of ``now_ns``; NEVER_NS for never.

    A frame that waits for its memory or for room on the port is not in it: the caller knows when it has made room.
    """
    core = core_at(address)
    if core.state != RUNNING:
        return NEVER_NS
    when_ns = NEVER_NS
    place = head(core, UNANSWERED)
    if place != NONE:
        when_ns = chunk_in(core, place).sent_ns + effective_rto_ns(core)
    if head(core, WAITED) != NONE:
        when_ns = min(when_ns, core.probed_ns + core.probe_interval_ns)
    return when_ns
