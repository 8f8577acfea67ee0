"""``netsum demo``: the same training twice, summed by the P4 switch and by gloo, and a report that compares them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from hostagent.cli.bench.runner import machine_facts
from hostagent.cli.demo import figures, terminal

POLL_S = 0.1
TRAINING = Path(__file__).with_name("training.py")
BACKENDS = {"netsum": "P4 switch", "gloo": "gloo"}


class DemoError(Exception):
    """A training run failed; the text says which and how."""


def run_demo(*, workers: int, epochs: int, lanes: int, output: Path, as_json: bool) -> int:
    """Run both trainings, write the report into ``output``; 0 when every check held."""
    console = Console(stderr=as_json)
    try:
        with tempfile.TemporaryDirectory(prefix="netsum-demo-") as folder:
            report = _measure(Path(folder), workers, epochs, lanes, console)
    except DemoError as error:
        console.print(f"netsum demo: {error}", style="bold red", highlight=False)
        return 1
    _write(report, output)
    terminal.show(report, console)
    console.print(f"report: {output / 'report.html'}  data: {output / 'report.json'}", highlight=False)
    if as_json:
        print(json.dumps(report.as_json()))
    return 0 if report.passed else 1


def _measure(folder: Path, workers: int, epochs: int, lanes: int, console: Console) -> figures.Report:
    netsum_command = [sys.executable, "-m", "hostagent.cli.main"]
    counts = folder / "counts.json"
    options = ["run", "-n", str(workers), "--lanes", str(lanes), "--report", str(counts)]
    commands = {
        "netsum": [*netsum_command, *options],
        "gloo": [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={workers}"],
    }
    console.print(f"{workers} processes learn handwritten digits, twice; gradients travel {lanes} numbers to a frame")
    trainings = {}
    columns = (
        TextColumn("{task.description:>10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[now]}"),
    )
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        for backend, name in BACKENDS.items():
            journal = folder / f"{backend}.jsonl"
            task = progress.add_task(name, total=None, now="starting")
            script = [str(TRAINING), "--backend", backend, "--epochs", str(epochs), "--journal", str(journal)]
            _train([*commands[backend], *script], journal, partial(_advance, progress, task), backend)
            trainings[backend] = figures.Training.read(backend, journal)
    network = _network(json.loads(counts.read_text()), lanes)
    return figures.Report(trainings["netsum"], trainings["gloo"], network, machine_facts())


def _advance(progress: Progress, task: Any, line: dict[str, Any]) -> None:
    if "accuracy" in line:
        progress.update(task, now=f"test accuracy {line['accuracy']:.1%}")
    else:
        now = f"epoch {line['epoch']:>2}  loss {line['loss']:.4f}"
        progress.update(task, completed=line["step"], total=line["steps"], now=now)


def _train(command: list[str], journal: Path, seen: Callable[[dict[str, Any]], None], backend: str) -> None:
    """Run one training, passing each line of its journal to ``seen`` while it grows."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        read = 0
        try:
            while True:
                ended = process.poll() is not None
                read = _follow(journal, read, seen)
                if ended:
                    break
                time.sleep(POLL_S)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        if process.returncode:
            log.seek(0)
            tail = "".join(log.readlines()[-25:])
            raise DemoError(f"the {backend} training ended with exit code {process.returncode}:\n{tail}")


def _follow(journal: Path, start: int, seen: Callable[[dict[str, Any]], None]) -> int:
    """Whole lines from byte ``start`` on; returns where to go on."""
    if not journal.exists():
        return start
    with journal.open("rb") as file:
        file.seek(start)
        content = file.read()
    whole = content.rfind(b"\n") + 1
    for line in content[:whole].splitlines():
        seen(json.loads(line))
    return start + whole


def _network(counts: dict[str, Any], lanes: int) -> figures.Network:
    """The gathered counts (see ``hostagent.cli.run_report``) as the report's figures."""
    switch = counts["switch"] or {"ports": {}}
    ports = [
        figures.Port(
            int(number),
            port["spec"],
            port["frames_in"],
            port["bytes_in"],
            port["frames_out"],
            port["bytes_out"],
            sum(port["drops"].values()),
        )
        for number, port in sorted(switch["ports"].items(), key=lambda item: int(item[0]))
    ]
    verdicts: dict[str, int] = {}
    members: dict[int, dict[str, int]] = {}
    for job in counts["jobs"]:
        _add(verdicts, job["verdicts"])
        for member in job["members"]:
            _add(members.setdefault(member["rank"], {}), member["counters"])
    plain = [
        {name: value for name, value in members[rank].items() if not name.startswith(OF_OPERATIONS)}
        for rank in sorted(members)
    ]
    operations = [_operations(members[rank]) for rank in sorted(members)]
    return figures.Network(lanes, ports, verdicts, counts["drops"], plain, operations)


OF_OPERATIONS = ("operation", "latency_ns/", "progress/")
"""Begin the names of counters that are no plain totals of a rank."""
OPERATION = "operation/"
"""Counters that tally operations: ``operation/COLLECTIVE/OPERATOR/DTYPE/ELEMENTS``."""


def _operations(counters: dict[str, int]) -> list[figures.Operations]:
    found = []
    for name, calls in sorted(counters.items()):
        if name.count("/") == 4 and name.startswith(OPERATION):
            _, collective, operator, dtype, elements = name.split("/")
            found.append(figures.Operations(collective, operator, dtype, int(elements), calls))
    return found


def _add(total: dict[str, int], more: dict[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _write(report: figures.Report, output: Path) -> None:
    from hostagent.cli.demo import page

    output.mkdir(parents=True, exist_ok=True)
    (output / "report.json").write_text(json.dumps(report.as_json(), indent=1) + "\n")
    (output / "report.html").write_text(page.render(report))
