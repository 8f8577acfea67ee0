"""Time of an allreduce on hosts with slow links: summed in the network, and by gloo's ring.

sudo .venv/bin/python mininet/allreduce.py --workers 4 --rate 50,100 --sizes 1MB,8MB --out results
sudo .venv/bin/python mininet/allreduce.py --loss 0,0.1%,1%,5% --impair 'delay=1ms&seed=7' --slow 3=10 --out loss
sudo .venv/bin/python mininet/allreduce.py --aggregator p4,server --tree 2x2 --calls 20 --out where
sudo .venv/bin/python mininet/allreduce.py --jobs 2 --aggregator p4,server --out jobs
sudo .venv/bin/python mininet/allreduce.py --workers 2 --tcp 1 --rate 50 --out shares
sudo .venv/bin/python mininet/allreduce.py --jobs 2 --slots 0,64,128,256,512 --out slots
sudo .venv/bin/python mininet/allreduce.py --faults faults.yaml --calls 20 --out faults
sudo .venv/bin/python mininet/allreduce.py --rate 50,100 --sizes 1MB,4MB,16MB --compare virtual --out compared
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiment import (
    LOSS,
    OVERFLOW,
    RATE,
    SIZE,
    SLOTS,
    VIRTUAL_MS,
    WORKERS,
    OptionParser,
    Point,
    Row,
    Setting,
    add_network_options,
    check_combinations,
    check_network_options,
    choose_network,
    columns_of,
    crossings,
    draw,
    draw_shares,
    hosts_text,
    origin,
    points,
    publish,
    record,
    sizes,
    slot_counts,
)
from networks import Network, TcpFlows, tree_topology
from virtual import ONE_FRAME_BYTES, Said, VirtualNetwork

from emulator.network.faults.files import read_faults
from emulator.network.topology.description import DescriptionError
from emulator.network.topology.parts import NodeKind
from emulator.ports.units import size_text
from hostagent.protocol.window import MOST_BY_SOCKETS

RANK_SCRIPT = str(Path(__file__).resolve().parent / "allreduce_rank.py")
MOST_JOBS = 4
MOST_FLOWS = 8
CONGESTION_CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
EXCLUDED = {
    "jobs": ("tree", "faults", "on"),
    "tcp": ("tree", "faults", "compare", "on", "mtu"),  # queues count frames: TCP's are as long at an MTU of 1500 only
    "slots": ("tree", "faults", "tcp", "aggregator", "on"),
    "compare": ("jobs", "faults", "slots", "aggregator", "on"),
    "faults": ("tree", "aggregator"),
}
"""What an option cannot be measured with; ``on``: --on virtual."""
MEASURED = ("times_s", "sent_bytes", "received_bytes")
ONE_FRAME_CALLS = 21


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """A row for each timed call, as they come."""
    common = origin(options)
    sharing = {"jobs": options.jobs, "tcp": options.tcp, "tcp_control": options.tcp_control or ""}
    for at in points(options, int(options.tcp > 0), options.jobs):
        parameters = at.setting.columns(at.place)
        first = {name: parameters.pop(name) for name in ("workers", "rate_mbit", "loss")}
        simulated = in_virtual_time(at) if options.compare else None
        for size_bytes in options.sizes:
            row = {**common, **sharing, **first, "size_bytes": size_bytes, **parameters}
            all_bits = 8 * size_bytes * (options.jobs + options.tcp)
            row["links_alone_ms"] = round(all_bits / 1e3 / links_mbit(options, at.setting, at.place), 3)
            before = at_server(at)
            said, tcp_mbit = with_tcp(options, at, row)
            each = (at_server(at) - before) // (options.jobs * (1 + options.calls))
            also = {} if at.setting.slots is None else {"server_received_bytes": each}
            bits = 8 * size_bytes * crossings(at.place, at.setting.workers)
            yield from ({**measured, **also} for measured in rows_of(row, said, bits, tcp_mbit, simulated))


def with_tcp(options: argparse.Namespace, at: Point, row: Row) -> tuple[list[Said], Sequence[float]]:
    """What ranks say, of each job, and what TCP flows have carried meanwhile: Mbit/s of each."""
    if not options.tcp:
        return said_by(options, at, row), ()
    assert isinstance(at.network, Network)
    with at.network.tcp(TcpFlows(options.tcp, options.tcp_control)) as carried:
        said = said_by(options, at, row)
        ranks = [rank for job in said for rank in job]
        from_s = max(rank["starts_s"][0] for rank in ranks)
        return said, carried(from_s, min(rank["starts_s"][-1] + rank["times_s"][-1] for rank in ranks))


def links_mbit(options: argparse.Namespace, setting: Setting, place: str) -> float:
    """The rate at which the links alone would sum the tensors of all jobs. What overflows crosses the server's
    link once for each worker."""
    if setting.slots is None:
        return setting.slowest_mbit / crossings(place, setting.workers)
    fair = setting.slots // options.jobs
    share = min(1.0, (1 << fair.bit_length() >> 1) / MOST_BY_SOCKETS)
    slowest_mbit = min(setting.rates_mbit)
    return min(slowest_mbit, setting.uplink_mbit / (setting.workers * (1 - share))) if share < 1 else slowest_mbit


def at_server(at: Point) -> int:
    """Bytes that the overflow server's node has received; 0 where there is none."""
    if at.setting.slots is None:
        return 0
    assert isinstance(at.network, Network)
    return at.network.received_bytes(at.network.topology.names(NodeKind.SWITCH)[0])


def said_by(options: argparse.Namespace, at: Point, row: Row) -> list[Said]:
    """Of each job, what its ranks say of their calls."""
    if isinstance(at.network, VirtualNetwork):
        return [at.network.calls(row["size_bytes"], options.calls)]
    hosts = at.network.topology.hosts[: at.setting.workers]
    return live_ranks(at, row["backend"], row["size_bytes"], options.calls, options.jobs, hosts)


def live_ranks(
    at: Point, backend: str, size_bytes: int, calls: int, jobs: int = 1, hosts: Sequence[str] = ()
) -> list[Said]:
    """The same of a live network; ``hosts``: the first ones, if not all have ranks."""
    words = [RANK_SCRIPT, backend, *map(str, (size_bytes, calls, jobs))]
    outputs = at.network.ranks(words, at.controller, jobs, hosts)
    return [[json.loads(out.splitlines()[-1]) for out in job] for job in outputs]


def in_virtual_time(at: Point) -> VirtualNetwork:
    """A live network's copy, with the delays of its processes."""
    copy = VirtualNetwork(at.setting.topology(), at.setting.impairments)
    copy.learn_delay(live_ranks(at, "netsum", ONE_FRAME_BYTES, ONE_FRAME_CALLS)[0])
    return copy


def rows_of(
    row: Row, said: Sequence[Said], bits: float, tcp_mbit: Sequence[float], simulated: VirtualNetwork | None
) -> Iterator[Row]:
    """A row for each job's call, from what its ranks say, and a copy in virtual time. ``bits``: what a call takes to
    each host; ``tcp_mbit``: of concurrent flows."""
    jobs = [list(columns_of(ranks, MEASURED)) for ranks in said]
    copied: list[Row] = [{} for _ in jobs[0]]
    if simulated is not None:
        copied = copies(row["size_bytes"], said[0], jobs[0], simulated)
    rates_mbit = [bits / 1e6 / statistics.fmean(time_s for time_s, *_ in calls) for calls in jobs]
    index = round(jain([*rates_mbit, *tcp_mbit]), 4)
    for job, (calls, rate_mbit) in enumerate(zip(jobs, rates_mbit, strict=True), 1):
        for call, (time_s, sent, received) in enumerate(calls, 1):
            starts_s = [rank["starts_s"][call - 1] for rank in said[job - 1]]
            measured = {"ms": round(1e3 * time_s, 3), "sent_bytes": sent, "received_bytes": received, "jain": index}
            measured["starts_apart_ms"] = round(1e3 * (max(starts_s) - min(starts_s)), 3)
            measured["mbit"], measured["tcp_mbit"] = round(rate_mbit, 3), round(statistics.fmean(tcp_mbit or (0.0,)), 3)
            yield {**row, "job": job, "call": call, **measured, **copied[call - 1]}


def copies(size_bytes: int, live: Said, calls: Sequence[tuple[float, ...]], simulated: VirtualNetwork) -> list[Row]:
    """Columns of a copy's calls, of which each begins as the live one."""
    found = []
    host_delay_us = simulated.host_delay_ns / 1e3
    copied = columns_of(simulated.calls(size_bytes, len(calls), live), MEASURED)
    for (live_s, *_), (virtual_s, *_) in zip(calls, copied, strict=True):
        difference = {"difference_percent": round(100 * (virtual_s / live_s - 1), 2)}
        found.append({VIRTUAL_MS: round(1e3 * virtual_s, 3), **difference, "host_delay_us": host_delay_us})
    return found


def jain(rates: Sequence[float]) -> float:
    """Index of fairness (Jain, Chiu, Hawe 1984): 1 where all have the same, 1 / n where one has everything."""
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


HEADING = (
    f"{'hosts':>5} {'link':>10} {'loss':>6} {'size':>8} {'where':10} "
    + f"{'median':>10} {'fastest':>9} {'slowest':>9} {'links alone':>12}"
)


def line(rows: list[Row]) -> str:
    first, times_ms = rows[0], [row["ms"] for row in rows]
    where = first["where"] if first["slots"] == "" else f"{first['slots']} slots"
    shares = f"  job {first['job']}" if first["jobs"] > 1 else ""
    shares += (
        f"  {first['mbit']:.1f} Mbit/s, {first['tcp']} x TCP {first['tcp_mbit']:.1f} Mbit/s" if first["tcp"] else ""
    )
    shares += f", Jain's index {first['jain']:.3f}" if shares else ""
    if VIRTUAL_MS in first:
        virtual_ms, live_ms = statistics.median(row[VIRTUAL_MS] for row in rows), statistics.median(times_ms)
        shares = f"  in virtual time {virtual_ms:.0f} ms ({100 * (virtual_ms / live_ms - 1):+.1f} %)"
    return (
        f"{first['workers']:>5} {first['rate_mbit']:>5g} Mbit {100 * first['loss']:>4g} % "
        f"{size_text(first['size_bytes']):>8} {where:10} "
        f"{statistics.median(times_ms):>7.0f} ms {min(times_ms):>6.0f} ms "
        f"{max(times_ms):>6.0f} ms {first['links_alone_ms']:>9.0f} ms{shares}"
    )


def parsed() -> argparse.Namespace:
    parser = OptionParser(__doc__)
    add_network_options(parser, [100.0])
    add = parser.add_argument
    add("--sizes", type=sizes, default=[8_000_000], metavar="SIZE,..", help="tensors, as 1MB or 16MiB; default 8MB")
    add("--faults", type=Path, metavar="FILE", help="script of faults on h1, h2, ... and s1; netsum alone is measured")
    add(
        "--compare",
        choices=(VirtualNetwork.kind,),
        help="measure live, netsum alone, and simulate each call; rows, page and picture have both",
    )
    add("--jobs", type=int, default=1, metavar="N", help="jobs at once, each with a rank on every host; default 1")
    add("--tcp", type=int, default=0, metavar="N", help="TCP flows from a host of their own to host 1; default 0")
    add("--tcp-control", metavar="NAME", help="their congestion control, as Linux names it; default cubic")
    add(
        "--slots",
        type=slot_counts,
        default=[],
        metavar="N,..",
        help="slots of a switch with an overflow server behind a link of its own (--uplink), a sweep, as 0,64,256",
    )
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for calls.csv, a row for each call, allreduce.png and report.html",
    )
    options = parser.parse_args()
    check_network_options(parser, options)
    if not 1 <= options.jobs <= MOST_JOBS:
        parser.error(f"--jobs is from 1 to {MOST_JOBS}")
    check_combinations(parser, options, EXCLUDED)
    check_tcp(parser, options)
    if options.slots:
        options.fan_outs, options.places = [(1, count) for count in options.workers], [OVERFLOW]
    if options.faults is not None:
        try:
            read_faults(options.faults, tree_topology((min(options.workers),)))
        except DescriptionError as error:
            parser.error(f"--faults: {error}")
    if options.compare or options.faults is not None:
        options.places = ["p4"]
    choose_network(parser, options)
    return options


def check_tcp(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuse flows that this kernel does not have; set their congestion control where none is named."""
    if not 0 <= options.tcp <= MOST_FLOWS:
        parser.error(f"--tcp is from 0 to {MOST_FLOWS}")
    if not options.tcp:
        if options.tcp_control:
            parser.error("--tcp-control: is of the flows of --tcp N, and there are none")
        return
    options.tcp_control = options.tcp_control or "cubic"
    known = CONGESTION_CONTROLS.read_text().split()
    if options.tcp_control not in known:
        parser.error(f"--tcp-control {options.tcp_control}: this kernel has {', '.join(known)}")


def main() -> None:
    options = parsed()
    print(HEADING)
    rows = record(options, measure(options), "calls.csv", line)
    if options.out:
        places = (*([SLOTS] if options.slots else []), LOSS, WORKERS, RATE, SIZE)
        draw(rows, options.out / "allreduce.png", places, (), "time of an allreduce, ms", "summed")
        if options.tcp:
            draw_shares(rows, options.out / "shares.png")
        publish(options.out, f"Time of an allreduce: {hosts_text(options.workers)}, on {options.network.kind}")


if __name__ == "__main__":
    main()
