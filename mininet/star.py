"""Allreduce on a star of Mininet hosts, at several link rates: summed in the switch, and by gloo's ring.

sudo .venv/bin/python mininet/star.py --hosts 4 --size-mib 8 --rate 50 --rate 100 --csv star.csv --plot star.png
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path
from typing import Any

from star_network import StarNetwork

BACKENDS = {"netsum": "summed in the switch", "gloo": "gloo's ring"}


def crossings(backend: str, hosts: int) -> float:
    """How often a tensor crosses each host's link in each direction."""
    return 1.0 if backend == "netsum" else 2 * (hosts - 1) / hosts


def measure(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each rate and backend."""
    rows = []
    for rate_mbit in arguments.rate:
        network = StarNetwork(arguments.hosts, rate_mbit)
        try:
            with network.aggregation(arguments.impair) as controller:
                for backend in BACKENDS:
                    ranks = network.allreduce(backend, controller, arguments.size_bytes, arguments.calls)
                    rows.append(row(arguments, rate_mbit, backend, ranks))
                    print(line(rows[-1]), flush=True)
        finally:
            network.stop()
    return rows


def row(arguments: argparse.Namespace, rate_mbit: float, backend: str, ranks: list[dict[str, Any]]) -> dict[str, Any]:
    limit_s = crossings(backend, arguments.hosts) * arguments.size_bytes * 8 / (rate_mbit * 1e6)
    return {
        "backend": backend,
        "hosts": arguments.hosts,
        "size_bytes": arguments.size_bytes,
        "link_mbit": rate_mbit,
        "median_ms": round(1e3 * max(rank["median_s"] for rank in ranks), 2),
        "link_limit_ms": round(1e3 * limit_s, 2),
        "sent_bytes": round(max(rank["sent_bytes"] for rank in ranks)),
        "received_bytes": round(max(rank["received_bytes"] for rank in ranks)),
    }


HEADING = f"{'link':>10} {'':8} {'allreduce':>10} {'the link alone':>15} {'sent a host':>12}"


def line(found: dict[str, Any]) -> str:
    sent_mib = found["sent_bytes"] / (1 << 20)
    return (
        f"{found['link_mbit']:>5g} Mbit {found['backend']:8} {found['median_ms']:>7.0f} ms"
        f" {found['link_limit_ms']:>12.0f} ms {sent_mib:>8.2f} MiB"
    )


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Time against rate; dashed, what the links alone would allow."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot, ticker

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for backend, words in BACKENDS.items():
        mine = sorted((found for found in rows if found["backend"] == backend), key=lambda found: found["link_mbit"])
        rates = [found["link_mbit"] for found in mine]
        (measured,) = axes.plot(rates, [found["median_ms"] for found in mine], "o-", label=words)
        limits = [found["link_limit_ms"] for found in mine]
        axes.plot(rates, limits, "--", color=measured.get_color(), label="the same, links alone")
    axes.set(xscale="log", yscale="log", xlabel="rate of each link, Mbit/s", ylabel="time of an allreduce, ms")
    ticks = sorted({found["link_mbit"] for found in rows})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_title(f"{rows[0]['size_bytes'] / (1 << 20):g} MiB of float32 on {rows[0]['hosts']} hosts in a star")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=4, metavar="N", help="number of hosts; default 4")
    parser.add_argument("--size-mib", type=float, default=8.0, metavar="MIB", help="size of the tensor; default 8")
    parser.add_argument(
        "--rate", type=float, action="append", metavar="MBIT", help="rate of each link; repeatable; default 100"
    )
    parser.add_argument("--calls", type=int, default=5, help="timed calls at each point; default 5")
    parser.add_argument("--impair", default="", metavar="TEXT", help="impairments of ports, as for netsum run")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="CSV file for the rows")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="picture to draw")
    arguments = parser.parse_args()
    arguments.rate = arguments.rate or [100.0]
    arguments.size_bytes = 4 * int(arguments.size_mib * (1 << 18))
    if not 2 <= arguments.hosts <= 64:
        parser.error("--hosts is from 2 to 64")
    return arguments


def main() -> None:
    arguments = parsed()
    if os.geteuid() != 0:
        sys.exit("Mininet makes network namespaces: run this as root")
    print(HEADING)
    rows = measure(arguments)
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    if arguments.plot:
        draw(rows, arguments.plot)


if __name__ == "__main__":
    main()
