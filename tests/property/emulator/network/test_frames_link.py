"""Links of the compiled event loop against a few lines of Python."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.network.topology.parts import LinkClass
from tests.labs.two_hosts import two_hosts


def plain(frames: list[tuple[int, int]], link: LinkClass) -> list[tuple[int, int]]:
    """What arrives when, without looking at the loop: a list of all accepted frames, searched every time."""
    accepted: list[tuple[int, int, int]] = []  # first bit, last bit, length
    for now_ns, length in frames:
        free_ns = max((end for _, end, _ in accepted), default=0)
        waiting = sum(each for start, _, each in accepted if start > now_ns)
        if free_ns > now_ns and waiting + length > link.queue_bytes:
            continue
        start_ns = max(now_ns, free_ns)
        accepted.append((start_ns, start_ns - (-length * 8 * 10**9 // link.rate_bps), length))
    return [(end + link.latency_ns, length) for _, end, length in accepted]


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 2_000)), min_size=1, max_size=120),
    rate_bps=st.sampled_from((10**9, 10**10, 333_333_333)),
    latency_ns=st.sampled_from((0, 1_000, 100_000)),
    queue_bytes=st.sampled_from((2_100, 6_000, 20_000)),
)
def test_a_link_is_a_queue(steps: list[tuple[int, int]], rate_bps: int, latency_ns: int, queue_bytes: int) -> None:
    link = LinkClass("any", rate_bps, latency_ns, queue_bytes=queue_bytes, mtu_bytes=2_100)
    frames, now_ns = [], 0
    for wait_ns, length in steps:
        now_ns += wait_ns
        frames.append((now_ns, length))
    network, receiver = two_hosts(frames, link)
    expected = plain(frames, link)
    assert receiver.arrivals == expected
    counts = network.counts()["a->b"]
    assert (counts.frames, counts.dropped) == (len(expected), len(frames) - len(expected))
