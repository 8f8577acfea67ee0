"""``netsum switch``, ``bridge``, ``controller``, ``shell``, ``package``: the parts of a network, each by itself; and
``dissector``, to look at what passes between them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hostagent.cli.options import (
    CACERT,
    CAPTURE,
    CAPTURE_SIZE,
    CERT,
    DEFINE,
    DEVICE_ID,
    DIE_WITH_PARENT,
    INCLUDE,
    LONGEST_FRAME,
    METRICS,
    PRIVATE_KEY,
    QUIET,
    TREE,
    WAY,
    check_capture,
    check_ports,
    client_tls,
    parse_defines,
)
from hostagent.cli.parsing import UsageError, address, argument, command, flag, integer, option, refuse, repeated

if TYPE_CHECKING:
    from emulator.p4runtime.process import CaptureOptions
    from hostagent.controller.drivers.p4.driver import Program


ENGINES = ("llvm", "interpreter")
CAPTURE_APPEND = flag("--capture-append", help="The capture as a further section of the file, after a restart.")
BRIDGE_PAIR = 256
"""p4src/bridge.p4 joins port N and this many more."""


@command(
    argument(
        "program",
        nargs="?",
        help="P4 source file, bmv2 JSON file of p4c, or name of a shipped program. Default: none; P4Runtime loads one.",
    ),
    repeated(
        "--port",
        metavar="N=SPEC",
        help="Port N: udp:LOCAL[,REMOTE], tcp:LOCAL[,REMOTE], shm:NAME, if:INTERFACE or pcap:IN,OUT; impairments "
        "follow a '?'. Repeatable.",
    ),
    DEFINE,
    INCLUDE,
    option(
        "--p4runtime",
        "--grpc-server-addr",
        metavar="HOST:PORT",
        type=address,
        help="Listening address of the P4Runtime server.",
    ),
    DEVICE_ID,
    flag("--grpc-server-ssl", help="TLS for the P4Runtime server; requires --grpc-server-cert and --grpc-server-key."),
    option("--grpc-server-cert", metavar="FILE", help="Certificate of the server (PEM)."),
    option("--grpc-server-key", metavar="FILE", help="Private key of the server (PEM)."),
    option("--grpc-server-cacert", metavar="FILE", help="Root certificates to verify clients against (PEM)."),
    flag("--grpc-server-with-client-auth", help="Mutual TLS: clients must have a certificate."),
    option(
        "--translation",
        metavar="FILE",
        type=Path,
        help="JSON file with the values of types that have @p4runtime_translation.",
    ),
    LONGEST_FRAME,
    option("--cpu-port", metavar="N", type=integer(), help="Number of the port for packet-in and packet-out."),
    option(
        "--priority-queues",
        metavar="N",
        type=integer(1, 8),
        help="Number of egress queues of each port, one for each value of standard_metadata.priority.",
    ),
    option("--engine", metavar="ENGINE", help="Execution engine: llvm, or interpreter (slow, for comparison)."),
    METRICS,
    CAPTURE,
    CAPTURE_SIZE,
    CAPTURE_APPEND,
    QUIET,
    DIE_WITH_PARENT,
)
def switch(
    program: str | None = None,
    *,
    port: list[str] | None = None,
    define: list[str] | None = None,
    include: list[Path] | None = None,
    p4runtime: str = "127.0.0.1:9559",
    device_id: int = 0,
    grpc_server_ssl: bool = False,
    grpc_server_cert: str | None = None,
    grpc_server_key: str | None = None,
    grpc_server_cacert: str | None = None,
    grpc_server_with_client_auth: bool = False,
    translation: Path | None = None,
    longest_frame: int | None = None,
    cpu_port: int | None = None,
    priority_queues: int = 1,
    engine: str = "llvm",
    metrics: str | None = None,
    capture: str | None = None,
    capture_size: str = "1GiB",
    capture_append: bool = False,
    quiet: bool = False,
    die_with_parent: bool = False,
    given: Mapping[str, str],
) -> int:
    """Run a P4 program as a switch with a P4Runtime server, until SIGTERM; over capture files alone, until their end.

    Example:
      netsum switch p4src/router.p4 --port 1=udp:127.0.0.1:5001 \\
        --port 2=udp:127.0.0.1:5002 --metrics 127.0.0.1:9464
    """
    from emulator.native.gc_pause import gc_paused
    from emulator.p4runtime.listen_before_ready import EarlyListening, Listening
    from emulator.rpc.tls import ServerTls

    if engine not in ENGINES:
        raise UsageError(f"{engine!r} is none of {', '.join(ENGINES)}", "--engine")
    check_capture(capture, given)
    ports = check_ports(port or ())
    tls = None
    if grpc_server_ssl:
        if grpc_server_cert is None or grpc_server_key is None:
            raise UsageError("requires --grpc-server-cert and --grpc-server-key", "--grpc-server-ssl")
        tls = ServerTls(grpc_server_cert, grpc_server_key, grpc_server_cacert, grpc_server_with_client_auth)
    listening = Listening(p4runtime, EarlyListening(0.0) if program is None else None, tls)
    with gc_paused():
        from emulator.p4runtime.process import SwitchOptions, run_switch

    options = SwitchOptions(
        program=program,
        ports=ports,
        defines=parse_defines(define),
        include_paths=tuple(str(folder) for folder in include or ()),
        grpc_server_addr=p4runtime,
        device_id=device_id,
        tls=tls,
        translation=translation,
        longest_frame_bytes=longest_frame,
        cpu_port=cpu_port,
        priority_queues=priority_queues,
        engine=engine,
        metrics=metrics,
        capture=_capture(capture, capture_size, capture_append),
        die_with_parent=die_with_parent,
        quiet=quiet,
    )
    return run_switch(options, listening=listening)


def _capture(path: str | None, size: str, append: bool) -> CaptureOptions | None:
    from emulator.p4runtime.process import CaptureOptions
    from emulator.ports.units import size_bytes

    return None if path is None else CaptureOptions(path, size_bytes(size), append)


@command(
    repeated("--port", metavar="N=SPEC", help="Port of a rank (udp, tcp or shm), as of netsum switch. Repeatable."),
    repeated("--interface", metavar="N=NAME", help="Network interface that port N is joined with. Repeatable."),
    option(
        "--p4runtime",
        metavar="HOST:PORT",
        type=address,
        help="Listening address for statistics; port 0: any free port.",
    ),
    LONGEST_FRAME,
    CAPTURE,
    CAPTURE_SIZE,
    CAPTURE_APPEND,
    QUIET,
    DIE_WITH_PARENT,
)
def bridge(
    *,
    port: list[str] | None = None,
    interface: list[str] | None = None,
    p4runtime: str = "127.0.0.1:0",
    longest_frame: int | None = None,
    capture: str | None = None,
    capture_size: str = "1GiB",
    capture_append: bool = False,
    quiet: bool = False,
    die_with_parent: bool = False,
    given: Mapping[str, str],
) -> int:
    """Join ports of ranks with network interfaces, for a switch that has interfaces only, as bmv2 does; until SIGTERM.

    Example:
      netsum bridge --port 1=shm:r1 --port 2=shm:r2 \\
        --interface 1=veth1 --interface 2=veth2
    """
    from emulator.p4runtime.process import SwitchOptions, run_switch

    ports = list(port or ())
    numbers = {text.partition("=")[0] for text in ports}
    joined = [text.partition("=") for text in interface or ()]
    if not ports or numbers != {number for number, _, _ in joined}:
        raise UsageError("each --port N=SPEC needs an --interface N=NAME, and the other way round")
    wrong = [number for number in numbers if not number.isdecimal() or not 0 < int(number) < BRIDGE_PAIR]
    if wrong:
        raise UsageError(f"number {wrong[0]!r} must be from 1 to {BRIDGE_PAIR - 1}", "--port")
    check_capture(capture, given)
    ends = [f"{int(number) + BRIDGE_PAIR}=if:{name}" for number, _, name in joined]
    options = SwitchOptions(
        program="bridge.p4",
        ports=check_ports([*ports, *ends]),
        grpc_server_addr=p4runtime,
        longest_frame_bytes=longest_frame,
        capture=_capture(capture, capture_size, capture_append),
        die_with_parent=die_with_parent,
        quiet=quiet,
    )
    return run_switch(options, name="netsum bridge")


@command(
    option(
        "--aggregator",
        metavar="KIND://HOST:PORT",
        help="Aggregator to control: p4runtime:// a P4 switch, netsum:// a netsum aggregator or netsum server, "
        "netsum://A,B the servers of several racks. KIND://-: read HOST:PORT from stdin.",
    ),
    repeated("--port", metavar="N=SPEC", help="Port of the aggregator, in the syntax of netsum switch. Repeatable."),
    option("--program", metavar="FILE", help="P4 source to load into the switch. Default: the program it runs."),
    DEFINE,
    INCLUDE,
    option("--p4info", metavar="FILE", type=Path, help="P4Info file of p4c for bmv2; requires --device-config."),
    option("--device-config", metavar="FILE", type=Path, help="JSON file of bmv2 to load; requires --p4info."),
    CACERT,
    CERT,
    PRIVATE_KEY,
    option("--listen", metavar="HOST:PORT", type=address, help="Listening address for ranks; port 0: any free port."),
    DEVICE_ID,
    option(
        "--max-window",
        metavar="SLOTS",
        type=integer(),
        help="Maximum slots of one job, a power of two. Default: 256; over shm 32 to 128. bmv2: 32.",
    ),
    flag("--full-length-no-data", help="Padding of no-data frames to full length (bmv2 cannot grow packets)."),
    option("--state", metavar="FILE", type=Path, help="File that keeps epochs unique across restarts."),
    WAY,
    TREE,
    flag(
        "--overflow",
        help="A rack server has the slots that a P4 switch lacks: --aggregator netsum://SERVER,p4runtime://SWITCH.",
    ),
    option("--slots", metavar="N", type=integer(0), help="Slots of each P4 switch that jobs may have. Default: all."),
    METRICS,
    DIE_WITH_PARENT,
)
def controller(
    *,
    aggregator: str = "p4runtime://127.0.0.1:9559",
    port: list[str] | None = None,
    program: str | None = None,
    define: list[str] | None = None,
    include: list[Path] | None = None,
    p4info: Path | None = None,
    device_config: Path | None = None,
    cacert: str | None = None,
    cert: str | None = None,
    private_key: str | None = None,
    listen: str = "127.0.0.1:0",
    device_id: int = 0,
    max_window: int | None = None,
    full_length_no_data: bool = False,
    state: Path | None = None,
    way: str = "ring",
    tree: tuple[int | tuple[int, ...], ...] = (),
    overflow: bool = False,
    slots: int | None = None,
    metrics: str | None = None,
    die_with_parent: bool = False,
    given: Mapping[str, str],
) -> int:
    """Control one aggregator and admit ranks to it, until SIGTERM.

    Example:
      netsum controller --port 1=shm:a --port 2=shm:b \\
        --program allreduce.p4 -D LANES=256
    """
    from hostagent.controller.process import ControllerOptions, run_controller

    where = aggregator.partition("://")[2]
    if "," not in where and where != "-":
        refuse(given, "applies to the servers of several racks only: --aggregator netsum://A,B", "way")
    loaded = load_program(program, define, include, p4info, device_config)
    if loaded is None:
        return 1
    options = ControllerOptions(
        aggregator=aggregator,
        ports=check_ports(port or ()),
        program=loaded,
        tls=client_tls(cacert, cert, private_key),
        listen=listen,
        max_window=max_window,
        full_length_no_data=full_length_no_data,
        device_id=device_id,
        state=state,
        die_with_parent=die_with_parent,
        way=way,
        tree=tree,
        overflow=overflow,
        slots=slots,
        metrics=metrics,
    )
    return run_controller(options)


@command(
    option(
        "--p4runtime",
        "--grpc-addr",
        metavar="HOST:PORT",
        type=address,
        help="Address of the switch's P4Runtime server.",
    ),
    DEVICE_ID,
    option(
        "--election-id", metavar="HIGH,LOW", help="Election id; a higher one than the controller's becomes primary."
    ),
    CACERT,
    CERT,
    PRIVATE_KEY,
)
def shell(
    *,
    p4runtime: str = "127.0.0.1:9559",
    device_id: int = 0,
    election_id: str = "0,1",
    cacert: str | None = None,
    cert: str | None = None,
    private_key: str | None = None,
) -> int:
    """Open p4runtime-shell on a running switch.

    Example:
      netsum shell --p4runtime 127.0.0.1:9559
    """
    from emulator.p4runtime.shell import run_shell

    halves = election_id.split(",")
    if len(halves) != 2 or not all(half.isdecimal() and int(half) < 1 << 64 for half in halves):
        raise UsageError(f"{election_id!r}: write HIGH,LOW, two numbers below 2**64", "--election-id")
    files = {"--cacert": cacert, "--cert": cert, "--private-key": private_key}
    tls = [word for name, file in files.items() if file is not None for word in (name, file)]
    return run_shell(p4runtime, device_id, election_id, ["--ssl", *tls] if tls else [])


@command(
    argument("program", help="P4 source file, or name of a shipped program."),
    option("-o", "--output", metavar="FILE.zip", type=Path, required=True, help="File to write."),
    DEFINE,
    INCLUDE,
)
def package(program: str, *, output: Path, define: list[str] | None = None, include: list[Path] | None = None) -> int:
    """Pack a P4 program and its includes as the device config of SetForwardingPipelineConfig.

    Example:
      netsum package p4src/router.p4 -o router.zip
    """
    from emulator.p4.library import ProgramNotFound
    from emulator.p4runtime.pipeline.package import PackageError

    try:
        output.write_bytes(packed(program, define, include))
    except (PackageError, ProgramNotFound, OSError) as error:
        print(f"netsum package: {error}", file=sys.stderr)
        return 1
    return 0


@command(
    option("-o", "--output", metavar="FILE.lua", type=Path, help="File to write. Default: standard output."),
)
def dissector(*, output: Path | None = None) -> int:
    """Write a Wireshark dissector (Lua) of the frames between ranks and aggregators.

    Examples:
      netsum dissector -o ~/.local/lib/wireshark/plugins/netsum.lua
      tshark -X lua_script:netsum.lua -r run.pcapng -Y netsum.kind==3
    """
    from hostagent.protocol.wireshark import lua_source

    try:
        if output is None:
            print(lua_source(), end="")
        else:
            output.write_text(lua_source())
    except OSError as error:
        print(f"netsum dissector: cannot write {output}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def packed(program: str, defines: Sequence[str] | None, includes: Sequence[Path] | None) -> bytes:
    """The program and its includes as a device config package. Raises ProgramNotFound, PackageError, OSError."""
    from emulator.p4.library import find_program
    from emulator.p4runtime.pipeline.package import pack

    return pack(find_program(program), parse_defines(list(defines or ())), tuple(includes or ()))


def load_program(
    program: str | None,
    defines: Sequence[str] | None = None,
    includes: Sequence[Path] | None = None,
    p4info: Path | None = None,
    device_config: Path | None = None,
) -> Program | None:
    """The program that ``netsum controller`` loads; None after an error, which is then on stderr."""
    from emulator.p4.library import ProgramNotFound
    from emulator.p4runtime.pipeline.package import PackageError
    from hostagent.controller.drivers.p4.driver import Program, ProgramError, read_program

    try:
        if program is None:
            return read_program(p4info, device_config)
        if p4info is not None or device_config is not None:
            raise ProgramError("give --program FILE.p4, or --p4info FILE and --device-config FILE, not both")
        return Program(packed(program, defines, includes))
    except (ProgramError, PackageError, ProgramNotFound, OSError) as error:
        print(f"netsum controller: {error}", file=sys.stderr)
        return None
