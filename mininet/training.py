"""Time of a training step with DDP on hosts with slow links: gradients summed in the network, and by gloo's ring.

sudo .venv/bin/python mininet/training.py --rate 10,100,1000 --out training
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator
from pathlib import Path

from experiment import (
    LOSS,
    RATE,
    WORKERS,
    Axis,
    OptionParser,
    Row,
    add_network_options,
    check_network_options,
    choose_network,
    columns_of,
    crossings,
    draw,
    hosts_text,
    origin,
    points,
    publish,
    record,
)
from training_models import MODELS

RANK_SCRIPT = str(Path(__file__).resolve().parent / "training_rank.py")
MODEL = Axis("model", "model", str)


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """A row for each timed step, as they come."""
    common = origin(options)
    for at in points(options):
        for model in options.models:
            row = {**common, "model": model, **at.setting.columns(at.place)}
            words = [RANK_SCRIPT, row["backend"], model, str(options.calls)]
            said = [json.loads(out.splitlines()[-1]) for out in at.network.ranks(words, at.controller)[0]]
            gradient_bytes = 4 * said[0]["parameters"]
            limit_ms = crossings(at.place, at.setting.workers) * gradient_bytes * 8 / (at.setting.slowest_mbit * 1e3)
            row |= {"gradient_bytes": gradient_bytes, "links_alone_ms": round(limit_ms, 3)}
            columns = columns_of(said, ("times_s", "alone_s", "losses"))
            for call, (time_s, alone_s, loss) in enumerate(columns, 1):
                measured = {"ms": round(1e3 * time_s, 3), "computing_ms": round(1e3 * alone_s, 3)}
                yield {**row, "call": call, **measured, "largest_loss": round(loss, 5)}


HEADING = (
    f"{'hosts':>5} {'link':>10} {'loss':>6} {'model':6} {'where':10} {'median':>10} {'fastest':>9} {'slowest':>9} "
    f"{'computing':>10} {'links alone':>12}"
)


def line(rows: list[Row]) -> str:
    first, times_ms = rows[0], [row["ms"] for row in rows]
    alone_ms = statistics.median(row["computing_ms"] for row in rows)
    return (
        f"{first['workers']:>5} {first['rate_mbit']:>5g} Mbit {100 * first['loss']:>4g} % "
        f"{first['model']:6} {first['where']:10} "
        f"{statistics.median(times_ms):>7.0f} ms {min(times_ms):>6.0f} ms {max(times_ms):>6.0f} ms "
        f"{alone_ms:>7.0f} ms {first['links_alone_ms']:>9.0f} ms"
    )


def models(text: str) -> list[str]:
    """``cnn,dense``: names."""
    found = list(dict.fromkeys(text.split(",")))
    if unknown := [each for each in found if each not in MODELS]:
        raise argparse.ArgumentTypeError(f"there is no model {unknown[0]!r}: choose of {', '.join(MODELS)}")
    return found


def parsed() -> argparse.Namespace:
    parser = OptionParser(__doc__)
    add_network_options(parser, [10.0, 100.0, 1000.0], in_virtual_time=False)  # computing takes none
    help_text = "cnn (the demo's), dense (much to send for what it computes); default both"
    parser.add_argument("--models", type=models, default=list(MODELS), metavar="NAME,..", help=help_text)
    help_text = "folder for steps.csv, a row for each step, training.png and report.html"
    parser.add_argument("--out", type=Path, metavar="DIR", help=help_text)
    options = parser.parse_args()
    options.faults, options.slots = None, []
    check_network_options(parser, options)
    choose_network(parser, options)
    return options


def main() -> None:
    options = parsed()
    print(HEADING)
    rows = record(options, measure(options), "steps.csv", line)
    if options.out:
        draw(
            rows, options.out / "training.png", (LOSS, WORKERS, RATE), (MODEL,), "time of a training step, ms", "summed"
        )
        publish(options.out, f"Time of a training step: {hosts_text(options.workers)}, on {options.network.kind}")


if __name__ == "__main__":
    main()
