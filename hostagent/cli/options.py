"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hostagent.cli.parsing import (
    UsageError,
    address,
    fan_out,
    flag,
    integer,
    number,
    option,
    refuse,
    repeated,
    size,
    switchable,
)

if TYPE_CHECKING:
    from emulator.rpc.tls import ClientTls

DEFINE = repeated("-D", "--define", metavar="NAME[=VALUE]", help="Preprocessor definition. Repeatable.")
UNDEFINE = repeated("-U", "--undefine", metavar="NAME", help="Preprocessor definition to remove. Repeatable.")
INCLUDE = repeated("-I", "--include", metavar="DIR", type=Path, help="Folder to search for includes. Repeatable.")
AS_JSON = flag("--json", dest="as_json", help="JSON output instead of a table.")
QUIET = flag("-q", "--quiet", help="No output except the JSON line that reports readiness.")
DIE_WITH_PARENT = flag("--die-with-parent", help="End of the process together with the process that started it.")
DEVICE_ID = option("--device-id", metavar="N", type=integer(), help="P4Runtime device id.")
CHECKPOINT_EVERY = option(
    "--checkpoint-every", metavar="STEPS", type=integer(1), help="Optimizer steps between checkpoints."
)
CHECKPOINT_SECONDS = option(
    "--checkpoint-seconds",
    metavar="S",
    type=number(0),
    help="Seconds between checkpoints. Default: 30, or none with --checkpoint-every. One more is written at exit.",
)
LONGEST_FRAME = option(
    "--longest-frame", metavar="BYTES", type=integer(64, 65536), help="Maximum frame size of shm ports, bytes."
)
METRICS = option("--metrics", metavar="HOST:PORT", type=address, help="Listening address for Prometheus.")
LISTEN = option(
    "--listen",
    metavar="HOST:PORT",
    type=address,
    help="Listening address for the controller; port 0: any free port.",
)
RESTORE = switchable("--restore", help="Restart from the checkpoints in the --checkpoint folder.")
CAPTURE = option(
    "--capture",
    metavar="FILE",
    help="Capture of the frames on all ports, a *.pcapng file for Wireshark; see `netsum dissector`.",
)
CAPTURE_SIZE = option(
    "--capture-size", metavar="SIZE", type=size, help="Maximum size of a capture file, which ends there."
)
CACERT = option("--cacert", metavar="FILE", help="Root certificates of a switch with TLS (PEM).")
CERT = option("--cert", metavar="FILE", help="Certificate of the client, for mutual TLS (PEM).")
PRIVATE_KEY = option("--private-key", metavar="FILE", help="Private key of the client, for mutual TLS (PEM).")
LANES = option("--lanes", metavar="N", type=integer(), help="Integers in a frame: 64, 256, 336, 512, 1024 or 2048.")
SLOTS = option("--slots", metavar="N", type=integer(1, 1 << 16), help="Slots, of two sets each, of all jobs together.")
TREE = option(
    "--tree",
    metavar="NxM",
    type=fan_out,
    help="Tree of switches: 2x4 is a root, 2 leaves and 4 ranks at each; 2x2x4 has a level more, 2x3+5 3 and 5 ranks.",
)
WAY = option("--way", metavar="WAY", help="Exchange of partial sums between racks: ring, sharded or tree.")


def parse_defines(definitions: list[str] | None) -> dict[str, str]:
    """``["LANES=256"]`` to ``{"LANES": "256"}``; a bare name is defined as 1, as cpp does."""
    pairs = (text.partition("=") for text in definitions or [])
    return {name: value if separator else "1" for name, separator, value in pairs}


def check_lanes(lanes: int) -> int:
    """The value of ``--lanes``. Raises UsageError."""
    from hostagent.protocol.services.aggregator import LANES as CHOICES

    if lanes not in CHOICES:
        raise UsageError(f"{lanes}: choose one of {', '.join(map(str, CHOICES))}", "--lanes")
    return lanes


def client_tls(cacert: str | None, cert: str | None, private_key: str | None) -> ClientTls | None:
    """The values of ``--cacert``, ``--cert`` and ``--private-key``; None where none is given. Raises UsageError."""
    if cacert is None and cert is None and private_key is None:
        return None
    if (cert is None) != (private_key is None):
        raise UsageError("a certificate needs its private key, and the key its certificate", "--cert, --private-key")
    from emulator.rpc.tls import ClientTls

    return ClientTls(cacert, cert, private_key)


def check_ports(texts: Sequence[str]) -> tuple[str, ...]:
    """The values of ``--port N=SPEC``. Raises UsageError for one that cannot be read or clashes with another."""
    from emulator.ports.errors import PortError
    from emulator.ports.spec import parse_ports

    try:
        parse_ports(list(texts))
    except PortError as error:
        raise UsageError(str(error), "--port") from None
    return tuple(texts)


def check_capture(path: str | None, given: Mapping[str, str]) -> None:
    """Raises UsageError for a file of another format, and for a size without a file."""
    if path is None:
        refuse(given, "requires --capture FILE", "capture_size", "capture_append")
    elif not path.lower().endswith(".pcapng"):
        raise UsageError(f"{path!r}: name the file *.pcapng, the format that keeps ports apart", "--capture")


def check_checkpoint(folder: Path | None, every: int | None, seconds: float | None, restore: bool) -> None:
    """Raises UsageError for options about checkpoints without a folder for them."""
    if folder is None and (every or seconds or not restore):
        raise UsageError("requires --checkpoint DIR", "--checkpoint-every, --checkpoint-seconds, --no-restore")
