"""The trees of `networks` in virtual time: the same frames on links of the same rates, every frame simulated.

Live frames are the payload of UDP datagrams, and wait at HTB's default queue of 1,000 packets; here too. Processes take
no time, and HTB's burst is not simulated.
"""

from __future__ import annotations

from dataclasses import replace

from networks import LANES, NetworkError

from emulator.network.topology.topology import Topology
from emulator.ports.spec import Impairments, parse_port
from hostagent.lab.simulated_job import UDP_TUNNEL_BYTES, SimulatedJob
from hostagent.protocol.window import MOST_BY_SOCKETS
from hostagent.protocol.wire import full_frame_bytes

QUEUE_PACKETS = 1_000
"""A veth's txqueuelen, which is the limit of HTB's default queue."""


class VirtualNetwork:
    """`calls` gives what the ranks of a live network print. Raises NetworkError for what is not simulated."""

    kind = "virtual"

    def __init__(self, topology: Topology, impairments: str = "") -> None:
        """As of `networks.Network`, of a tree."""
        spec = (parse_port(f"1=if:link?{impairments}").inbound if impairments else None) or Impairments()
        simulated = Impairments(delay_ns=spec.delay_ns, loss=spec.loss, seed=spec.seed)
        if spec != simulated:
            raise NetworkError(f"--on virtual simulates loss and delay alone, not all of {impairments!r}")
        self._topology = topology
        self._job = SimulatedJob(
            with_queues(topology, spec.delay_ns),
            lanes=LANES,
            window=MOST_BY_SOCKETS,
            encapsulation_bytes=UDP_TUNNEL_BYTES,
            loss=spec.loss,
            seed=spec.seed,
        )

    def calls(self, size_bytes: int, calls: int) -> list[dict[str, list[float]]]:
        """Times and bytes of timed calls, by rank; one before them is not counted, as live."""
        said: list[dict[str, list[float]]] = [
            {"times_s": [], "sent_bytes": [], "received_bytes": []} for _ in self._job.ranks
        ]
        for call in range(calls + 1):
            before = self._carried()
            took = self._job.allreduce(size_bytes // 4)
            if call:
                for rank, then, now in zip(said, before, self._carried(), strict=True):
                    rank["times_s"].append(took.elapsed_ns / 1e9)
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


def with_queues(topology: Topology, delay_ns: int) -> Topology:
    """The topology with HTB's queues and this delay of every link."""
    queue_bytes = QUEUE_PACKETS * (full_frame_bytes(LANES) + UDP_TUNNEL_BYTES)
    classes = {
        name: replace(each, latency_ns=delay_ns, queue_bytes=queue_bytes) for name, each in topology.classes.items()
    }
    links = tuple(replace(link, link_class=classes[link.link_class.name]) for link in topology.links)
    return replace(topology, links=links)
