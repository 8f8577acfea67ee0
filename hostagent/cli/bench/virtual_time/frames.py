"""``netsum bench frames``: frames over links per second of wall time on one core, next to SimPy's.

Ours are the compiled worker cores and the compiled P4 program on a topology's links (``hostagent.lab.simulated_job``):
every tensor is quantized, summed and verified. SimPy's model (``simpy_model``) has the same topology, links, tree,
frames and window, and no data: it counts contributions. Both must take the same virtual time, or nearly: cores begin
with a smaller window.
"""

from __future__ import annotations

from hostagent.cli.bench.runner import BenchError, Report, Row
from hostagent.cli.topology import built
from hostagent.lab.simulated_job import SimulatedJob

NETWORKS = ("star=8", "tree=8x8", "fat-tree=8")
LANES, WINDOW, SEED = 256, 128, 1
CALLS = 3
MODEL_FRAMES = 50_000
"""Of SimPy's run on all links, about: half a second or more."""


def rows_of(text: str, size_bytes: int) -> Row:
    """One network. Raises BenchError where the two disagree."""
    from hostagent.cli.bench.virtual_time.simpy_model import play

    kind, _, size = text.partition("=")
    topology = built(kind, size)
    job = SimulatedJob(topology, lanes=LANES, window=WINDOW, seed=SEED)
    job.allreduce(1)  # links, cores and switches have touched their memory
    elements = size_bytes // 4
    rates, calls = [], []
    for _ in range(CALLS):
        before_ns = job.network.wall_ns
        calls.append(job.allreduce(elements))
        rates.append(calls[-1].hops * 1e9 / (job.network.wall_ns - before_ns))
    chunks = max(WINDOW, min(calls[0].chunks, MODEL_FRAMES // len(job.tree.links)))
    model = play(topology, job.tree, chunks, LANES, WINDOW)
    expected_ns = model.elapsed_ns * calls[0].chunks / chunks
    if not 0.9 * expected_ns < calls[-1].elapsed_ns < 1.1 * expected_ns:
        raise BenchError(f"{text}: {calls[-1].elapsed_ns} ns of virtual time, in SimPy's model {expected_ns:.0f} ns")
    return Row(
        f"{topology.name}, {job.count} hosts",
        max(rates),
        "hop/s",
        "SimPy",
        model.hops / model.wall_s,
        f"{calls[-1].elapsed_ns / 1e6:.2f} ms of virtual time",
        {"hops": calls[-1].hops, "rates": rates, "model_hops": model.hops, "model_elapsed_ns": model.elapsed_ns},
    )


def measure(networks: tuple[str, ...] = NETWORKS, size_bytes: int = 16_000_000) -> Report:
    """A row for each network."""
    try:
        rows = [rows_of(text, size_bytes) for text in networks]
    except ImportError as error:
        raise BenchError("SimPy is missing: pip install simpy") from error
    title = f"allreduce of {size_bytes / 1e6:g} MB simulated frame by frame, {LANES} lanes, window {WINDOW}, one core"
    return Report("frames", title, rows, SEED)
