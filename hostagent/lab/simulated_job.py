"""A job on a topology in virtual time: the worker cores of live ranks, and the P4 program of live switches with the
entries that the controller gives them, on simulated links (``emulator.network.frames``).

    from emulator.network.topology.builders import tree
    from hostagent.lab.simulated_job import SimulatedJob

    job = SimulatedJob(tree((4, 8)))
    call = job.allreduce(16_000_000 // 4)
    print(call.elapsed_ns, call.retransmissions, job.network.counts()["h0->s0"])

How results are verified: rank r adds tensor r mod INPUTS, of whole numbers whose sum is exact. If the ranks' results
take no more than OWN_MEMORY_BYTES, each rank has its own, and every element of every rank is compared with the sum.
Else ranks share one result: every RESULT frame that comes to any rank is compared lane by lane with the first of its
chunk, every rank must have stored every chunk, and every element of the shared result is compared with the sum. As
equal frames are stored as equal values, that covers all ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from emulator.native.pages import address_of
from emulator.network.frames.network import Network
from emulator.network.topology.parts import TopologyError
from emulator.network.topology.topology import Topology
from emulator.switch.core import Switch
from emulator.v1model.compiled import load
from hostagent.controller.core.ports import SWITCH_IP, SWITCH_MAC
from hostagent.controller.drivers.p4.entries import Child, JobEntries
from hostagent.lab.aggregation_tree import AggregationTree, aggregation_tree, entries_of
from hostagent.lab.p4_entries import EntryIds, install_job
from hostagent.lab.simulated_ranks import Array, SimulatedRank
from hostagent.protocol.dtypes import DType
from hostagent.protocol.frames import Addresses
from hostagent.protocol.operation import REQUEST, Operation, OperationKind, Span, request_of
from hostagent.protocol.wire import ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES, full_frame_bytes
from hostagent.protocol.worker import CoreSettings, core_submit, scratch_bytes
from hostagent.protocol.worker.core import MAXIMUM_WORKERS
from hostagent.protocol.worker.plan import group_count, group_size

JOB, EPOCH = 7, 1
HOST_MAC, HOST_IP = 0x026E_7300_0000, 0x0A4E_0000
"""As live ports have them, the rank plus 1 in the low bytes."""
UDP_TUNNEL_BYTES = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES
"""A port of kind udp sends a frame, with its own Ethernet header, as the payload of a UDP datagram."""
INPUTS = 8
OWN_MEMORY_BYTES = 1 << 28
CALL_LIMIT_NS = 24 * 3_600 * 10**9
"""Of virtual time: a call that takes longer is taken for one that hangs."""
OPERATION_RING = 4


class SimulationFailed(RuntimeError):
    """A sum is wrong, or a call does not end: a fault of ours, not of the topology."""


@dataclass(frozen=True, slots=True)
class Call:
    """What one operation took, on all ranks together."""

    elapsed_ns: int
    """From its submission on all ranks to the last rank's completion."""
    chunks: int
    """Of every rank: frames in each direction without loss."""
    retransmissions: int
    lost: int
    """Frames that links lost."""
    dropped: int
    """Frames that found a queue full."""
    hops: int
    """Frames that came to the far end of a link."""


class SimulatedJob:
    """A job of one rank on each host, and no other traffic."""

    def __init__(
        self,
        topology: Topology,
        *,
        hosts: Sequence[str] | None = None,
        root: str | None = None,
        lanes: int = 256,
        window: int = 128,
        encapsulation_bytes: int = 0,
        loss: float = 0.0,
        losses: Mapping[str, float] | None = None,
        seed: int = 1,
    ) -> None:
        """``hosts``: of ranks 0, 1, ...; without it all of the topology. ``window``: slots, a power of two. ``loss``:
        the probability that a frame is lost, of every link that ``losses`` does not name. ``encapsulation_bytes``: of
        each frame on links, besides its own: `UDP_TUNNEL_BYTES` as live ranks on udp ports. Raises TopologyError."""
        self.lanes, self.window = lanes, window
        self.tree: AggregationTree = aggregation_tree(topology, hosts, root)
        if not 2 <= len(self.tree.hosts) <= MAXIMUM_WORKERS:
            raise TopologyError(f"{len(self.tree.hosts)} hosts: a job has 2 to {MAXIMUM_WORKERS} ranks")
        every = {link.name: loss for link in topology.links if loss > 0} | dict(losses or {})
        self.network = Network(
            topology,
            frame_bytes=full_frame_bytes(lanes),
            encapsulation_bytes=encapsulation_bytes,
            losses=every,
            seed=seed,
        )
        self.switches: dict[str, Switch] = {}
        self._add_switches(topology)
        self.ranks = [self._add_rank(rank, name) for rank, name in enumerate(self.tree.hosts)]
        self._request = np.zeros(1, REQUEST)

    def _add_switches(self, topology: Topology) -> None:
        program = load("allreduce.p4", {"LANES": str(self.lanes)})
        ids = EntryIds(program)
        children = tuple(Child(rank, 0, HOST_MAC + 1 + rank, HOST_IP + 1 + rank, True) for rank in range(self.count))
        entries = JobEntries(JOB, 0, EPOCH, 0, self.window, 0, True, SWITCH_MAC, SWITCH_IP, children)
        for name, part in entries_of(topology, self.tree, entries).items():
            switch = self.switches[name] = Switch()
            switch.load(program)
            self.network.add_switch(name, switch)
            install_job(switch, ids, part)

    def _add_rank(self, rank: int, name: str) -> SimulatedRank:
        addresses = Addresses(HOST_MAC + 1 + rank, SWITCH_MAC, HOST_IP + 1 + rank, SWITCH_IP)
        added = SimulatedRank(
            CoreSettings(
                JOB,
                rank,
                self.count,
                EPOCH,
                self.lanes,
                self.window,
                addresses,
                checksum=False,
                operation_ring=OPERATION_RING,
            ),
            self.network.arena,
        )
        self.network.add_host(name, added.host)
        return added

    @property
    def count(self) -> int:
        """Of ranks."""
        return len(self.tree.hosts)

    def chunks(self, elements: int) -> int:
        """Frames that a float32 sum sends on every link of the tree in each direction, without loss."""
        data = group_count(elements, self.lanes)
        return int(data + group_count(data, group_size(self.lanes, self.window)))

    def allreduce(self, elements: int, progress: Callable[[int], None] | None = None) -> Call:
        """A sum of float32 tensors, submitted on all ranks at the same time. ``progress`` is called
        with the hops of all calls so far. Raises SimulationFailed."""
        tensors = Tensors(self.count, elements)
        before, start_ns = self._counters(), self.network.now_ns
        stored = [rank.core.statistics()["chunks_stored"] for rank in self.ranks]
        needed = scratch_bytes(int(OperationKind.SUM), int(DType.FLOAT32), False, elements, self.lanes)
        scratch = [np.empty(needed, np.uint8) for _ in self.ranks]
        self._compare_results(tensors, elements)
        for number, (rank, name) in enumerate(zip(self.ranks, self.tree.hosts, strict=True)):
            given, taken = (Span(address_of(each), 0, elements) for each in tensors.of(number))
            operation = Operation("all_reduce", OperationKind.SUM, "float32", 4, elements, given, taken)
            self._request[0] = request_of(operation, address_of(scratch[number]))
            if core_submit(rank.core.address, address_of(self._request)) < 0:
                raise SimulationFailed(f"the core of {name} refuses the operation")
        for name in self.tree.hosts:
            self.network.submitted(name)
        if not self.network.run(start_ns + CALL_LIMIT_NS, progress):
            raise SimulationFailed(f"the sum of {elements} elements does not end")
        chunks = {rank.core.statistics()["chunks_stored"] - was for rank, was in zip(self.ranks, stored, strict=True)}
        self._check(tensors, chunks)
        after = self._counters()
        return Call(
            self.network.now_ns - start_ns,
            chunks.pop(),
            *(now - then for now, then in zip(after, before, strict=True)),
        )

    def _compare_results(self, tensors: Tensors, elements: int) -> None:
        """Have the results of all ranks compared where they share memory."""
        for rank in self.ranks:
            rank.record["results"] = 0
        if not tensors.shared:
            return
        most = self.chunks(elements)
        results, seen = np.zeros((most, 4 * self.lanes), np.uint8), np.zeros(most, np.uint8)
        tensors.kept += [results, seen]
        for rank in self.ranks:
            rank.compare_with(results, seen, int(rank.core.record["low"][0]))

    def _check(self, tensors: Tensors, chunks: set[int]) -> None:
        failed = [int(rank.record["failed"][0]) for rank in self.ranks]
        if any(failed):
            raise SimulationFailed(f"rank {next(filter(failed.__getitem__, range(self.count)))} has failed")
        if len(chunks) != 1:
            raise SimulationFailed(f"ranks have stored different numbers of chunks: {sorted(chunks)}")
        if tensors.shared:
            for number, rank in enumerate(self.ranks):
                if rank.record["different"][0] or rank.record["compared"][0] < max(chunks):
                    raise SimulationFailed(f"rank {number} has got other results than the rest")
                rank.record["compared"] = 0
        if (wrong := tensors.wrong()) is not None:
            raise SimulationFailed(f"the sum of rank {wrong} is wrong")

    def _counters(self) -> tuple[int, int, int, int]:
        counts = self.network.counts().values()
        retransmissions = sum(int(rank.core.record["retransmissions_sent"][0]) for rank in self.ranks)
        lost, dropped = sum(each.lost for each in counts), sum(each.dropped for each in counts)
        return retransmissions, lost, dropped, self.network.hops


class Tensors:
    """What ranks add, and where the sums go."""

    def __init__(self, ranks: int, elements: int) -> None:
        self.ranks = ranks
        self.shared = 4 * ranks * elements > OWN_MEMORY_BYTES
        places = np.arange(elements, dtype=np.int64)
        numbers = [((places * (2 * each + 7) + 13 * each) % 251 - 125).astype(np.float32) for each in range(INPUTS)]
        self.inputs = numbers[: min(INPUTS, ranks)]
        times = [len(range(each, ranks, INPUTS)) for each in range(len(self.inputs))]
        self.expected = sum(tensor * np.float32(count) for tensor, count in zip(self.inputs, times, strict=True))
        self.outputs = [np.full(elements, np.nan, np.float32) for _ in range(1 if self.shared else ranks)]
        self.kept: list[Array] = []

    def of(self, rank: int) -> tuple[Array, Array]:
        """Input and output of a rank."""
        return self.inputs[rank % INPUTS], self.outputs[0 if self.shared else rank]

    def wrong(self) -> int | None:
        """A rank whose sum is wrong."""
        for rank, output in enumerate(self.outputs):
            if not np.array_equal(output, self.expected):
                return rank
        return None
