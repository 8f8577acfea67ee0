"""The trees of `networks` in virtual time: the same frames on links of the same rates, every frame simulated.

Live frames are the payload of UDP datagrams, and wait at HTB's default queue of 1,000 packets; here too. HTB's burst is
not simulated. Processes take no time, unless that has been measured: `learn_delay`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from networks import NetworkError, lanes_of

from emulator.network.faults.files import read_faults
from emulator.network.topology.topology import Topology
from emulator.ports.pcap.writer import CaptureWriter
from emulator.ports.spec import parse_impairments
from emulator.ports.units import size_text
from hostagent.lab.simulated_job import UDP_TUNNEL_BYTES, JobEnded, SimulatedJob
from hostagent.launch.terminal import progress
from hostagent.protocol.window import MOST_BY_SOCKETS
from hostagent.protocol.wire import full_frame_bytes

QUEUE_PACKETS = 1_000
"""A veth's txqueuelen, which is the limit of HTB's default queue."""
ONE_FRAME_BYTES = 1_024
"""At most: 256 lanes."""
DELAY_NS = 1_000
"""To which delays are learnt."""
Said = Sequence[Mapping[str, Sequence[float]]]
"""What each rank says of its calls."""


class VirtualNetwork:
    """`calls` gives what the ranks of a live network print. Raises NetworkError where a fault ends the job."""

    kind = "virtual"

    def __init__(self, topology: Topology, impairments: str = "", faults: Path | None = None) -> None:
        """As of `networks.Network`, of a tree; ``faults``: to be played from the first call on."""
        inbound, _ = parse_impairments(impairments)
        self._topology = topology
        with progress(f"{topology.name} starts"):  # a program that is not compiled yet takes its time
            self._job = SimulatedJob(
                with_queues(topology),
                lanes=lanes_of(topology),
                window=MOST_BY_SOCKETS,
                encapsulation_bytes=UDP_TUNNEL_BYTES,
                impairments=inbound,
                faults=read_faults(faults, topology) if faults is not None else None,
            )
        self.host_delay_ns = 0

    @property
    def happened(self) -> list[dict[str, Any]]:
        """Faults."""
        return self._job.faults.happened

    def learn_delay(self, live: Said) -> None:
        """Have every link take as much longer as live ones do with processes at their ends, which have to wait for a
        core: so much that calls of one frame, which live ranks have made, take as long. Nothing is fitted to larger
        calls."""
        least, most, count = 0, round(1e9 * _median_s(live)), len(live[0]["times_s"])
        while most - least > DELAY_NS:
            self.set_delay((least + most) // 2)
            if _median_s(self.calls(ONE_FRAME_BYTES, count, live)) > _median_s(live):
                most = self.host_delay_ns
            else:
                least = self.host_delay_ns
        self.set_delay(least)

    def set_delay(self, delay_ns: int) -> None:
        """Of processes, on every link."""
        self.host_delay_ns = delay_ns
        for link in self._topology.links:
            self._job.network.change_link(link.name, latency_ns=delay_ns)

    @contextmanager
    def captured(self, folder: Path) -> Iterator[None]:
        """Keep what all links carry until the end of the block, as links.pcapng."""
        with CaptureWriter(str(folder / "links.pcapng")) as writer:
            self._job.network.capture(writer, [link.name for link in self._topology.links])
            yield

    def calls(self, size_bytes: int, calls: int, live: Said | None = None) -> list[dict[str, list[float]]]:
        """Times and bytes of timed calls, by rank; one before them is not counted, as live. ``live``: of live ranks,
        which begin each call as far apart."""
        names = ("times_s", "starts_s", "sent_bytes", "received_bytes")
        said: list[dict[str, list[float]]] = [{name: [] for name in names} for _ in self._job.ranks]
        job, hops = self._job, self._job.network.hops
        about = (calls + 1) * job.chunks(size_bytes // 4) * len(job.tree.links)  # if frames are lost
        with progress(f"{job.count} hosts, {size_text(size_bytes)}", about) as update:
            for call in range(calls + 1):
                before, began_s = self._carried(), job.network.now_ns / 1e9
                starts_s = [rank["starts_s"][call - 1] for rank in live] if live is not None and call else []
                try:
                    took = job.allreduce(
                        size_bytes // 4,
                        lambda now: update(completed=now - hops),
                        [round(1e9 * each) for each in starts_s],
                    )
                except JobEnded as error:
                    raise NetworkError(f"the job has ended in virtual time: {error}") from error
                if call:
                    for rank, then, now in zip(said, before, self._carried(), strict=True):
                        rank["times_s"].append(took.elapsed_ns / 1e9)
                        rank["starts_s"].append(began_s)
                        rank["sent_bytes"].append(now[0] - then[0])
                        rank["received_bytes"].append(now[1] - then[1])
        return said

    def _carried(self) -> list[tuple[int, int]]:
        """(sent, received) bytes of each host."""
        counts, topology = self._job.network.counts(), self._topology
        return [
            (counts[sent.name].bytes, counts[received.name].bytes)
            for host in topology.hosts
            for sent, received in zip(topology.out_links(host), topology.in_links(host), strict=True)
        ]


def _median_s(said: Said) -> float:
    """Of the slowest rank's times."""
    return statistics.median(max(times) for times in zip(*(rank["times_s"] for rank in said), strict=True))


def with_queues(topology: Topology) -> Topology:
    """The topology with HTB's queues and links without delay."""
    queue_bytes = QUEUE_PACKETS * (full_frame_bytes(lanes_of(topology)) + UDP_TUNNEL_BYTES)
    classes = {name: replace(each, latency_ns=0, queue_bytes=queue_bytes) for name, each in topology.classes.items()}
    links = tuple(replace(link, link_class=classes[link.link_class.name]) for link in topology.links)
    return replace(topology, links=links)
