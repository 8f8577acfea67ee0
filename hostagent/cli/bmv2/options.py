"""The command line of simple_switch_grpc and simple_switch: bmv2's options, `--`, the target's; in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

GRPC_SWITCH, SWITCH = "simple_switch_grpc", "simple_switch"
DROP_PORT = 511
DEFAULT_ADDRESS = "0.0.0.0:9559"
DEFAULT_THRIFT_PORT = 9090
"""Of bmv2's simple_switch and simple_switch_CLI."""
LEVELS = ("trace", "debug", "info", "warn", "error", "off")
PROGRAM_ENDINGS = (".json", ".p4", ".zip")

USAGE = """\
Usage: {name} [options] [-- target options] PROGRAM

PROGRAM is what p4c writes for bmv2 (.json), P4 source (.p4), or what netsum package writes (.zip).

  -i, --interface PORT@INTERFACE  port on a network interface; repeatable
  --pcap [FOLDER]                 folder for INTERFACE_in.pcap and INTERFACE_out.pcap (default: current)
  --use-files SECONDS             PORT@NAME reads NAME_in.pcap and writes NAME_out.pcap, after SECONDS
  --device-id N                   P4Runtime's device id (default 0)
  --no-p4                         no program; P4Runtime loads one
  --thrift-port N                 port to listen on, so that scripts see that the switch is ready, and
                                  simple_switch_CLI finds it{thrift_port}
  --log-console, --log-file FILE  destination of the packet log; FILE.txt is written, as by bmv2
  -L, --log-level LEVEL           trace (statements, too), debug, info (no packets), warn, error or off; where none is
                                  named it is trace, for as many packets as do not slow the others
  --dump-packet-data N            number of bytes of each packet to log
  --log-file-max-size BYTES, --log-file-max-files N
                                  size at which a new file is begun (5242880), number of old ones kept (3)
  --version, --json-version, --help

Target options:
  --grpc-server-addr HOST:PORT    listening address of P4Runtime (default {address})
  --cpu-port N                    number of the port for packet-in and packet-out
  --drop-port N                   drop port; only 511 is supported
  --translation FILE              values of types with @p4runtime_translation, as for netsum switch
  --grpc-server-ssl               TLS, with the following PEM files
  --grpc-server-cert FILE, --grpc-server-key FILE
                                  certificate and private key of the server
  --grpc-server-cacert FILE       root certificates to verify clients against
  --grpc-server-with-client-auth  clients must have a certificate (mutual TLS)

Accepted, and without effect here: --nanolog, --debugger, --debugger-addr, --notifications-addr,
--log-flush, --max-port-count, --priority-queues, --max-mc-groups, --max-l1-entries, --max-l2-entries,
--enable-swap, --disable-swap.
"""


def usage(name: str) -> str:
    """The help text of a command."""
    options = defaults(name)
    thrift_port = "" if options.thrift_port is None else f" (default {options.thrift_port})"
    return USAGE.format(name=name, address=options.grpc_server_addr, thrift_port=thrift_port)


class OptionError(ValueError):
    """A word that is not understood, or cannot be done; the text says which and what to write."""


@dataclass(slots=True)
class Options:
    program: str | None = None
    interfaces: dict[int, str] = field(default_factory=dict)
    """Port to interface, or to the name of capture files."""
    no_p4: bool = False
    device_id: int = 0
    grpc_server_addr: str = DEFAULT_ADDRESS
    cpu_port: int | None = None
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
    """``help``, ``version`` or ``json-version``: print that and end."""
    warnings: list[str] = field(default_factory=list)


def defaults(name: str) -> Options:
    """Of the command ``name``.

    simple_switch has no P4Runtime server in bmv2, so several start on one machine without an option for it. Here it
    takes a free port on the loopback interface; simple_switch_CLI finds it by the Thrift port.
    """
    if name == SWITCH:
        return Options(grpc_server_addr="127.0.0.1:0", thrift_port=DEFAULT_THRIFT_PORT)
    return Options()


Setter = Callable[[Options, str], None]


def parse(words: list[str], name: str = GRPC_SWITCH) -> Options:
    """Raises OptionError."""
    options = defaults(name)
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            continue
        if not word.startswith("-") or word == "-":
            _program(options, word)
            continue
        option, equals, value = _split(word)
        option = _whole(option)
        if option == "--pcap":
            options.pcap_folder = value if equals else _folder(rest)
        elif option in FLAGS:
            if equals:
                raise OptionError(f"{option} takes no value")
            FLAGS[option](options, "")
        elif option in VALUES:
            if not equals:
                if not rest or rest[0] == "--":
                    raise OptionError(f"{option} needs a value")
                value = rest.pop(0)
            VALUES[option](options, value)
        else:
            raise OptionError(f"unknown option {option}; {name} --help lists those that are known")
    _check(options)
    return options


def _split(word: str) -> tuple[str, str, str]:
    """``--name=value``, ``-i`` and ``-iVALUE``."""
    if word.startswith("--"):
        return word.partition("=")
    name = SHORT.get(word[:2], word)
    return name, word[2:3], word[2:].removeprefix("=")


def _whole(name: str) -> str:
    """Long options may be cut short where that is plain, as with bmv2."""
    known = [*FLAGS, *VALUES, "--pcap"]
    if not name.startswith("--") or name in known:
        return name
    meant = [whole for whole in known if whole.startswith(name)]
    return meant[0] if len(meant) == 1 else name


def _folder(rest: list[str]) -> str:
    """What follows --pcap, unless it is an option or the program."""
    if rest and not rest[0].startswith("-") and not rest[0].endswith(PROGRAM_ENDINGS):
        return rest.pop(0)
    return "."


def _program(options: Options, word: str) -> None:
    if options.program is not None:
        raise OptionError(f"two programs, {options.program!r} and {word!r}")
    options.program = word


def _check(options: Options) -> None:
    if options.asks is not None:
        return
    if options.program is None and not options.no_p4:
        raise OptionError("no program: name a .json, .p4 or .zip file, or give --no-p4")
    if options.program is not None and options.no_p4:
        options.warnings.append(f"{options.program} is not loaded: --no-p4 says to wait for P4Runtime")
        options.program = None
    if options.log_console and options.log_file is not None:
        raise OptionError("--log-console and --log-file exclude each other")
    if "ssl" in options.tls and not {"cert", "key"} <= options.tls.keys():
        raise OptionError("--grpc-server-ssl needs --grpc-server-cert FILE and --grpc-server-key FILE")
    if options.tls and "ssl" not in options.tls:
        options.warnings.append(f"--grpc-server-{next(iter(options.tls))} has no effect without --grpc-server-ssl")
    if options.use_files_s is not None and options.pcap_folder is not None:
        options.warnings.append("--pcap has no effect with --use-files, which writes all packets sent")


# --- One function for each option that has an effect --------------------------------------------------------------


def _interface(options: Options, value: str) -> None:
    number, at, name = value.partition("@")
    if not at or not name or not number.isdecimal():
        raise OptionError(f"--interface {value}: write PORT@INTERFACE, for example 1@s1-eth1")
    if int(number) in options.interfaces:
        raise OptionError(f"--interface {value}: port {number} is {options.interfaces[int(number)]} already")
    options.interfaces[int(number)] = name


def _number(name: str, value: str, low: int, high: int) -> int:
    if not value.isdecimal() or not low <= int(value) <= high:
        raise OptionError(f"{name} {value}: must be a number from {low} to {high}")
    return int(value)


def _device_id(options: Options, value: str) -> None:
    options.device_id = _number("--device-id", value, 0, (1 << 64) - 1)


def _address(options: Options, value: str) -> None:
    options.grpc_server_addr = value


def _cpu_port(options: Options, value: str) -> None:
    options.cpu_port = _number("--cpu-port", value, 1, DROP_PORT - 1)


def _thrift_port(options: Options, value: str) -> None:
    options.thrift_port = _number("--thrift-port", value, 0, 65_535)


def _drop_port(options: Options, value: str) -> None:
    if value != str(DROP_PORT):
        raise OptionError(f"--drop-port {value}: only {DROP_PORT} can be the drop port here")


def _use_files(options: Options, value: str) -> None:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 86_400:
        raise OptionError(f"--use-files {value}: must be a number of seconds")
    options.use_files_s = seconds


def _log_file(options: Options, value: str) -> None:
    options.log_file = value


def _log_file_size(options: Options, value: str) -> None:
    options.log_file_max_bytes = _number("--log-file-max-size", value, 1, (1 << 63) - 1)


def _log_files(options: Options, value: str) -> None:
    options.log_file_max_files = _number("--log-file-max-files", value, 0, 1 << 16)


def _dump(options: Options, value: str) -> None:
    options.dump_packet_data = _number("--dump-packet-data", value, 0, 1 << 16)


def _level(options: Options, value: str) -> None:
    if value not in LEVELS:
        raise OptionError(f"--log-level {value}: choose one of {', '.join(LEVELS)}")
    options.log_level = value


def _tls(name: str) -> Setter:
    def note(options: Options, value: str) -> None:
        options.tls[name] = value

    return note


def _translation(options: Options, value: str) -> None:
    options.translation = value


def _no_p4(options: Options, _: str) -> None:
    options.no_p4 = True


def _console(options: Options, _: str) -> None:
    options.log_console = True


def _asks(what: str) -> Setter:
    def note(options: Options, _: str) -> None:
        options.asks = options.asks or what

    return note


def _without_effect(name: str, reason: str) -> Setter:
    def warn(options: Options, _: str) -> None:
        if reason:
            options.warnings.append(f"{name} has no effect: {reason}")

    return warn


def _impossible(name: str, reason: str) -> Setter:
    def refuse(options: Options, _: str) -> None:
        raise OptionError(f"{name} is not supported: {reason}")

    return refuse


SHORT = {"-i": "--interface", "-L": "--log-level", "-h": "--help"}

NO_CHANNEL = "there are no nanomsg channels"
FLAGS: Mapping[str, Setter] = {
    "--no-p4": _no_p4,
    "--log-console": _console,
    "--help": _asks("help"),
    "--version": _asks("version"),
    "-v": _asks("version"),
    "--json-version": _asks("json-version"),
    "--log-flush": _without_effect("--log-flush", ""),
    "--debugger": _without_effect("--debugger", "there is no debugger; `netsum trace` shows the path of a packet"),
    "--enable-swap": _without_effect("--enable-swap", ""),
    "--disable-swap": _without_effect("--disable-swap", "P4Runtime may always replace the program"),
    "--grpc-server-ssl": _tls("ssl"),
    "--grpc-server-with-client-auth": _tls("with-client-auth"),
}

VALUES: Mapping[str, Setter] = {
    "--interface": _interface,
    "--device-id": _device_id,
    "--grpc-server-addr": _address,
    "--cpu-port": _cpu_port,
    "--drop-port": _drop_port,
    "--use-files": _use_files,
    "--translation": _translation,
    "--log-file": _log_file,
    "--log-level": _level,
    "--thrift-port": _thrift_port,
    "--nanolog": _without_effect("--nanolog", NO_CHANNEL),
    "--notifications-addr": _without_effect("--notifications-addr", NO_CHANNEL),
    "--debugger-addr": _without_effect("--debugger-addr", NO_CHANNEL),
    "--log-file-max-size": _log_file_size,
    "--log-file-max-files": _log_files,
    "--dump-packet-data": _dump,
    "--max-port-count": _without_effect("--max-port-count", ""),
    "--priority-queues": _without_effect("--priority-queues", "packets with a priority are dropped, counted"),
    "--max-mc-groups": _without_effect("--max-mc-groups", ""),
    "--max-l1-entries": _without_effect("--max-l1-entries", ""),
    "--max-l2-entries": _without_effect("--max-l2-entries", ""),
    "--log-max-file-size": _without_effect("--log-max-file-size", "it is --log-file-max-size"),
    "--trace-dir": _impossible("--trace-dir", "--log-file shows the path of each packet"),
    "--packet-in": _impossible("--packet-in", NO_CHANNEL),
    "--restore-state": _impossible("--restore-state", "write the state over P4Runtime"),
    "--dp-grpc-server-addr": _impossible("--dp-grpc-server-addr", "use interfaces, or --cpu-port"),
    "--grpc-server-cacert": _tls("cacert"),
    "--grpc-server-cert": _tls("cert"),
    "--grpc-server-key": _tls("key"),
}
