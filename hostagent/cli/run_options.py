"""The options of ``netsum run``, as its function takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Script = Annotated[str, typer.Argument(help="The training script; its own arguments follow it.")]
Ranks = Annotated[int, typer.Option("-n", "--nproc", min=1, help="Training processes.")]
Where = Annotated[str, typer.Option(help="Where to sum: p4, p4:PROGRAM.p4, pspin or server.")]
Lanes = Annotated[int | None, typer.Option(help="32-bit numbers in a frame: 64, 256, 512, 1024 (the default) or 2048.")]
Controller = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Use this running controller; start nothing but the ranks.")
]
Module = Annotated[bool, typer.Option("-m", "--module", help="SCRIPT is a module's name, as in python -m.")]
Prefix = Annotated[bool, typer.Option("--prefix", help="Start each line of output with its rank.")]
Impair = Annotated[str, typer.Option(metavar="TEXT", help="Impair every port, e.g. 'loss=0.05&delay=1ms&seed=7'.")]
MaxWindow = Annotated[
    int | None,
    typer.Option(metavar="SLOTS", help="Most slots of the job, a power of two; default 512 / N, at most 128."),
]
Cores = Annotated[int | None, typer.Option(min=1, max=64, help="--aggregator server: cores that blocks are dealt to.")]
Racks = Annotated[
    int, typer.Option(min=1, max=16, help="--aggregator server: so many servers, each with a run of the ranks.")
]
RackOf = Annotated[str | None, typer.Option(metavar="RACK,RACK,...", help="Or the rack of each rank, as in 0,0,1,1.")]
Way = Annotated[str, typer.Option(help="How racks exchange sums: ring, sharded or tree.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="--aggregator server: keep every service's weights, state and step there."),
]
CheckpointEvery = Annotated[
    int | None, typer.Option(metavar="STEPS", min=1, help="As often as a service has taken so many steps.")
]
Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write what aggregator and ranks counted, as JSON.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Show the aggregator's and controller's logs.")]
