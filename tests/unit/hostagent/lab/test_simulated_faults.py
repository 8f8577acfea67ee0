"""Scripts of faults in virtual time: sums are right, or the job ends and says why; the same seed is the same run."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

import pytest

from emulator.network.faults.files import parse_faults
from emulator.network.topology.builders import star, tree
from emulator.network.topology.parts import LinkClass, TopologyError
from emulator.network.topology.topology import Topology
from hostagent.lab.simulated_job import Call, JobEnded, SimulatedJob

LANES = 64
"""As other tests have, so that one program is compiled."""
ELEMENTS = 20_000
LINK = LinkClass("link", 10**8)
"""A call takes 8 ms without faults."""
STAR, TREE = star(3, host_link=LINK), tree((2, 2), host_link=LINK, switch_link=LINK)
S_NS = 10**9

pytestmark = pytest.mark.timeout(400)  # the first one compiles the loop


def job_with(faults: str, topology: Topology = STAR, **options: Any) -> SimulatedJob:
    script = parse_faults(f"faults: [{faults}]", topology)
    return SimulatedJob(topology, lanes=LANES, faults=script, limit_ns=20 * S_NS, **options)


def played(faults: str, topology: Topology = STAR, calls: int = 1, **options: Any) -> tuple[SimulatedJob, list[Call]]:
    """The calls, whose sums the job verifies."""
    job = job_with(faults, topology, **options)
    return job, [job.allreduce(ELEMENTS) for _ in range(calls)]


@cache
def usual_ns() -> int:
    return SimulatedJob(STAR, lanes=LANES).allreduce(ELEMENTS).elapsed_ns


@pytest.mark.parametrize(
    ("how", "counter", "direction"),
    [
        ("loss: 10%", "lost", "h0->s0"),
        ("duplicate: 20%", "duplicated", "s0->h0"),
        ("reorder: 20%, delay: 200us", "reordered", "h0->s0"),
        ("corrupt: 5%", "corrupted", "s0->h0"),
    ],
)
def test_impaired_links_do_what_is_asked_and_sums_are_right(how: str, counter: str, direction: str) -> None:
    job, _ = played(f"{{at: 1ms, impair: h0-s0, {how}, for: 4ms}}")
    counts = {name: asdict(each) for name, each in job.network.counts().items()}
    assert counts[direction][counter] > 3
    assert counts["h1->s0"][counter] == counts["s0->h1"][counter] == 0
    assert [entry["time_s"] for entry in job.faults.happened] == [0.001, 0.005]


@pytest.mark.parametrize("how", ["rate: 20Mbit", "delay: 3ms", "jitter: 3ms"])
def test_links_that_are_slower_take_longer(how: str) -> None:
    _, (call,) = played(f"{{at: 0ms, impair: h0->s0, {how}}}")
    assert call.elapsed_ns > usual_ns() + 3_000_000
    if how.startswith("rate"):
        assert call.elapsed_ns == pytest.approx(5 * usual_ns(), rel=0.05)


@pytest.mark.parametrize("how", ["down: h0->s0", "partition: [h0, h1]"])
def test_a_link_that_comes_back_goes_on(how: str) -> None:
    job, (call,) = played(f"{{at: 2ms, {how}, for: 30ms}}")
    assert call.elapsed_ns > 30_000_000
    assert job.network.counts()["h0->s0"].lost > 0


@pytest.mark.parametrize("topology", [STAR, TREE], ids=lambda t: t.name)
def test_a_link_that_stays_down_ends_the_job_and_names_the_rank(topology: Topology) -> None:
    job = job_with("{at: 2ms, down: h1->s0}", topology)
    with pytest.raises(JobEnded, match=r"not ended after 20 s of virtual time; .* missing: h1 \(rank 1\)$"):
        job.allreduce(ELEMENTS)


@pytest.mark.parametrize("share", ["25%", "0"])
def test_a_slow_host_holds_the_others_up(share: str) -> None:
    """At a quarter of 40 ms it runs for 10 ms, and the first call takes 8; at 0 it waits for the fault's end."""
    _, (_, call) = played(f"{{at: 0ms, slow: h2, to: {share}, for: 100ms}}", calls=2)
    assert call.elapsed_ns > 30_000_000 or share == "0"
    assert call.elapsed_ns < 45_000_000


@pytest.mark.parametrize("topology", [STAR, TREE], ids=lambda t: t.name)
def test_a_switch_that_was_killed_gets_the_job_again(topology: Topology) -> None:
    job, (call, after) = played("{at: 2ms, restart: s0, for: 50ms}", topology, calls=2)
    assert 50_000_000 < call.elapsed_ns < 100_000_000
    assert after.elapsed_ns < 15_000_000
    assert [str(entry["what"]) for entry in job.faults.happened] == ["s0 killed", "s0 is started again"]


@pytest.mark.parametrize("node", ["root", "s1"])
def test_switch_and_controller_are_killed_at_once(node: str) -> None:
    """The controller comes back later than the switch, and finds it without the job."""
    faults = f"{{at: 2ms, restart: controller, for: 90ms}}, {{at: 3ms, restart: {node}, for: 20ms}}"
    _, (call,) = played(faults, TREE)
    assert 90_000_000 < call.elapsed_ns < 200_000_000


def test_a_job_goes_on_without_its_controller() -> None:
    _, (call,) = played("{at: 1ms, restart: controller, for: 1s}")
    assert call.elapsed_ns == pytest.approx(usual_ns(), rel=0.01)


@pytest.mark.parametrize(
    ("fault", "why", "bound_s"),
    [
        ("{at: 2ms, kill: h1}", r"rank 1 .*\(process 1 on h1\) has died: its connection .* broke", 3),
        ("{at: 2ms, slow: h1, to: 0, for: 1000s}", r"rank 1 .* has not been heard of for 5 s", 7),
        ("{at: 2ms, restart: s0, for: 1000s}", "the aggregator has been away for 60 s: switch s0 was killed", 62),
    ],
)
def test_what_does_not_come_back_ends_the_job(fault: str, why: str, bound_s: int) -> None:
    script = parse_faults(f"faults: [{fault}]", STAR)
    job = SimulatedJob(STAR, lanes=LANES, faults=script)
    for _ in range(2):  # the second call ends at once
        with pytest.raises(JobEnded, match=why):
            job.allreduce(ELEMENTS)
    assert job.network.now_ns < bound_s * S_NS


EVERYTHING = (
    "{at: 1ms, impair: h0-s0, loss: 5%, duplicate: 5%, reorder: 5%, corrupt: 2%, for: 20ms}, "
    "{at: 3ms, slow: h1, to: 30%, for: 50ms}, {at: 6ms, restart: s0, for: 4ms}, "
    "{at: 9ms, partition: [s1, h2, h3], for: 5ms}"
)


def everything(seed: int) -> Any:
    job, calls = played(EVERYTHING, TREE, 3, seed=seed)
    return calls, {name: asdict(each) for name, each in job.network.counts().items()}, job.network.events


def test_the_same_seed_is_the_same_run() -> None:
    assert everything(7) == everything(7)
    assert everything(7) != everything(8)


def test_more_ranks_than_a_controller_serves() -> None:
    big = star(64)
    SimulatedJob(big, lanes=LANES, faults=parse_faults("faults: [{at: 1s, restart: s0}]", big))
    wide = tree((2, 33))
    with pytest.raises(TopologyError, match=r"66 hosts: a controller, .* has jobs of at most 64"):
        SimulatedJob(wide, lanes=LANES, faults=parse_faults("faults: [{at: 1s, kill: h1}]", wide))
    SimulatedJob(wide, lanes=LANES, faults=parse_faults("faults: [{at: 1s, down: h1-s0}]", wide))
