"""``netsum shell``: p4runtime-shell on a running switch.

p4runtime-shell needs an old protobuf (``.constraints-shell.txt`` says why), so it is run as a program, from
``.venv-shell`` in the checkout (``make setup``) or from this environment (the extra ``netsum[shell]``).
"""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

SHELL_VENV = Path(__file__).resolve().parents[2] / ".venv-shell"

DEFAULT_ELECTION_ID = "0,1"
"""The lowest but zero: on a switch that has seen no controller the shell may write, else it only reads, until it is
given a higher id. The shell's own default, 2**64, would take the role of primary from a controller in use."""

CONNECT_TIMEOUT_S = 2.0


class ShellError(Exception):
    """The shell cannot be started; the text says what to do."""


def shell_command(
    grpc_addr: str, device_id: int = 0, election_id: str = DEFAULT_ELECTION_ID, more: Sequence[str] = ()
) -> list[str]:
    """The words that start p4runtime-shell. Raises ShellError where it is not installed."""
    options = ["--grpc-addr", grpc_addr, "--device-id", str(device_id), "--election-id", election_id]
    return [str(_interpreter()), "-m", "p4runtime_sh", *options, *more]


def run_shell(
    grpc_addr: str, device_id: int = 0, election_id: str = DEFAULT_ELECTION_ID, more: Sequence[str] = ()
) -> int:
    """Become p4runtime-shell: returns only where that cannot be, with a message on stderr and the exit status."""
    try:
        command = shell_command(grpc_addr, device_id, election_id, more)
        _check_reachable(grpc_addr)
        os.execv(command[0], command)
    except ShellError as error:
        print(f"netsum shell: {error}", file=sys.stderr)
    return 1


def _interpreter() -> Path:
    own = SHELL_VENV / "bin" / "python"
    if own.exists():
        return own
    if importlib.util.find_spec("p4runtime_sh") is not None:
        return Path(sys.executable)
    raise ShellError(
        "p4runtime-shell is not installed: run `make setup` in the checkout (it makes .venv-shell), "
        "or install the extra `netsum[shell]` in an environment without torch"
    )


def _check_reachable(grpc_addr: str) -> None:
    host, _, port = grpc_addr.rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise ShellError(
            f"no switch answers at {grpc_addr!r} ({error}): start one with `netsum switch`, "
            "and name its address with --p4runtime HOST:PORT"
        ) from error
