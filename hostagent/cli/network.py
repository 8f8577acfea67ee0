"""``netsum switch``, ``controller`` and ``shell``: the parts of a network, each started by itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hostagent.cli.compiled import parse_defines
from hostagent.cli.options import Define, Include, refuse
from hostagent.cli.programs import load_program, packed

DieWithParent = Annotated[bool, typer.Option("--die-with-parent", help="End when the process that started this does.")]


def switch(
    program: Annotated[
        str | None,
        typer.Argument(
            help="P4 source, or the JSON that p4c writes for bmv2: a file, or the name of a shipped program. "
            "None: wait for P4Runtime."
        ),
    ] = None,
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N=SPEC",
            help="N=udp:LOCAL[,REMOTE], N=tcp:LOCAL[,REMOTE], N=shm:NAME, N=if:INTERFACE or N=pcap:IN,OUT, "
            "with impairments behind a '?'; repeat.",
        ),
    ] = None,
    define: Define = None,
    include: Include = None,
    server: Annotated[
        str, typer.Option("--p4runtime", "--grpc-server-addr", metavar="HOST:PORT", help="Where P4Runtime listens.")
    ] = "127.0.0.1:9559",
    device_id: Annotated[int, typer.Option(help="P4Runtime's device id.")] = 0,
    longest_frame: Annotated[
        int | None, typer.Option(metavar="BYTES", min=64, max=65536, help="What shm ports have room for.")
    ] = None,
    cpu_port: Annotated[
        int | None, typer.Option(metavar="N", help="Port N is the controllers': packet-in and packet-out.")
    ] = None,
    engine: Annotated[str, typer.Option(help="llvm, or interpreter (slow: the oracle).")] = "llvm",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Only the JSON line that says it is ready.")] = False,
    die_with_parent: DieWithParent = False,
) -> None:
    """Run a P4 program as a switch with a P4Runtime server, until SIGTERM; over capture files alone, until their end.

    \b
    Example:
      netsum switch p4src/router.p4 --port 1=udp:127.0.0.1:5001 --port 2=udp:127.0.0.1:5002
    """
    from emulator.p4runtime.process import SwitchOptions, run_switch

    options = SwitchOptions(
        program=program,
        ports=tuple(port or ()),
        defines=parse_defines(define),
        include_paths=tuple(str(folder) for folder in include or ()),
        grpc_server_addr=server,
        device_id=device_id,
        longest_frame_bytes=longest_frame,
        cpu_port=cpu_port,
        engine=engine,
        die_with_parent=die_with_parent,
        quiet=quiet,
    )
    raise typer.Exit(run_switch(options))


def controller(
    context: typer.Context,
    aggregator: Annotated[
        str,
        typer.Option(
            metavar="KIND://HOST:PORT",
            help="What to control: p4runtime:// a P4 switch, netsum:// what netsum aggregator or netsum server runs; "
            "netsum://A,B: servers of several racks. KIND://- is told HOST:PORT by a line on standard input.",
        ),
    ] = "p4runtime://127.0.0.1:9559",
    port: Annotated[
        list[str] | None,
        typer.Option(metavar="N=SPEC", help="A port of the switch, written as for the switch; repeat."),
    ] = None,
    program: Annotated[
        str | None, typer.Option(help="P4 source to load into the switch. None: use what it runs.")
    ] = None,
    define: Define = None,
    include: Include = None,
    p4info: Annotated[Path | None, typer.Option(help="With --device-config: what p4c wrote, for bmv2.")] = None,
    device_config: Annotated[Path | None, typer.Option(help="bmv2's JSON.")] = None,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where ranks find it; port 0: any.")] = "127.0.0.1:0",
    device_id: Annotated[int, typer.Option(help="P4Runtime's device id.")] = 0,
    max_window: Annotated[
        int | None,
        typer.Option(
            help="Most slots for one job, a power of two; default 512, over shm 512 / ports, at most 128. bmv2: 32."
        ),
    ] = None,
    full_length_no_data: Annotated[
        bool, typer.Option("--full-length-no-data", help="For bmv2, which cannot lengthen frames at will.")
    ] = False,
    state: Annotated[Path | None, typer.Option(help="File that keeps epochs unique over restarts.")] = None,
    way: Annotated[str, typer.Option(help="Several racks: ring, sharded or tree.")] = "ring",
    die_with_parent: DieWithParent = False,
) -> None:
    """Control one aggregator and serve its ranks, until SIGTERM.

    \b
    Example:
      netsum controller --port 1=shm:a --port 2=shm:b --program allreduce.p4 -D LANES=256
    """
    from hostagent.controller.process import ControllerOptions, run_controller

    where = aggregator.partition("://")[2]
    if "," not in where and where != "-":
        refuse(context, "one aggregator has no others to exchange sums with: name several, netsum://A,B", "way")
    loaded = load_program(program, define, include, p4info, device_config)
    if loaded is None:
        raise typer.Exit(1)
    options = ControllerOptions(
        aggregator=aggregator,
        ports=tuple(port or ()),
        program=loaded,
        listen=listen,
        max_window=max_window,
        full_length_no_data=full_length_no_data,
        device_id=device_id,
        state=state,
        die_with_parent=die_with_parent,
        way=way,
    )
    raise typer.Exit(run_controller(options))


def shell(
    server: Annotated[
        str, typer.Option("--p4runtime", "--grpc-addr", metavar="HOST:PORT", help="The switch's P4Runtime server.")
    ] = "127.0.0.1:9559",
    device_id: Annotated[int, typer.Option(help="P4Runtime's device id.")] = 0,
    election_id: Annotated[
        str, typer.Option(metavar="HIGH,LOW", help="Larger than the controller's to take over.")
    ] = "0,1",
) -> None:
    """Open p4runtime-shell on a running switch.

    \b
    Example:
      netsum shell --p4runtime 127.0.0.1:9559
    """
    from emulator.p4runtime.shell import run_shell

    raise typer.Exit(run_shell(server, device_id, election_id))


def package(
    program: Annotated[str, typer.Argument(help="P4 source: a file, or the name of a shipped program.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE.zip", help="Where to write it.")],
    define: Define = None,
    include: Include = None,
) -> None:
    """Pack a P4 program and its includes as the device config of SetForwardingPipelineConfig.

    \b
    Example:
      netsum package p4src/router.p4 -o router.zip
    """
    from emulator.p4.library import ProgramNotFound
    from emulator.p4runtime.pipeline.package import PackageError

    try:
        output.write_bytes(packed(program, define, include))
    except (PackageError, ProgramNotFound, OSError) as error:
        print(f"netsum package: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (switch, controller, shell, package):
        app.command()(command)
