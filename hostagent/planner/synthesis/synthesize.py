"""From a machine and a sketch to a schedule: routing, order, messages; other collectives by inversion; rings beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from emulator.network.messages.simulate import simulate
from emulator.network.schedule.builder import Builder
from emulator.network.schedule.generators import switch_allreduce
from emulator.network.schedule.parts import Chunks, ScheduleError
from emulator.network.schedule.schedule import Schedule
from emulator.network.schedule.verify import verify
from emulator.network.topology.topology import Topology
from hostagent.planner.synthesis.bounds import lower_bound_ns
from hostagent.planner.synthesis.contiguity import climbed, joined
from hostagent.planner.synthesis.inputs import Machine, Sketch
from hostagent.planner.synthesis.ordering import Message, Rule, ordered
from hostagent.planner.synthesis.problem import Problem, Step, all_edges, allgather_pieces, sketched_problem
from hostagent.planner.synthesis.program import SCIPY, Solver
from hostagent.planner.synthesis.routing import Routing, greedy_steps, route, routing_time_ns
from hostagent.planner.synthesis.slots import slotted

COLLECTIVES = ("allgather", "alltoall", "reduce_scatter", "allreduce")
ROUTING_SHARE, SLOTS_SHARE = 0.5, 0.25
"""Of the time limit; what they leave is for messages."""
MIN_LIMIT_S = 0.2
"""Of a program."""
WORTH_JOINING, MANY_STEPS = 0.02, 700
"""See `_worth_joining`."""
MOST_PIECES = 64
"""Of data that switches sum, tried in powers of two."""


@dataclass(frozen=True, slots=True)
class Plan:
    collective: str
    schedule: Schedule
    problem: Problem
    messages: tuple[Message, ...]
    """Of the schedule, but for the half of an allreduce that is backwards."""
    elapsed_ns: int
    """Simulated, links taken by one message at a time."""
    bound_ns: int
    """No plan of these pieces over these edges is faster."""
    separate_ns: int
    """The same with a message for each piece."""
    routing: Routing
    greedy_ns: int
    """Of the greedy routing, by the same rules."""
    routing_s: float
    messages_s: float

    @property
    def gap(self) -> float:
        return 1 - self.bound_ns / self.elapsed_ns


def synthesize(
    machine: Machine,
    sketch: Sketch,
    collective: str,
    size_bytes: int,
    *,
    time_limit_s: float = 60.0,
    coalesce: bool = True,
    solver: Solver = SCIPY,
) -> Plan:
    """``size_bytes``: what each rank gives to an allgather, to each other rank in an alltoall, and what each rank gets
    of a reduce_scatter; an allreduce is a reduce_scatter and an allgather of such parts. The plan is verified. Raises
    TopologyError for what is not possible."""
    begin = monotonic()
    problem = sketched_problem(machine, sketch, "alltoall" if collective == "alltoall" else "allgather", size_bytes)
    routing = route(problem, ROUTING_SHARE * time_limit_s, solver)
    routed = monotonic()
    name = f"{machine.topology.name}-{collective}"

    def schedule_of(found: Sequence[Message]) -> Schedule:
        return as_schedule(problem, found, collective, name)

    def separate(order: Sequence[Step]) -> Schedule:
        return schedule_of([Message((piece,), edge) for piece, edge in order])

    ways = [routing.steps, greedy_steps(problem)]
    orders = [ordered(problem, steps, rule) for steps in ways for rule in Rule]
    timed = [(simulate(separate(order)).elapsed_ns, number) for number, order in enumerate(orders)]
    left = SLOTS_SHARE * time_limit_s
    if problem.order is None and (order := slotted(problem, routing.bound_ns, min(timed)[0], left, solver)):
        orders.append(order)
        timed.append((simulate(separate(order)).elapsed_ns, len(orders) - 1))
    separate_ns, chosen = min(timed)
    best, elapsed_ns = [Message((piece,), edge) for piece, edge in orders[chosen]], separate_ns
    for order in _distinct(orders, timed) if coalesce else ():
        edges = _worth_joining(problem, order)
        left = (time_limit_s - (monotonic() - begin)) / 4
        if not edges or left < MIN_LIMIT_S:
            continue
        climb = climbed(problem, order, edges, lambda found: simulate(schedule_of(found)).elapsed_ns, left)
        climb_ns = simulate(schedule_of(climb)).elapsed_ns
        for each in (climb, joined(problem, order, min(climb_ns, elapsed_ns), left, edges, solver)):
            if each and (took := simulate(schedule_of(each)).elapsed_ns) < elapsed_ns:
                best, elapsed_ns = each, took
    schedule = schedule_of(best)
    run = simulate(schedule)
    verify(schedule, run.start_ns, run.finish_ns)
    return Plan(
        collective,
        schedule,
        problem,
        tuple(best),
        elapsed_ns,
        lower_bound_ns(problem, collective, routing),
        separate_ns,
        routing,
        routing_time_ns(problem, ways[1]),
        routed - begin,
        monotonic() - routed,
    )


def _worth_joining(problem: Problem, order: Sequence[Step]) -> list[int]:
    """Edges on which alpha is much of a piece's time, those to other nodes first; of long orders only these."""

    def share(edge: int) -> float:
        return sum(problem.alpha_ns[link] for link in problem.edges[edge].links) / problem.passage_ns(edge, 1)

    used = {edge for _, edge in order if problem.edges[edge].remote or len(order) <= MANY_STEPS}
    return sorted((edge for edge in used if share(edge) >= WORTH_JOINING), key=lambda edge: (-share(edge), edge))


def as_schedule(problem: Problem, found: Sequence[Message], collective: str, name: str) -> Schedule:
    """Allgather and alltoall as they are; a reduce_scatter is an allgather backwards in time, with sums where copies
    were; an allreduce is both. Raises ScheduleError where a link has none back."""
    everybody = tuple(range(problem.ranks))
    reduces = collective in ("reduce_scatter", "allreduce")
    chunks = []
    for piece in problem.pieces:
        ends = {"alltoall": piece.destinations, "reduce_scatter": (piece.source,)}.get(collective, everybody)
        chunks.append(Chunks(1, problem.piece_bytes, everybody if reduces else (piece.source,), ends))
    links = problem.topology.links
    builder = Builder(name, problem.topology, chunks)
    if reduces:
        back = _links_back(problem.topology)
        for each in reversed(found):
            edge = problem.edges[each.edge]
            builder.reduce(edge.destination, edge.source, each.pieces, route=[back[x] for x in reversed(edge.links)])
    if collective != "reduce_scatter":
        for each in found:
            edge = problem.edges[each.edge]
            builder.send(edge.source, edge.destination, each.pieces, route=[links[link].name for link in edge.links])
    return builder.build()


def rings(machine: Machine, collective: str, size_bytes: int) -> Schedule | None:
    """What NCCL does without a plan: rings through all GPUs, one for each NIC of a node, with a part of the data each.
    None: there are no rings for alltoall, or not all neighbors have a link."""
    ranks, gpus = len(machine.topology.hosts), machine.gpus
    count = machine.nics if ranks > gpus else 1
    if collective == "alltoall" or size_bytes % (4 * count):
        return None
    edges = tuple(all_edges(machine, size_bytes // count))
    at = {(edge.source, edge.destination): index for index, edge in enumerate(edges)}
    problem = Problem(machine.topology, ranks, edges, tuple(allgather_pieces(ranks, count)), size_bytes // count, ())
    cycles = []
    for number in range(count):
        turned = number * gpus // count
        order = (*machine.rings[turned:], *machine.rings[:turned])
        cycles.append([node * gpus + gpu for node in range(ranks // gpus) for gpu in order])
    if any((cycle[at_rank - 1], cycle[at_rank]) not in at for cycle in cycles for at_rank in range(ranks)):
        return None
    found = []
    for step in range(ranks - 1):
        for position in range(ranks):
            for number, cycle in enumerate(cycles):
                pair = cycle[position], cycle[(position + 1) % ranks]
                found.append(Message((cycle[(position - step) % ranks] * count + number,), at[pair]))
    return as_schedule(problem, found, collective, f"{machine.topology.name}-{collective}-rings")


def in_switches(machine: Machine, collective: str, size_bytes: int) -> Schedule | None:
    """The fastest allreduce that switches sum, of as much data as `synthesize` has, in up to `MOST_PIECES` pieces. None
    for other collectives, where no switch reaches all ranks, and of a machine whose switches do not sum."""
    if collective != "allreduce" or not machine.switches_sum:
        return None
    total = size_bytes * len(machine.topology.hosts)
    counts = [1 << power for power in range(MOST_PIECES.bit_length()) if 1 << power <= total // 4]
    try:
        made = [switch_allreduce(machine.topology, total, pieces=count) for count in counts]
    except ScheduleError:
        return None
    return min(made, key=lambda schedule: simulate(schedule).elapsed_ns, default=None)


def _links_back(topology: Topology) -> dict[int, str]:
    found: dict[int, str] = {}
    for index, link in enumerate(topology.links):
        if back := topology.links_between(link.destination, link.source):
            found[index] = back[0].name
        else:
            raise ScheduleError(f"{link.name} has no link back, which sums take: give the topology both directions")
    return found


def _distinct(orders: Sequence[list[Step]], timed: Sequence[tuple[int, int]]) -> list[list[Step]]:
    """The two best orders that differ, the best one first."""
    found: list[list[Step]] = []
    for _, number in sorted(timed):
        if orders[number] not in found:
            found.append(orders[number])
    return found[:2]
