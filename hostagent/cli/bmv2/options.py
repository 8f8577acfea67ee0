"""The command line of simple_switch_grpc and simple_switch: bmv2's options, `--`, the target's; in any order."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hostagent.cli.parsing import Option, Parser, UsageError, argument, flag, integer, number, option, repeated

GRPC_SWITCH, SWITCH = "simple_switch_grpc", "simple_switch"
DROP_PORT = 511
DEFAULT_ADDRESS = "0.0.0.0:9559"
DEFAULT_THRIFT_PORT = 9090
"""Thrift port of bmv2's simple_switch and simple_switch_CLI."""
LEVELS = ("trace", "debug", "info", "warn", "error", "off")
PROGRAM_ENDINGS = (".json", ".p4", ".zip")
TLS = "grpc_server_"
"""What the names of TLS options begin with."""


@dataclass(slots=True)
class Options:
    program: str | None = None
    interfaces: dict[int, str] = field(default_factory=dict)
    """Port to interface, or to the name of capture files."""
    no_p4: bool = False
    device_id: int = 0
    grpc_server_addr: str = DEFAULT_ADDRESS
    cpu_port: int | None = None
    priority_queues: int = 1
    """Egress queues of each port; packets of priorities that have none are dropped."""
    translation: str | None = None
    """A file."""
    tls: dict[str, str] = field(default_factory=dict)
    """The --grpc-server-... options of TLS, by their names without that; flags with an empty value."""
    thrift_port: int | None = None
    pcap_folder: str | None = None
    use_files_s: float | None = None
    log_console: bool = False
    log_file: str | None = None
    log_file_max_bytes: int = 5 << 20
    log_file_max_files: int = 3
    """Number of old files to keep."""
    log_level: str | None = None
    """As named; bmv2's is trace otherwise."""
    dump_packet_data: int = 0
    """Bytes of each packet to log."""
    asks: str | None = None
    """``version`` or ``json-version``: print that and end."""
    warnings: list[str] = field(default_factory=list)


def defaults(name: str) -> Options:
    """Default options of the command ``name``.

    simple_switch has no P4Runtime server in bmv2, so several start on one machine without an option for it. Here it
    takes a free port on the loopback interface; simple_switch_CLI finds it by the Thrift port.
    """
    if name == SWITCH:
        return Options(grpc_server_addr="127.0.0.1:0", thrift_port=DEFAULT_THRIFT_PORT)
    return Options()


def parse(words: list[str], name: str = GRPC_SWITCH) -> Options:
    """Raises UsageError; ends the process after ``--help``."""
    options = defaults(name)
    found = _parser(name, options).read(_plain(words))
    for parameter, value in found.items():
        if parameter in WITHOUT_EFFECT:
            if reason := WITHOUT_EFFECT[parameter]:
                options.warnings.append(f"--{parameter.replace('_', '-')} has no effect: {reason}")
        elif parameter == "interfaces":
            _connect(options, value)
        elif parameter.startswith(TLS) and parameter != "grpc_server_addr":
            options.tls[parameter.removeprefix(TLS).replace("_", "-")] = "" if value is True else value
        elif parameter != "drop_port":
            setattr(options, parameter, value)
    _check(options)
    return options


def _parser(name: str, shown: Options) -> Parser:
    """``shown``: defaults for the help."""

    def default(parameter: str) -> Any:
        value = getattr(shown, parameter, None)
        return None if isinstance(value, dict) else value

    return Parser(name, OPTIONS, default, abbreviations=True, description=DESCRIPTION, epilog=EPILOG)


def _plain(words: list[str]) -> list[str]:
    """What argparse reads alike: without ``--``, behind which are options here, and ``--pcap PROGRAM`` as --pcap=."""
    kept = [word for word in words if word != "--"]
    followed = zip(kept, [*kept[1:], ""], strict=False)
    return ["--pcap=." if word == "--pcap" and after.endswith(PROGRAM_ENDINGS) else word for word, after in followed]


def _connect(options: Options, interfaces: list[tuple[int, str]]) -> None:
    for port, interface in interfaces:
        taken = options.interfaces.setdefault(port, interface)
        if taken != interface:
            raise UsageError(f"port {port} is {taken} already", f"--interface {port}@{interface}")


def _check(options: Options) -> None:
    if options.asks is not None:
        return
    if options.program is None and not options.no_p4:
        raise UsageError("no program: name a .json, .p4 or .zip file, or give --no-p4")
    if options.program is not None and options.no_p4:
        options.warnings.append(f"{options.program} is not loaded: --no-p4 says to wait for P4Runtime")
        options.program = None
    if options.log_console and options.log_file is not None:
        raise UsageError("--log-console and --log-file exclude each other")
    if "ssl" in options.tls and not {"cert", "key"} <= options.tls.keys():
        raise UsageError("--grpc-server-ssl needs --grpc-server-cert FILE and --grpc-server-key FILE")
    if options.tls and "ssl" not in options.tls:
        options.warnings.append(f"--grpc-server-{next(iter(options.tls))} has no effect without --grpc-server-ssl")
    if options.use_files_s is not None and options.pcap_folder is not None:
        options.warnings.append("--pcap has no effect with --use-files, which writes all packets sent")


# --- The options ------------------------------------------------------------------------------------------------


def _interface(text: str) -> tuple[int, str]:
    port, at, name = text.partition("@")
    if not at or not name or not port.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: write PORT@INTERFACE, for example 1@s1-eth1")
    return int(port), name


def _drop_port(text: str) -> int:
    if text != str(DROP_PORT):
        raise argparse.ArgumentTypeError(f"only {DROP_PORT} can be the drop port here")
    return DROP_PORT


def _impossible(reason: str) -> Callable[[str], str]:
    def refuse(_: str) -> str:
        raise argparse.ArgumentTypeError(f"not supported: {reason}")

    return refuse


NO_CHANNEL = "there are no nanomsg channels"
WITHOUT_EFFECT: Mapping[str, str] = {
    "log_flush": "",
    "debugger": "there is no debugger; `netsum trace` shows the path of a packet",
    "enable_swap": "",
    "disable_swap": "P4Runtime may always replace the program",
    "nanolog": NO_CHANNEL,
    "notifications_addr": NO_CHANNEL,
    "debugger_addr": NO_CHANNEL,
    "max_port_count": "",
    "max_mc_groups": "",
    "max_l1_entries": "",
    "max_l2_entries": "",
    "log_max_file_size": "it is --log-file-max-size",
}
"""Parameter to the reason, for a warning; empty: nobody needs one."""
FLAGS_WITHOUT_EFFECT = ("log_flush", "debugger", "enable_swap", "disable_swap")
IMPOSSIBLE: Mapping[str, str] = {
    "--trace-dir": "--log-file shows the path of each packet",
    "--packet-in": NO_CHANNEL,
    "--restore-state": "write the state over P4Runtime",
    "--dp-grpc-server-addr": "use interfaces, or --cpu-port",
}

OPTIONS: tuple[Option, ...] = (
    argument(
        "program", nargs="?", help="bmv2 JSON of p4c (.json), P4 source (.p4), or output of netsum package (.zip)."
    ),
    repeated(
        "-i",
        "--interface",
        dest="interfaces",
        metavar="PORT@INTERFACE",
        type=_interface,
        help="Port on a network interface. Repeatable.",
    ),
    option(
        "--pcap",
        dest="pcap_folder",
        metavar="FOLDER",
        nargs="?",
        const=".",
        help="Folder for INTERFACE_in.pcap and INTERFACE_out.pcap; the current one if none is named.",
    ),
    option(
        "--use-files",
        dest="use_files_s",
        metavar="SECONDS",
        type=number(0, 86_400),
        help="Delay before PORT@NAME reads NAME_in.pcap and writes NAME_out.pcap, in place of interfaces.",
    ),
    option("--device-id", metavar="N", type=integer(0), help="P4Runtime device id."),
    flag("--no-p4", help="No program; P4Runtime loads one."),
    option(
        "--thrift-port",
        metavar="N",
        type=integer(0, 65_535),
        help="Port to listen on, so that scripts see that the switch is ready, and simple_switch_CLI finds it.",
    ),
    flag("--log-console", help="Log of packets on standard output."),
    option("--log-file", metavar="FILE", help="Log of packets in FILE.txt, as by bmv2."),
    option(
        "-L",
        "--log-level",
        metavar="LEVEL",
        choices=LEVELS,
        help="Level of the log: trace (statements, too), debug, info (no packets), warn, error or off. Default: trace, "
        "for as many packets as do not slow the others.",
    ),
    option("--dump-packet-data", metavar="N", type=integer(0, 1 << 16), help="Bytes of each packet to log."),
    option(
        "--log-file-max-size",
        dest="log_file_max_bytes",
        metavar="BYTES",
        type=integer(1),
        help="Size at which a new log file is begun.",
    ),
    option("--log-file-max-files", metavar="N", type=integer(0, 1 << 16), help="Number of old log files to keep."),
    option("--grpc-server-addr", metavar="HOST:PORT", help="Listening address of the P4Runtime server."),
    option(
        "--cpu-port",
        metavar="N",
        type=integer(1, DROP_PORT - 1),
        help="Number of the port for packet-in and packet-out.",
    ),
    option(
        "--priority-queues",
        metavar="N",
        type=integer(1, 8),
        help="Number of egress queues of each port, one for each value of standard_metadata.priority; the larger goes "
        "first.",
    ),
    option("--drop-port", metavar="N", type=_drop_port, help=f"Drop port; only {DROP_PORT} is supported."),
    option("--translation", metavar="FILE", help="Values of types with @p4runtime_translation, as for netsum switch."),
    flag("--grpc-server-ssl", help="TLS, with the following PEM files."),
    option("--grpc-server-cert", metavar="FILE", help="Certificate of the server."),
    option("--grpc-server-key", metavar="FILE", help="Private key of the server."),
    option("--grpc-server-cacert", metavar="FILE", help="Root certificates to verify clients against."),
    flag("--grpc-server-with-client-auth", help="Mutual TLS: clients must have a certificate."),
    flag("-v", "--version", action="store_const", dest="asks", const="version", help="Version of netsum."),
    flag("--json-version", action="store_const", dest="asks", const="json-version", help="Version of bmv2's JSON."),
    *(flag(f"--{name.replace('_', '-')}", help=argparse.SUPPRESS) for name in FLAGS_WITHOUT_EFFECT),
    *(
        option(f"--{name.replace('_', '-')}", help=argparse.SUPPRESS)
        for name in WITHOUT_EFFECT
        if name not in FLAGS_WITHOUT_EFFECT
    ),
    *(option(name, type=_impossible(reason), help=argparse.SUPPRESS) for name, reason in IMPOSSIBLE.items()),
)
DESCRIPTION = (
    "Run a P4 program as a switch, with the options of bmv2's command of this name, in any order, also after '--'."
)
EPILOG = "Accepted, and without effect here: " + ", ".join(f"--{n.replace('_', '-')}" for n in WITHOUT_EFFECT) + "."
