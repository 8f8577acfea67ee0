"""The options of ``netsum server``, as its function takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Ports = Annotated[
    list[str] | None,
    typer.Option(
        metavar="N=SPEC",
        help="N=shm:NAME, N=udp:LOCAL[,REMOTE] or N=tcp:LOCAL[,REMOTE], impairments behind a '?'; repeat.",
    ),
]
Lanes = Annotated[int, typer.Option(help="32-bit numbers in a frame: 64, 256, 512, 1024 or 2048.")]
Slots = Annotated[int, typer.Option(help="Slots, of two sets each, for all jobs together.")]
Cores = Annotated[int, typer.Option(min=1, max=64, help="Cores that blocks are dealt to.")]
Pin = Annotated[
    bool, typer.Option("--pin/--no-pin", help="Several cores: each on a processor of its own, of one NUMA node.")
]
Rack = Annotated[
    int | None, typer.Option(min=0, max=63, help="This server's number, where it is one of several racks'.")
]
Peers = Annotated[
    list[str] | None,
    typer.Option(metavar="RACK=SPEC", help="The cable to another rack's server, as udp:LOCAL,REMOTE; repeat."),
]
Services = Annotated[
    Path | None,
    typer.Option(metavar="FILE.toml", help="Services with nonces, weights, quotas: nobody else is let in."),
]
Memory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="That all services may use. Default: half of the machine's.")
]
Metrics = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Serve Prometheus metrics there.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Keep every service's weights, state and step there, a file for each."),
]
CheckpointEvery = Annotated[
    int, typer.Option(metavar="STEPS", min=0, help="As often as a service has taken so many steps.")
]
Listen = Annotated[str, typer.Option(metavar="HOST:PORT", help="Where the controller finds it; port 0: any.")]
Report = Annotated[bool, typer.Option("--report", help="At the end: bytes and chunks by core and port, times, queues.")]
Of = Annotated[str | None, typer.Option("--of", metavar="HOST:PORT", help="Report of the server running there, now.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Only the JSON line that says it is ready.")]


def memory_bytes(text: str | None) -> int:
    """Of --memory; 0 where it is not given. Raises typer.BadParameter."""
    from hostagent.cli.rack.tenants_file import size_of

    try:
        return size_of(text) if text is not None else 0
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--memory") from None


def peers_from(rack: int | None, texts: list[str]) -> tuple[tuple[int, str], ...]:
    """(rack, SPEC) of each --peer. Raises typer.BadParameter."""
    peers: dict[int, str] = {}
    for text in texts:
        number, _, spec = text.partition("=")
        if not number.isdecimal() or not spec or int(number) > 63 or int(number) in (rack, *peers):
            raise typer.BadParameter(
                f"{text!r}: write RACK=SPEC, with another rack's number, 0 to 63, once", param_hint="--peer"
            )
        peers[int(number)] = spec
    if peers and rack is None:
        raise typer.BadParameter("other racks need to know which one this is", param_hint="--rack")
    if rack is not None and not peers:
        raise typer.BadParameter("a rack of several needs the others", param_hint="--peer")
    return tuple(sorted(peers.items()))
