"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hostagent.cli.parsing import UsageError, flag, integer, number, option, repeated, switchable

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
RESTORE = switchable("--restore", help="Restart from the checkpoints in the --checkpoint folder.")
WAY = option("--way", metavar="WAY", help="Exchange of partial sums between racks: ring, sharded or tree.")


def parse_defines(definitions: list[str] | None) -> dict[str, str]:
    """``["LANES=256"]`` to ``{"LANES": "256"}``; a bare name is defined as 1, as cpp does."""
    pairs = (text.partition("=") for text in definitions or [])
    return {name: value if separator else "1" for name, separator, value in pairs}


def check_ports(texts: Sequence[str]) -> tuple[str, ...]:
    """The values of ``--port N=SPEC``. Raises UsageError for one that cannot be read or clashes with another."""
    from emulator.ports.errors import PortError
    from emulator.ports.spec import parse_ports

    try:
        parse_ports(list(texts))
    except PortError as error:
        raise UsageError(str(error), "--port") from None
    return tuple(texts)


def check_checkpoint(folder: Path | None, every: int | None, seconds: float | None, restore: bool) -> None:
    """Raises UsageError for options about checkpoints without a folder for them."""
    if folder is None and (every or seconds or not restore):
        raise UsageError("requires --checkpoint DIR", "--checkpoint-every, --checkpoint-seconds, --no-restore")
