"""The star of `networks` in virtual time: the same frames on links of the same rates, every frame simulated.

Live frames are the payload of UDP datagrams, and wait at HTB's default queue of 1,000 packets; here too. Processes take
no time, and HTB's burst is not simulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from networks import LANES, NetworkError

from emulator.network.topology.builders import star
from emulator.network.topology.parts import LinkClass
from emulator.network.topology.topology import Topology
from emulator.ports.spec import Impairments, parse_port
from hostagent.lab.simulated_job import UDP_TUNNEL_BYTES, SimulatedJob
from hostagent.protocol.window import MOST_BY_SOCKETS
from hostagent.protocol.wire import full_frame_bytes

QUEUE_PACKETS = 1_000
"""A veth's txqueuelen, which is the limit of HTB's default queue."""


class VirtualStar:
    """`calls` gives what the ranks of a live star print. Raises NetworkError for what is not simulated."""

    kind = "virtual"

    def __init__(self, hosts: int, rates_mbit: Sequence[float], impairments: str = "") -> None:
        """As of `networks.Star`."""
        spec = (parse_port(f"1=if:link?{impairments}").inbound if impairments else None) or Impairments()
        simulated = Impairments(delay_ns=spec.delay_ns, loss=spec.loss, seed=spec.seed)
        if spec != simulated:
            raise NetworkError(f"--on virtual simulates loss and delay alone, not all of {impairments!r}")
        self._job = SimulatedJob(
            star_of(rates_mbit, spec.delay_ns),
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
        counts = self._job.network.counts()
        return [(counts[f"h{rank}->s0"].bytes, counts[f"s0->h{rank}"].bytes) for rank in range(self._job.count)]


def star_of(rates_mbit: Sequence[float], delay_ns: int) -> Topology:
    """A star whose links have these rates."""
    queue_bytes = QUEUE_PACKETS * (full_frame_bytes(LANES) + UDP_TUNNEL_BYTES)
    classes = {
        rate: LinkClass(f"{rate:g}Mbit", round(rate * 1e6), latency_ns=delay_ns, queue_bytes=queue_bytes)
        for rate in rates_mbit
    }
    plain = star(len(rates_mbit))
    links = tuple(
        replace(link, link_class=classes[rates_mbit[_host(link.source, link.destination)]]) for link in plain.links
    )
    return replace(plain, links=links)


def _host(source: str, destination: str) -> int:
    """Number of the host at an end of a link: h0 is 0."""
    return int((source if source.startswith("h") else destination).removeprefix("h"))
