"""A job on a topology in virtual time: the worker cores of live ranks, and the P4 program of live switches with the
entries that the controller gives them, on simulated links (``emulator.network.frames``).

    from emulator.network.topology.builders import tree
    from hostagent.lab.simulated_job import SimulatedJob

    job = SimulatedJob(tree((4, 8)))
    call = job.allreduce(16_000_000 // 4)
    print(call.elapsed_ns, call.retransmissions, job.network.counts()["h0->s0"])

With a script of faults, links, hosts, switches and the controller do what it says (``simulated_faults``).

How results are verified: rank r adds tensor r mod INPUTS, of whole numbers whose sum is exact. If the ranks' results
take no more than OWN_MEMORY_BYTES, each rank has its own, and every element of every rank is compared with the sum.
Else ranks share one result: every RESULT frame that comes to any rank is compared lane by lane with the first of its
chunk, every rank must have stored every chunk, and every element of the shared result is compared with the sum. As
equal frames are stored as equal values, that covers all ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from emulator.native.pages import address_of
from emulator.network.faults.parts import Script
from emulator.network.frames.network import Network
from emulator.network.topology.parts import TopologyError
from emulator.network.topology.topology import Topology
from emulator.ports.spec import Impairments
from emulator.switch.core import Switch
from emulator.v1model.compiled import load
from hostagent.controller.core.ports import SWITCH_IP, SWITCH_MAC
from hostagent.controller.core.slots import LARGEST_WINDOW, SMALLEST_WINDOW
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.lab.aggregation_tree import AggregationTree, aggregation_tree, configs_of
from hostagent.lab.p4_entries import EntryIds, install_job, remove_job
from hostagent.lab.simulated_controller import SimulatedController
from hostagent.lab.simulated_faults import SimulatedFaults, needs_controller
from hostagent.lab.simulated_ranks import Array, SimulatedRank
from hostagent.protocol.dtypes import DType
from hostagent.protocol.frames import Addresses
from hostagent.protocol.operation import REQUEST, Operation, OperationKind, Span, request_of
from hostagent.protocol.window import MOST_CHILDREN, MOST_RANKS
from hostagent.protocol.wire import ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES, full_frame_bytes
from hostagent.protocol.worker import (
    FAILED_BY_CALLER,
    CoreSettings,
    core_fail,
    core_freeze,
    core_resume,
    core_submit,
    scratch_bytes,
)
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
FAULTS_LIMIT_NS = 1_800 * 10**9
"""The same where faults may keep it from ending: the time-out of torch's groups."""
OPERATION_RING = 4


class SimulationFailed(RuntimeError):
    """A sum is wrong, or a call does not end: a fault of ours, not of the topology."""


class JobEnded(RuntimeError):
    """A fault of the script's has ended the job; the text says what the ranks learn."""


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
        impairments: Impairments | None = None,
        faults: Script | None = None,
        limit_ns: int | None = None,
        seed: int = 1,
    ) -> None:
        """``hosts``: of ranks 0, 1, ...; without it all of the topology. ``window``: slots, a power of two. ``loss``:
        the probability that a frame is lost, of every link that ``losses`` does not name. ``encapsulation_bytes``: of
        each frame on links, besides its own: `UDP_TUNNEL_BYTES` as live ranks on udp ports. ``impairments``: at the end
        of every link. ``faults``: read for this topology; where it has no seed, ``seed`` is it. ``limit_ns``: of
        virtual time, for a call; default: `FAULTS_LIMIT_NS` with faults, else `CALL_LIMIT_NS`. Frames have checksums
        where they may be damaged. Raises TopologyError."""
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
        script = replace(faults, seed=faults.seed or seed) if faults is not None else Script((), seed)
        usual = impairments or Impairments()
        usual = replace(usual, seed=usual.seed or script.seed)
        if impairments is not None:
            for link in topology.links:
                self.network.impair(link.name, usual)
        self._limit_ns = limit_ns or (FAULTS_LIMIT_NS if faults else CALL_LIMIT_NS)
        self._has_checksums = faults is not None or usual.flips_bits
        self._program = load("allreduce.p4", {"LANES": str(self.lanes)})
        self._ids = EntryIds(self._program)
        self.switches: dict[str, Switch] = {}
        self._installed: dict[str, JobConfig] = {}
        """Parts of the job, by switch."""
        self.cause = ""
        """Why the job has ended, as ranks learn it."""
        self._add_switches()
        controller = self._make_controller() if needs_controller(script) else None
        if controller is None:
            self.install(self._entries())
        self._number, self._epoch = next((part.job, part.epoch) for part in self._installed.values())
        self.ranks = [self._add_rank(rank, name) for rank, name in enumerate(self.tree.hosts)]
        taking_part = self.tree.hosts, self.switches, self._load_again
        self.faults = SimulatedFaults(script, usual, self.network, *taking_part, controller)
        self._request = np.zeros(1, REQUEST)

    def _add_switches(self) -> None:
        for name in configs_of(self.network.topology, self.tree, self._entries()):
            switch = self.switches[name] = Switch()
            switch.load(self._program)
            self.network.add_switch(name, switch)

    def _entries(self) -> JobConfig:
        allowed = not self._has_checksums
        children = tuple(Child(rank, 0, HOST_MAC + 1 + rank, HOST_IP + 1 + rank, allowed) for rank in range(self.count))
        return JobConfig(JOB, 0, EPOCH, 0, self.window, 0, True, SWITCH_MAC, SWITCH_IP, children)

    def _make_controller(self) -> SimulatedController:
        if self.count > MOST_RANKS:
            raise TopologyError(
                f"{self.count} hosts: a controller, which notices kills and restarts, has jobs of at most {MOST_RANKS}"
            )
        if not SMALLEST_WINDOW <= self.window <= LARGEST_WINDOW:
            text = f"{SMALLEST_WINDOW} to {LARGEST_WINDOW}"
            raise TopologyError(f"a window of {self.window} slots: a controller, which notices faults, leases {text}")
        return SimulatedController(self, self.tree.hosts, self.lanes, self.window)

    def _add_rank(self, rank: int, name: str) -> SimulatedRank:
        addresses = Addresses(HOST_MAC + 1 + rank, SWITCH_MAC, HOST_IP + 1 + rank, SWITCH_IP)
        added = SimulatedRank(
            CoreSettings(
                self._number,
                rank,
                self.count,
                self._epoch,
                self.lanes,
                self.window,
                addresses,
                checksum=self._has_checksums,
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

    # --- for the controller and the faults ---

    def install(self, config: JobConfig) -> None:
        """The job in all switches, in place of what they know of it."""
        for name, part in configs_of(self.network.topology, self.tree, config).items():
            if name in self._installed:
                remove_job(self.switches[name], self._ids, self._installed[name])
            install_job(self.switches[name], self._ids, part)
            self._installed[name] = part

    def _load_again(self, name: str) -> None:
        """A switch that was killed has its program again, and no job."""
        self.switches[name].load(self._program)
        self.network.start_again(name, self.switches[name])
        self._installed.pop(name, None)

    def freeze(self, rank: int) -> int:
        """A rank stops; its lowest unfinished chunk."""
        return int(core_freeze(self.ranks[rank].core.address))

    def resume(self, rank: int, epoch: int, base: int) -> None:
        """A rank goes on under a new epoch, from a chunk on."""
        core_resume(self.ranks[rank].core.address, epoch, base, self.network.now_ns)
        self.network.wake(self.tree.hosts[rank])

    def fail(self, rank: int, cause: str) -> None:
        """The job has ended for a rank."""
        self.cause = cause
        core_fail(self.ranks[rank].core.address, FAILED_BY_CALLER)
        self.network.wake(self.tree.hosts[rank])

    # --- calls ---

    def allreduce(
        self,
        elements: int,
        progress: Callable[[int], None] | None = None,
        starts_ns: Sequence[int] = (),
    ) -> Call:
        """A sum of float32 tensors, submitted on all ranks at the same time, or ``starts_ns`` from now, by rank.
        ``progress`` is called with the hops of all calls so far. Raises SimulationFailed, and JobEnded where the faults
        have ended it."""
        tensors = Tensors(self.count, elements)
        before, start_ns = self._counters(), self.network.now_ns
        stored = [rank.core.statistics()["chunks_stored"] for rank in self.ranks]
        needed = scratch_bytes(int(OperationKind.SUM), int(DType.FLOAT32), False, elements, self.lanes)
        scratch = [np.empty(needed, np.uint8) for _ in self.ranks]
        self._compare_results(tensors, elements)
        first_ns = min(starts_ns, default=0)
        offsets_ns = [each - first_ns for each in starts_ns] or [0] * self.count
        for number in sorted(range(self.count), key=offsets_ns.__getitem__):
            rank, name = self.ranks[number], self.tree.hosts[number]
            if offsets_ns[number]:
                self._play(start_ns + offsets_ns[number], progress)
            given, taken = (Span(address_of(each), 0, elements) for each in tensors.of(number))
            operation = Operation("all_reduce", OperationKind.SUM, "float32", 4, elements, given, taken)
            self._request[0] = request_of(operation, address_of(scratch[number]))
            if core_submit(rank.core.address, address_of(self._request)) < 0 and not self.cause:
                raise SimulationFailed(f"the core of {name} refuses the operation")
            if name not in self.faults.killed:
                self.network.submitted(name)
        if not self._play(start_ns + self._limit_ns, progress):
            raise self._stuck()
        chunks = {rank.core.statistics()["chunks_stored"] - was for rank, was in zip(self.ranks, stored, strict=True)}
        self._check(tensors, chunks)
        after = self._counters()
        return Call(
            self.network.now_ns - start_ns,
            chunks.pop(),
            *(now - then for now, then in zip(after, before, strict=True)),
        )

    def _play(self, until_ns: int, progress: Callable[[int], None] | None) -> bool:
        """Let the call and the faults happen until a time. True: all ranks have finished what they have been given."""
        while not self.cause:
            due_ns = min(until_ns, self.faults.next_time_ns())
            if self.network.run(due_ns, progress):
                return True
            if due_ns >= until_ns:
                return False
            self.faults.play(due_ns)
        raise JobEnded(self.cause)

    def _stuck(self) -> Exception:
        """What keeps a call from ending, as far as the switches have told the ranks."""
        if not self.faults.happened:
            return SimulationFailed("the sum does not end")
        hosts, said = self.tree.hosts, list[set[int]]()
        for record in (rank.core.record[0] for rank in self.ranks):
            if self.count <= MOST_CHILDREN and record["waiting_chunk"] >= record["floor"]:
                said.append({rank for rank in range(self.count) if not int(record["waiting_children"]) >> rank & 1})
        # a root waits for all ranks of a leaf, the leaf for some of them
        missing = sorted((set.intersection(*said) or set.union(*said)) if said else ())
        of_whom = ", ".join(f"{hosts[rank]} (rank {rank})" for rank in missing) or "no switch has said of whom"
        waited = f"the sum has not ended after {self._limit_ns / 1e9:g} s of virtual time"
        return JobEnded(f"{waited}; contributions are missing: {of_whom}")

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
