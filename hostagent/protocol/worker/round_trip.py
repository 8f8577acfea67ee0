"""A round-trip estimate and the time-out made of it (RFC 6298, section 2; RFC 9002, section 6.2).

The functions take any record with the fields of ``ESTIMATOR_FIELDS``: the owner puts them into its own record.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit

ESTIMATOR_FIELDS = (
    "smoothed_rtt_ns",
    "rtt_deviation_ns",
    "worst_deviation_ns",
    "rtt_variance_ns",
    "variance_round_ns",
    "least_rtt_ns",
    "rto_ns",
    "minimum_rto_ns",
)
"""All int64. ``minimum_rto_ns`` is the owner's setting; ``reset_estimate`` sets the others."""

FIRST_RTO_NS = 20_000_000
"""Before any sample. What it sends is two frames, so one that is too short for a path costs little."""
LARGEST_RTO_NS = 1_000_000_000
PLENTY_RTO_NS = 32_000_000
"""A time-out above this needs a path whose shortest round trip is an eighth of it: where an answer waits for others, as
a result does for the slowest rank, a long round trip says more of them than of the path."""
MOST_BACKOFF = 10


@njit
def reset_estimate(record: Any) -> None:
    """No sample yet."""
    record.smoothed_rtt_ns = 0
    record.rtt_deviation_ns = 0
    record.worst_deviation_ns = 0
    record.rtt_variance_ns = 0
    record.variance_round_ns = 0
    record.least_rtt_ns = 0
    record.rto_ns = max(FIRST_RTO_NS, record.minimum_rto_ns)


@njit
def take_sample(record: Any, rtt_ns: int, now_ns: int) -> None:
    """RFC 6298, section 2, in integers, for many samples a round trip; of what was sent once (Karn's rule).

    The variance would forget in a hundredth of a round trip what a late scheduler did in it. So it grows with any
    sample, and shrinks once a round trip, by a quarter of the way to the largest deviation of that round trip.
    """
    if record.smoothed_rtt_ns == 0:
        record.smoothed_rtt_ns = max(rtt_ns, 1)
        record.rtt_deviation_ns = rtt_ns // 2
        record.rtt_variance_ns = rtt_ns // 2
        record.least_rtt_ns = max(rtt_ns, 1)
    else:
        error = rtt_ns - record.smoothed_rtt_ns
        record.rtt_deviation_ns += (abs(error) - record.rtt_deviation_ns) // 4
        record.smoothed_rtt_ns += error // 8
        record.worst_deviation_ns = max(record.worst_deviation_ns, record.rtt_deviation_ns)
        record.rtt_variance_ns = max(record.rtt_variance_ns, record.rtt_deviation_ns)
        record.least_rtt_ns = max(min(record.least_rtt_ns, rtt_ns), 1)
        if now_ns - rtt_ns >= record.variance_round_ns:
            record.rtt_variance_ns -= (record.rtt_variance_ns - record.worst_deviation_ns) // 4
            record.worst_deviation_ns = 0
            record.variance_round_ns = now_ns
    estimate_ns = record.smoothed_rtt_ns + max(4 * record.rtt_variance_ns, record.smoothed_rtt_ns // 8)
    most_ns = min(max(PLENTY_RTO_NS, 8 * record.least_rtt_ns), LARGEST_RTO_NS)
    record.rto_ns = max(min(estimate_ns, most_ns), record.minimum_rto_ns)


@njit
def timeout_ns(record: Any, backoff: int) -> Any:
    """The time-out after ``backoff`` expiries without progress: doubled by each, up to LARGEST_RTO_NS."""
    return min(record.rto_ns << min(backoff, MOST_BACKOFF), LARGEST_RTO_NS)
