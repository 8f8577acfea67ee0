"""The congestion window: how many frames a core has in flight, within the window of slots.

Results come only when the slowest rank has contributed, so a window that one rank made too small slows all of them.
Loss alone is no sign of congestion on links that lose frames, nor is a long round trip when another rank is late. A
mark (ECN) is one, and where queues mark it is the only one:

- A mark halves the window, once a round trip, and it grows by one frame a round: what TCP does (RFC 5681, RFC 3168),
  since a queue that both share gives both the same signal, and then windows become equal (Chiu and Jain 1989). A job of
  a larger share grows by its square, as a rate is proportional to the root of the increase (Mathis et al. 1997).

Where queues do not mark:

- Without loss the window grows until the round trips do, and a decrease is a trial: where it does not shorten them, the
  path itself is that long, and it is taken back.
- With loss *and* round trips far above the shortest, frames wait in a queue that may be full, and a loss is found only
  after all of them. Then the window is what fills the path twice, by the highest rate of results and the shortest round
  trip (as BBR: Cardwell et al., ACM Queue 14(5), 2016): enough for the link, and losses are found soon. Where
  processes wait for cores results come in bursts, and the window has a burst more, lest the link be idle between them
  (as BBR's extra_acked: draft-cardwell-iccrg-bbr-congestion-control-02).

Rounds are round trips: one ends with the result of a chunk that was first sent after it had begun.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit

FIRST_WINDOW = 10
"""Frames, as RFC 6928; grows by one with each result (slow start)."""
LEAST_WINDOW = 4
LEAST_MARKED_WINDOW = 2
"""Frames, as RFC 5681, section 4.3."""
MARKED_ROUNDS = 1024
"""Rounds after a mark in which the path counts as one whose queues mark: more than between two marks of the largest
window, which is halved and grows by one a round."""
ROUND_SAMPLES = 2
"""Of a round with losses, without which the least of them may be another rank's delay; of others half a window."""
LOSSY_ROUNDS = 16
"""Rounds after a loss in which the path counts as one that loses frames."""
LOSSY_WINDOW = 10
"""Frames, at least, however short the path."""
PATH_WINDOWS = 2
"""What the path holds, so many times: with losses, and with round trips above this multiple of the shortest."""
STARVED_ROUNDS = 16
"""In a row, with less than half of the highest rate, after which the estimate of the path starts again."""
LONGEST_BURST_NS = 1 << 30
"""After which the product with a rate would not fit 64 bits."""
RATE_SHIFT = 30
"""Rates are results in 2^30 ns, about a second."""
QUEUE_NS = 10_000_000
"""Queueing delay that is tolerated: above what the scheduling of busy machines adds to the best of a round trip."""
TRIAL_ROUNDS = 3
FIRST_HOLD_ROUNDS, MOST_HOLD_ROUNDS = 8, 1024
"""Rounds without a trial after one in vain, doubled by each."""


@njit
def reset_congestion(core: Any, now_ns: int) -> None:
    """Nothing is in flight; the congestion window stays, as far as the window allows."""
    core.in_flight = 0
    core.congestion_window = min(core.congestion_window, core.window)
    if core.smoothed_rtt_ns == 0:
        core.slow_start = 1
        core.congestion_window = FIRST_WINDOW
    core.trial_round = 0
    core.starved_rounds = 0
    core.burst_began_ns = now_ns
    core.burst_results = 0
    core.hold_rounds = FIRST_HOLD_ROUNDS
    begin_round(core, now_ns)


@njit
def begin_round(core: Any, now_ns: int) -> None:
    """A round trip begins."""
    core.round_began_ns = now_ns
    core.round_least_ns = 0
    core.round_samples = 0
    core.round_results = 0
    core.round_losses = 0
    core.limited = 0


@njit
def note_round_trip(core: Any, rtt_ns: int) -> None:
    """A round-trip sample. Only the smallest of a round measures the queue: scheduling delays the others as well."""
    core.round_samples += 1
    if core.round_least_ns == 0 or rtt_ns < core.round_least_ns:
        core.round_least_ns = max(rtt_ns, 1)
    if core.path_rtt_ns == 0 or rtt_ns < core.path_rtt_ns:
        core.path_rtt_ns = max(rtt_ns, 1)


@njit
def note_loss(core: Any) -> None:
    """An overtaken chunk is sent again."""
    core.round_losses += 1
    core.lost_round = core.rounds + 1


@njit
def is_lossy(core: Any) -> Any:
    """Has the path lost frames lately?"""
    return core.lost_round > 0 and core.rounds <= core.lost_round + LOSSY_ROUNDS


@njit
def note_mark(core: Any, sent_ns: int, now_ns: int) -> None:
    """An answer to what was sent then has passed a long queue, or what it answers has."""
    core.marks_received += 1
    core.marked_round = core.rounds + 1
    if sent_ns >= core.reduced_ns:
        core.reduced_ns = now_ns
        core.slow_start = 0
        core.trial_round = 0
        core.congestion_window = max(core.congestion_window // 2, min(LEAST_MARKED_WINDOW, core.window))


@njit
def note_progress(core: Any, first_sent_ns: int, now_ns: int) -> None:
    """A result: open the window; at the end of a round, look whether it is too large."""
    core.round_results += 1
    note_burst(core, now_ns)
    if core.limited and core.slow_start:
        core.congestion_window = min(core.congestion_window + 1, core.window)
    is_over = first_sent_ns >= core.round_began_ns and now_ns > core.round_began_ns
    least_samples = ROUND_SAMPLES if core.round_losses > 0 else (core.congestion_window + 1) // 2
    if is_over and core.round_samples >= least_samples:
        end_round(core, now_ns)
        begin_round(core, now_ns)


@njit
def note_burst(core: Any, now_ns: int) -> None:
    """How many results are ahead of the highest rate, which slow start does not know yet."""
    expected = (core.best_rate * min(now_ns - core.burst_began_ns, LONGEST_BURST_NS)) >> RATE_SHIFT
    if core.slow_start or core.burst_results <= expected:
        core.burst_began_ns = now_ns
        core.burst_results = 0
        expected = 0
    core.burst_results += 1
    if not core.slow_start:
        core.burst = max(core.burst, core.burst_results - expected)


@njit
def may_send(core: Any, number: int) -> Any:
    """The lowest ones always: ranks with holes in different places would wait for each other until a time-out."""
    return core.in_flight < core.congestion_window or number < core.floor + core.congestion_window


@njit
def end_round(core: Any, now_ns: int) -> None:
    """Judge a round trip: too long for the path; or long enough to fill it."""
    core.rounds += 1
    core.burst = max(core.burst - 1, 0)
    rate = (core.round_results << RATE_SHIFT) // (now_ns - core.round_began_ns)
    core.best_rate = max(core.best_rate - (core.best_rate >> 6), rate)
    if core.marked_round > 0 and core.rounds <= core.marked_round + MARKED_ROUNDS:
        if core.limited:
            core.congestion_window = min(core.congestion_window + core.share * core.share, core.window)
        return
    if is_lossy(core) and core.round_least_ns > PATH_WINDOWS * core.path_rtt_ns:
        limit_to_path(core, rate)
        return
    window = core.congestion_window
    target_ns = core.least_rtt_ns + QUEUE_NS
    if core.trial_round > 0:
        if core.rounds >= core.trial_round:
            judge_trial(core)
    elif core.round_least_ns > target_ns and core.rounds >= core.held_until_round:
        core.slow_start = 0
        core.trial_round = core.rounds + TRIAL_ROUNDS
        core.tried_window, core.tried_rtt_ns = window, core.round_least_ns
        least = max(window // 2, LEAST_WINDOW)
        core.congestion_window = min(max(window * target_ns // core.round_least_ns, least), window)
    elif core.limited and not core.slow_start:
        core.congestion_window = min(window + 1, core.window)


@njit
def limit_to_path(core: Any, rate: int) -> None:
    """Losses and a queue: no more frames than fill the path, and a burst; less than half of the rate for long: learn it
    anew."""
    core.trial_round = 0
    core.slow_start = 0
    filling = (PATH_WINDOWS * core.path_rtt_ns * core.best_rate) >> RATE_SHIFT
    most = min(max(filling, LOSSY_WINDOW) + core.burst, core.window)
    core.congestion_window = min(core.congestion_window + core.limited, most)
    core.starved_rounds = core.starved_rounds + 1 if 2 * rate < core.best_rate else 0
    if core.starved_rounds == STARVED_ROUNDS:
        core.starved_rounds = 0
        core.path_rtt_ns = max(core.path_rtt_ns, core.round_least_ns)
        core.best_rate = rate
        core.slow_start = 1


@njit
def judge_trial(core: Any) -> None:
    """Has the smaller window shortened the round trip, by half of its own share at least?"""
    core.trial_round = 0
    most_ns = core.tried_rtt_ns * (core.tried_window + core.congestion_window) // (2 * core.tried_window)
    if core.round_least_ns <= most_ns:
        core.hold_rounds = FIRST_HOLD_ROUNDS
        return
    core.least_rtt_ns = core.round_least_ns
    core.congestion_window = max(core.congestion_window, core.tried_window)
    core.held_until_round = core.rounds + core.hold_rounds
    core.hold_rounds = min(2 * core.hold_rounds, MOST_HOLD_ROUNDS)
