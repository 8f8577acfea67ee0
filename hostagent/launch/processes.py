"""A switch or controller process that a launcher starts, watches, starts again, and is sure to end.

The start protocol is the same for both: one JSON line on stdout when ready, and one for each ``problem`` to be
reported to people; logs on stderr, SIGTERM ends it in order, and ``--die-with-parent`` makes the kernel end it when the
launcher is killed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from emulator.ports.spec import INHERITED

START_TIMEOUT_S = 120.0
"""A cold start compiles the transport's or the switch's loops, on a busy machine for most of a minute."""

STOP_TIMEOUT_S = 5.0
RESTARTS = 5
RESTART_WINDOW_S = 60.0
"""A service that ends more often than RESTARTS times in this long is broken, not unlucky."""

TAIL_BYTES = 4000


REFUSED_STATUS = 2
"""Exit status where nothing was started because of what the user asked for, as of a wrong command line."""


class LaunchError(Exception):
    """Something of a run could not be started or kept running; the text names it and says why."""


class KilledEarlyError(LaunchError):
    """A service was killed by a signal before it was ready: it may well start the next time."""


def netsum_command(*arguments: str) -> list[str]:
    """The argument vector of a netsum command under this very Python. -P: without the user's folder, in which a file
    such as p4.py would hide a package of ours."""
    return [sys.executable, "-P", "-m", "hostagent.cli.main", *arguments]


@dataclass
class Service:
    """One service process over all its incarnations."""

    name: str
    """Name in messages: ``switch``, ``controller``."""
    log: Path
    """Takes stderr; its end is quoted when the service fails."""
    command: Callable[[Mapping[str, Any]], Sequence[str]]
    """Argument vector, given what the first incarnation said when ready: a later one takes the same addresses."""
    ready: dict[str, Any] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None
    starts: deque[float] = field(default_factory=deque)
    verbose: bool = False
    """Let stderr through instead of logging it."""
    sockets: Sequence[socket.socket] = ()
    """UDP sockets that are its own from the first incarnation to the last: their addresses can't be anybody else's."""
    told_later: bool = False
    """It waits on stdin for what was not known at its start; ``send_line``, once, says that. Later incarnations are
    given it in the command."""
    is_held: bool = False
    """It was killed by ``interrupt`` and is not to be started yet."""
    is_ready: bool = False
    """This incarnation has said that it is ready."""
    _listener: threading.Thread | None = field(default=None, init=False)
    _log_begin_bytes: int = field(default=0, init=False)
    """Where the log of this incarnation begins."""

    def start(self) -> None:
        """Start the process; does not wait until it is ready."""
        descriptors = [held.fileno() for held in self.sockets]
        with self.log.open("ab") as log:
            self._log_begin_bytes = log.tell()
            self.process = subprocess.Popen(
                list(self.command(self.ready)),
                stdin=subprocess.PIPE if self.told_later else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=None if self.verbose else log,
                text=True,
                pass_fds=descriptors,
                env={**os.environ, INHERITED: ",".join(map(str, descriptors))} if descriptors else None,
                start_new_session=True,  # a Ctrl-C in the terminal is the launcher's to handle, in order
            )
        self.is_ready = False
        self.starts.append(time.monotonic())

    def send_line(self, line: str) -> None:
        """Write what a service waits for on standard input. One that has ended already says why in ``wait_ready``."""
        assert self.process is not None
        assert self.process.stdin is not None
        self.told_later = False
        with suppress(BrokenPipeError), self.process.stdin as stdin:
            stdin.write(f"{line}\n")

    def wait_ready(self, timeout_s: float = START_TIMEOUT_S) -> dict[str, Any]:
        """Block until the process says that it is ready; what it says. Raises LaunchError with the end of its log."""
        assert self.process is not None
        assert self.process.stdout is not None
        stdout = self.process.stdout
        if not select.select([stdout], [], [], timeout_s)[0]:
            raise LaunchError(f"the {self.name} was not ready within {timeout_s:g} s{self._quoted_log()}")
        line = stdout.readline()
        try:
            self.ready = self.ready | json.loads(line)
            self.is_ready = True
        except ValueError:
            code = self.process.wait(STOP_TIMEOUT_S) if not line else None
            problem = f"printed {line.strip()!r} instead of its ready line" if line else _ending(code)
            kind = KilledEarlyError if code is not None and code < 0 else LaunchError
            raise kind(f"the {self.name} {problem}{self._quoted_log()}") from None
        self._listener = threading.Thread(target=self._listen, args=(stdout,), name=f"{self.name} stdout", daemon=True)
        self._listener.start()
        return self.ready

    def becomes_ready(self) -> bool:
        """Whether it has become ready since it was last asked; does not wait. Raises LaunchError as ``wait_ready``."""
        assert self.process is not None
        assert self.process.stdout is not None
        if self.is_ready:
            return False
        if not select.select([self.process.stdout], [], [], 0)[0]:
            if time.monotonic() < self.starts[-1] + START_TIMEOUT_S:
                return False
            raise LaunchError(f"the {self.name} was not ready within {START_TIMEOUT_S:g} s{self._quoted_log()}")
        self.wait_ready()
        return True

    def _listen(self, stdout: IO[str]) -> None:
        """Pass on what people are to know. Reads to the end, so that the process never waits for a reader."""
        for line in stdout:
            with suppress(ValueError, KeyError, TypeError):
                sys.stderr.write(f"netsum: the {self.name}: {json.loads(line)['problem']}\n")

    def restart(self) -> str:
        """Start it again after it ended; says how it ended. Raises LaunchError when it ends too often."""
        assert self.process is not None
        code = self.process.wait()
        ending = _ending(code) + (self._last_words() if code > 0 else "")
        while self.starts and self.starts[0] < time.monotonic() - RESTART_WINDOW_S:
            self.starts.popleft()
        if len(self.starts) > RESTARTS:
            raise LaunchError(f"the {self.name} {ending} {len(self.starts)} times in a minute{self._quoted_log()}")
        self.start()
        return ending

    def interrupt(self) -> None:
        """Kill it, and hold it until ``is_held`` is cleared. That is no end of its own, so it does not count as one."""
        self.is_held = True
        if len(self.starts) > 1:
            self.starts.popleft()
        if self.process is not None:
            self.process.kill()

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        """End it in order, then by force, for good; returns when it is gone."""
        for held in self.sockets:
            held.close()
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        if self._listener is not None:
            self._listener.join(STOP_TIMEOUT_S)  # its last words

    def _last_words(self) -> str:
        """The last line of this incarnation's log: of one that ended by itself, why."""
        text = self.log.read_bytes()[self._log_begin_bytes :].decode(errors="replace") if self.log.exists() else ""
        lines = text.strip().splitlines()
        return f" ({lines[-1].strip()})" if lines else ""

    def _quoted_log(self) -> str:
        text = self.log.read_bytes()[-TAIL_BYTES:].decode(errors="replace").strip() if self.log.exists() else ""
        lines = text.splitlines()[-20:]
        return ":\n" + "\n".join(f"    {line}" for line in lines) if lines else ""


def _ending(code: int | None) -> str:
    if code is None:
        return "is still running"
    if code < 0:
        return f"was killed by {signal_name(-code)}"
    return f"ended with exit code {code}"


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9; the number where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def kill_session(pid: int) -> None:
    """End a process that leads its own session, and all that stayed in its group."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
