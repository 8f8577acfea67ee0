"""``netsum ranks``: probe, solve, apply, evaluate: which rank runs where."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from hostagent.cli.bench.command import parse_size
from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import UsageError, argument, command, integer, number, option, refuse

ALGORITHM = option("--algorithm", metavar="NAME", help="Allreduce: ring, hd (halving-doubling), tree or bcube.")
SIZE = option("--size", metavar="SIZE", help="Bytes of the allreduce at each rank.")
LARGE = option("--bytes", dest="large", metavar="SIZE", help="Bytes of messages that measure rates; 0: latency only.")
NOISY = option("--noisy", metavar="SHARE", type=number(0, 1), help="Share of machines with a noisy neighbour, 0 to 1.")
JITTER = option("--jitter", metavar="SHARE", type=number(0), help="Mean delay of a simulated sample, of a round trip.")
SEED = option("--seed", metavar="N", type=integer(0), help="Seed of places, noise, jitter and search.")
CLOUD = "Simulated cloud: [PODSx]RACKSxMACHINESxVMS."


def _mistakes() -> tuple[type[Exception], ...]:
    from emulator.network.topology.parts import TopologyError

    return (TopologyError,)


def _shape(text: str) -> tuple[int, ...]:
    parts = text.split("x")
    if not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):
        raise UsageError(f"{text!r} is no cloud: write 4x4x4 for 4 racks of 4 machines of 4 VMs", "--cloud")
    return tuple(map(int, parts))


@command(
    option("-n", "--nproc", dest="ranks", metavar="N", type=integer(2), help="Number of live ranks to probe."),
    option("--cloud", metavar="SHAPE", help=CLOUD),
    option("-o", "--output", metavar="FILE", type=Path, required=True, help="File for the costs, JSON."),
    LARGE,
    NOISY,
    JITTER,
    SEED,
    option("--impair", metavar="TEXT", help="Impairments of every port of live ranks, e.g. 'delay=1ms'."),
    mistakes=_mistakes,
)
def probe(
    *,
    ranks: int | None = None,
    cloud: str | None = None,
    output: Path,
    large: str = "0",
    noisy: float = 0.0,
    jitter: float = 0.2,
    seed: int = 1,
    impair: str = "",
    given: Mapping[str, str],
) -> int:
    """Measure the round trips of all pairs of ranks, in rounds in which no rank has two partners: of live ranks around
    a switch (-n), or of ranks at random places of a simulated cloud (--cloud), in virtual time.

    Example:
      netsum ranks probe --cloud 4x4x4 --noisy 0.2 --seed 7 -o costs.json
      netsum ranks probe -n 4 -o live.json
    """
    from hostagent.planner.placement.costs import write_costs

    if (ranks is None) == (cloud is None):
        raise UsageError("one of the two says what is probed", "-n, --cloud")
    large_bytes = parse_size(large)
    if cloud is None:
        refuse(given, "applies to --cloud", "noisy", "jitter", "seed")
    else:
        refuse(given, "applies to live ranks, -n", "impair")
    if cloud is not None:
        from hostagent.launch.terminal import progress
        from hostagent.planner.placement.cloud import make_cloud
        from hostagent.planner.placement.probe import probe_cloud

        with progress("probing") as update:
            probed = probe_cloud(
                make_cloud(_shape(cloud), seed, noisy),
                seed,
                jitter,
                large_bytes,
                done=lambda text, count, total: update(description=text, completed=count, total=total),
            )
            write_costs(probed, output)
        return 0
    from hostagent.launch.launcher import RunOptions, run_training

    write_probe = "hostagent.planner.placement.live"
    arguments = (str(output.absolute()), str(large_bytes))
    return run_training(
        RunOptions(
            ranks=ranks or 0,
            script=write_probe,
            arguments=arguments,
            module=True,
            impairments=impair,
            command="netsum ranks probe",
        )
    )


@command(
    argument("file", metavar="COSTS", type=Path, help="Costs, as of netsum ranks probe."),
    ALGORITHM,
    SIZE,
    option("--seed", metavar="N", type=integer(0), help="Seed of the search, beyond 9 ranks."),
    option("-o", "--output", metavar="FILE", type=Path, help="File for the order, JSON."),
    option("--plot", metavar="FILE.png", type=Path, help="Picture of the costs before and after."),
    AS_JSON,
    mistakes=_mistakes,
)
def solve(
    file: Path,
    *,
    algorithm: str = "ring",
    size: str = "64KiB",
    seed: int = 1,
    output: Path | None = None,
    plot: Path | None = None,
    as_json: bool = False,
) -> int:
    """Find the order of ranks in which an allreduce is cheapest: exactly for up to 9 ranks, else by a search.

    Example:
      netsum ranks solve costs.json --algorithm hd -o order.json --plot hd.png
    """
    from emulator.network.topology.draw import check_picture
    from hostagent.planner.placement.apply import write_order
    from hostagent.planner.placement.costs import read_costs
    from hostagent.planner.placement.model import ALGORITHMS, allreduce_model
    from hostagent.planner.placement.picture import draw
    from hostagent.planner.placement.solve import solve as solved

    if algorithm not in ALGORITHMS:
        raise UsageError(f"{algorithm!r}: choose one of {', '.join(ALGORITHMS)}", "--algorithm")
    if plot is not None:
        check_picture(plot)
    costs = read_costs(file)
    size_bytes = parse_size(size)
    model = allreduce_model(algorithm, costs, size_bytes)
    found = solved(model, seed)
    hosts = [costs.names[host] for host in found.order]
    record = {"algorithm": algorithm, "size_bytes": size_bytes, **asdict(found)}
    del record["order"]
    if output is not None:
        write_order(hosts, record, output)
    if plot is not None:
        draw(model, found, plot)
    if as_json:
        print(json.dumps({"hosts": hosts, **record}))
    else:
        how = "exact" if found.is_exact else "searched"
        print(f"{algorithm}, {model.ranks} ranks, {size_bytes} bytes ({how})")
        print(f"cost:      {found.given_cost_ns / 1e3:,.1f} us as given, {found.cost_ns / 1e3:,.1f} us reordered")
        ratio = found.given_elapsed_ns / found.elapsed_ns if found.elapsed_ns else 1.0
        print(
            f"predicted: {found.given_elapsed_ns / 1e3:,.1f} us, {found.elapsed_ns / 1e3:,.1f} us: {ratio:.2f}x faster"
        )
        print(f"order:     {' '.join(hosts)}")
    return 0


@command(
    argument("order", metavar="ORDER", type=Path, help="Order, as of netsum ranks solve -o."),
    option("--hostfile", metavar="FILE", type=Path, help="Host file to write, for MPI launchers."),
    option("--rankfile", metavar="FILE", type=Path, help="Rank file to write, for Open MPI."),
    option(
        "--torchrun", metavar="FILE", type=Path, help="Environment to write: source it on each host, then torchrun."
    ),
    mistakes=_mistakes,
)
def apply(
    order: Path, *, hostfile: Path | None = None, rankfile: Path | None = None, torchrun: Path | None = None
) -> int:
    """Write an order of ranks for what starts them, one rank on each host.

    Example:
      netsum ranks apply order.json --hostfile hosts.txt --torchrun env.sh
    """
    from hostagent.planner.placement.apply import FORMS, read_order
    from hostagent.planner.placement.costs import write_text

    given = {"hostfile": hostfile, "rankfile": rankfile, "torchrun": torchrun}
    if not any(given.values()):
        raise UsageError("say what to write", ", ".join(f"--{form}" for form in FORMS))
    found = read_order(order)
    for form, path in given.items():
        if path is not None:
            write_text(path, FORMS[form](found))
    return 0


@command(
    option("--cloud", metavar="SHAPE", help=CLOUD),
    option("--seeds", metavar="N", type=integer(1), help="Number of clouds, with seeds from 1 on."),
    SIZE,
    NOISY,
    JITTER,
    LARGE,
    option("--compute", metavar="MS", type=number(0), help="Milliseconds of a training step before each allreduce."),
    AS_JSON,
    mistakes=_mistakes,
)
def evaluate(
    *,
    cloud: str = "4x4x4",
    seeds: int = 3,
    size: str = "1KiB",
    noisy: float = 0.0,
    jitter: float = 0.2,
    large: str = "0",
    compute: float | None = None,
    as_json: bool = False,
) -> int:
    """Probe simulated clouds, solve, and simulate each allreduce before and after: predicted and measured gains, and
    with --compute that of a training step.

    Example:
      netsum ranks evaluate --cloud 4x4x4 --seeds 3
      netsum ranks evaluate --size 10KiB --bytes 64KiB --compute 0.4
    """
    from statistics import fmean

    from hostagent.launch.terminal import print_table
    from hostagent.planner.placement.cloud import make_cloud
    from hostagent.planner.placement.costs import PlacementError
    from hostagent.planner.placement.evaluate import evaluate as evaluated
    from hostagent.planner.placement.model import ALGORITHMS
    from hostagent.planner.placement.probe import probe_cloud

    clouds = [make_cloud(_shape(cloud), seed, noisy) for seed in range(1, seeds + 1)]
    probed = [(each, probe_cloud(each, seed, jitter, parse_size(large))) for seed, each in enumerate(clouds, 1)]
    found = {}
    for name in ALGORITHMS:
        try:
            found[name] = [evaluated(*each, name, parse_size(size)) for each in probed]
        except PlacementError as error:  # not for so many ranks
            print(f"left out: {error}", file=sys.stderr)
    if not found:
        return 2
    rows = [
        {
            "algorithm": name,
            "given_us": fmean(run.given_ns / 1e3 for run in runs),
            "reordered_us": fmean(run.reordered_ns / 1e3 for run in runs),
            "predicted": fmean(run.predicted for run in runs),
            "measured": fmean(run.measured for run in runs),
            "largest_error": max(abs(run.predicted / run.measured - 1) for run in runs),
            **({} if compute is None else {"step": fmean(run.step(compute * 1e6) for run in runs)}),
        }
        for name, runs in found.items()
    ]
    if as_json:
        print(json.dumps(rows))
        return 0
    texts = [
        (
            str(row["algorithm"]),
            *(f"{row[name]:,.1f}" for name in ("given_us", "reordered_us")),
            *(f"{row[name]:.2f}x" for name in ("predicted", "measured")),
            f"{row['largest_error']:.1%}",
            *([f"{row['step']:.2f}x"] if "step" in row else []),
        )
        for row in rows
    ]
    headings = ("algorithm", ">given us", ">reordered us", ">predicted", ">measured", ">largest error", ">step")
    print_table(headings[: len(texts[0])], texts)
    return 0
