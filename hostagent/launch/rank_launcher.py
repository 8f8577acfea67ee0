"""The child process of ``netsum run`` that starts the ranks, through torch's own launcher.

It imports torch while the switch and the controller start, then waits for the controller's address on the pipe that
binds it to its parent. When the pipe breaks, the parent is gone: it ends the ranks and itself.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hostagent.launch.processes import REFUSED_STATUS, kill_session, signal_name
from hostagent.launch.stopped import LOOK_S, StoppedProcesses
from hostagent.torch_backend.autoload import REPLACED
from hostagent.torch_backend.failure_report import ENABLED_BY, TIME_NS
from hostagent.transport.session.terms import (
    LONGEST_SILENCE_NS,
    PORTS_VARIABLE,
    PRIORITY_VARIABLE,
    SHARE_VARIABLE,
    SessionError,
    requested_priority,
    requested_share,
)

CONSEQUENCES = ("NetsumError", "OperationTimeoutError")
SECOND_NS = 1_000_000_000
PATIENCE_S = LONGEST_SILENCE_NS / SECOND_NS
LATE_S = 20
"""Longer than ranks take to notice a dead one, shorter than torch's patience with a rank that ignores SIGTERM."""
REPORT_S = 10
"""Within it ranks have the error that names a killed one (PROTOCOL.md, section 9.3)."""
ORDERLY_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ACCEPTED_OUTPUT = {"plain": [], "prefixed": ["--tee", "3"]}


@dataclass(frozen=True, slots=True)
class RankOrder:
    """What to start; passed to the child process as JSON."""

    ranks: int
    program: tuple[str, ...]
    """The interpreter and the script with its arguments."""
    log_folder: str
    prefixed: bool
    parent_pipe: int
    """Descriptor of the read end: one line with the controller's address, then silence while the parent lives."""
    ports: tuple[int, ...] = ()
    """Number of the aggregator's port that each rank is to have; empty: any."""
    replaced_backend: str = ""
    """Backend that netsum takes the place of; empty: none."""
    share: int | None = None
    """Of slots and of queues that mark; None: what the environment says."""
    priority: int | None = None
    """For slots; None: what the environment says."""
    slowed: tuple[int, ...] = ()
    """Ranks that a script of faults stops and continues: not reported as stopped."""

    def as_json(self) -> str:
        return json.dumps(asdict(self))


def main() -> int:
    """Run the order given as the only argument; the exit code is the first failed rank's (128 + N for signal N)."""
    fields = json.loads(sys.argv[1])
    order = RankOrder(**{**fields, "program": tuple(fields["program"]), "ports": tuple(fields["ports"])})
    import torch.distributed.run  # the seconds this takes are shared with the switch's start

    if mistake := _mistake_in_environment():
        print(f"netsum run: {mistake.removeprefix('netsum: ')}", file=sys.stderr)
        return REFUSED_STATUS
    pipe = os.fdopen(order.parent_pipe, "r")
    address = pipe.readline().strip()
    if not address:
        return 1
    watch = threading.Thread(target=_end_with_parent, args=(pipe, order), name="parent watch", daemon=True)
    watch.start()
    _prepare_environment(order, address)
    _quieten()
    _let_ranks_report()
    return _run(torch.distributed.run, order)


def _mistake_in_environment() -> str:
    """What is wrong with our variables, of which each rank would complain; empty if nothing."""
    from hostagent.torch_backend.errors import RefusedError
    from hostagent.torch_backend.options import check_environment

    try:
        check_environment()
        requested_share()
        requested_priority()
    except (RefusedError, SessionError) as error:
        return str(error)
    return ""


def _prepare_environment(order: RankOrder, address: str) -> None:
    os.environ["NETSUM_CONTROLLER"] = address
    os.environ[ENABLED_BY] = "1"
    if order.replaced_backend:
        os.environ[REPLACED] = order.replaced_backend
    if order.ports:
        os.environ[PORTS_VARIABLE] = ",".join(map(str, order.ports))
    if order.share is not None:
        os.environ[SHARE_VARIABLE] = str(order.share)
    if order.priority is not None:
        os.environ[PRIORITY_VARIABLE] = str(order.priority)
    os.environ["TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"] = "[rank ${rank}] "
    if order.ranks > 1:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # as torchrun, without its warning


def _quieten() -> None:
    """Silence torch's launcher, which logs a failed rank several times; ours is reported once, at the end."""
    for name in list(logging.root.manager.loggerDict):
        if name.startswith(("torch.distributed.elastic", "torch.distributed.run", "torch.distributed.launcher")):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _let_ranks_report() -> None:
    """Have torch's launcher wait for the other ranks' errors where one was killed: it would end them at once."""
    from torch.distributed.elastic.multiprocessing.api import SubprocessContext

    close = SubprocessContext._close
    waited = False

    def close_after_reports(self: Any, death_sig: signal.Signals, timeout: int = 30) -> None:
        nonlocal waited
        ranks = [handler.proc for handler in self.subprocess_handlers.values()]
        end_s = time.monotonic() + REPORT_S
        if not waited and any((rank.poll() or 0) < 0 and -rank.poll() not in ORDERLY_SIGNALS for rank in ranks):
            waited = True  # a second call is for an interrupt
            while any(rank.poll() is None for rank in ranks) and time.monotonic() < end_s:
                time.sleep(0.05)
        close(self, death_sig, timeout)

    SubprocessContext._close = close_after_reports  # type: ignore[method-assign]


def _run(launcher: Any, order: RankOrder) -> int:
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    binder = [sys.executable, "-I", "-S", str(Path(__file__).with_name("rank_exec.py")), str(os.getpid())]
    options = ["--standalone", f"--nproc-per-node={order.ranks}", "--log-dir", order.log_folder]
    options += ACCEPTED_OUTPUT["prefixed" if order.prefixed else "plain"]
    arguments = launcher.parse_args([*options, "--no-python", *binder, *order.program])
    stopped = _watch_for_stopped_ranks({str(rank) for rank in order.slowed})
    try:
        launcher.run(arguments)
    except ChildFailedError as error:
        return _report(error, stopped.ended)
    except SignalException as error:
        return 128 + int(error.sigval)
    return 0


def _watch_for_stopped_ranks(slowed: Collection[str]) -> StoppedProcesses:
    """Report them at once: the other ranks notice 5 s later, and cannot distinguish it from a lost machine.
    ``slowed``: not these."""

    def report(pid: int, is_stopped: bool) -> None:
        what = f"is stopped: in {PATIENCE_S:g} s netsum ends the job, unless `kill -CONT {pid}` lets it go on"
        print(f"netsum run: rank {_rank_of(pid)} (process {pid}) {what if is_stopped else 'goes on'}", file=sys.stderr)

    def watch() -> None:
        while True:
            processes.look([pid for pid in _children() if _rank_of(pid) not in ("", *slowed)])
            time.sleep(LOOK_S)

    processes = StoppedProcesses(report)
    threading.Thread(target=watch, name="stopped ranks", daemon=True).start()
    return processes


def _rank_of(pid: int) -> str:
    """The rank in a child's environment; empty: it is not one of the ranks."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return next((word[5:].decode() for word in words if word.startswith(b"RANK=")), "")
    return ""


def _report(error: Any, stopped: Collection[int] = ()) -> int:
    """Print which rank failed first, and why; the exit code. ``stopped``: processes that were stopped at the end."""
    reported_ns = min((when for failure in error.failures.values() if (when := _reported_ns(failure))), default=0)
    rank, failure = min(error.failures.items(), key=lambda item: _precedence(item[1], reported_ns, stopped))
    others = len(error.failures) - 1
    print(f"netsum run: rank {rank} {_cause(failure, stopped)}", file=sys.stderr)
    if others:
        print(f"netsum run: {others} other rank(s) failed after it, or were ended by the launcher", file=sys.stderr)
    return _exit_code(failure)


def _precedence(failure: Any, reported_ns: int, stopped: Collection[int]) -> tuple[int, int]:
    """Sort key: smallest for the failure that caused the others. ``reported_ns``: of the first report; 0: none.

    Errors of our backend mostly have their cause in another rank. The other ranks are ended by
    torch's launcher, with SIGTERM, and with SIGKILL 30 s later where that does not end them.
    """
    happened_ns = _reported_ns(failure)
    if failure.pid in stopped:
        return -1, happened_ns
    if happened_ns:
        return int(_raised(failure).startswith(CONSEQUENCES)), happened_ns
    happened_ns = int(failure.timestamp) * SECOND_NS
    is_late = reported_ns > 0 and happened_ns - reported_ns > LATE_S * SECOND_NS
    by_launcher = failure.exitcode == -signal.SIGTERM or (failure.exitcode == -signal.SIGKILL and is_late)
    return (2 if by_launcher else 0), happened_ns


def _reported_ns(failure: Any) -> int:
    """When a rank reported its exception; 0: it reported none."""
    message = failure.error_file_data.get("message")
    if not isinstance(message, dict):
        return 0
    return int(message.get("extraInfo", {}).get(TIME_NS, int(failure.timestamp) * SECOND_NS))


def _raised(failure: Any) -> str:
    """The exception that a rank reported, also where a signal overtook its exit; empty if it reported none."""
    message = failure.error_file_data.get("message")
    return str(message.get("message", "")) if isinstance(message, dict) else ""


def _exit_code(failure: Any) -> int:
    code = int(failure.exitcode)
    return code if code > 0 else 1 if _raised(failure) else 128 - code


def _cause(failure: Any, stopped: Collection[int]) -> str:
    if failure.pid in stopped:
        return f"was stopped (process {failure.pid}, SIGSTOP) and did not go on, so the job was ended"
    if raised := _raised(failure):
        return f"raised {raised}"
    if failure.exitcode < 0:
        return f"was killed by {signal_name(-failure.exitcode)} (process {failure.pid})"
    return f"ended with exit code {failure.exitcode}; what it printed is above"


def _end_with_parent(pipe: Any, order: RankOrder) -> None:
    pipe.read()
    for pid in _children():
        kill_session(pid)
    shutil.rmtree(Path(order.log_folder).parent, ignore_errors=True)
    os.kill(os.getpid(), signal.SIGKILL)


def _children() -> list[int]:
    with suppress(OSError):
        return [int(text) for text in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    return []


if __name__ == "__main__":
    sys.exit(main())
