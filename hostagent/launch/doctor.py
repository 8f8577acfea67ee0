"""``netsum doctor``: what this machine lacks, and why it matters."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path


class Verdict(Enum):
    """How a check came out."""

    GOOD = "ok"
    LACKING = "lacking"
    """Something optional is not there."""
    BROKEN = "broken"
    """Training through the network will not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    subject: str
    verdict: Verdict
    text: str
    """What was found; for anything but GOOD also why it matters and what to do."""


RUN_BYTES_PER_PORT = 16 << 20
"""Room in shared memory for one port's two rings and frame pool, generously."""

GOOD_UDP_BUFFER_BYTES = 2 << 20

SHELL_PYTHON = Path(__file__).resolve().parents[2] / ".venv-shell" / "bin" / "python"
"""The environment that ``make setup`` makes for p4runtime-shell."""


def run_doctor(as_json: bool = False) -> int:
    """Print the findings; exit code 1 where something is broken."""
    findings = examine()
    _print_json(findings) if as_json else _print_table(findings)
    return 1 if any(finding.verdict is Verdict.BROKEN for finding in findings) else 0


def examine() -> list[Finding]:
    """All checks, in order; a check that fails in a way it did not foresee is itself a finding."""
    return [_examined(check) for check in CHECKS]


def _examined(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except Exception as error:
        return Finding(
            check.__name__.removeprefix("_").replace("_", " "), Verdict.BROKEN, f"the check failed: {error!r}"
        )


def _python() -> Finding:
    text = f"{sys.version.split()[0]} on {sys.platform}"
    if sys.platform != "linux":
        return Finding("Python", Verdict.BROKEN, f"{text}: shared memory, futexes and batched sockets need Linux")
    return Finding("Python", Verdict.GOOD, text)


def _torch() -> Finding:
    try:
        installed = version("torch")
    except PackageNotFoundError:
        return Finding("torch", Verdict.BROKEN, "not installed, and needed for training: pip install torch")
    names = [point.name for point in entry_points(group="torch.backends")]
    if "netsum" not in names:
        why = "so init_process_group('netsum') is unknown to it; install netsum again (pip install -e .)"
        return Finding("torch", Verdict.BROKEN, f"{installed}, but netsum is not among its extensions, {why}")
    if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") != "1":
        why = "switches extensions off; scripts must call hostagent.torch_backend.autoload.register() themselves"
        return Finding("torch", Verdict.LACKING, f"{installed}; TORCH_DEVICE_BACKEND_AUTOLOAD {why}")
    return Finding("torch", Verdict.GOOD, f"{installed}, with netsum among its extensions")


def _compiler() -> Finding:
    try:
        text = f"numba {version('numba')}, llvmlite {version('llvmlite')}"
    except PackageNotFoundError as error:
        return Finding("compiler", Verdict.BROKEN, f"{error.name} is not installed: no loop can be compiled")
    return Finding("compiler", Verdict.GOOD, text)


def _cache() -> Finding:
    from emulator.native.folders import LOOPS, cache_root, wanted_cache_root, why_unusable

    wanted, used = wanted_cache_root(), cache_root()
    problem, advice = why_unusable(wanted), "set NETSUM_CACHE to a writable folder"
    if not problem:
        return Finding("cache", Verdict.GOOD, str(wanted))
    if used != wanted:
        text = f"{wanted}: {problem}; {used} is used instead, which may be removed at a restart: {advice}"
        return Finding("cache", Verdict.LACKING, text)
    if any(wanted.glob(f"{LOOPS}*")):
        text = (
            f"{wanted} can only be read ({problem}): another version of netsum or another CPU cannot use it: {advice}"
        )
        return Finding("cache", Verdict.LACKING, text)
    return Finding("cache", Verdict.BROKEN, f"{wanted}: {problem}; loops cannot be compiled: {advice}")


def _shared_memory() -> Finding:
    from emulator.ports.cable.shared_folder import shared_folder

    folder = shared_folder()
    if not os.access(folder, os.W_OK):
        why = "shm ports between ranks and switch are files there; set NETSUM_SHM to a folder on a tmpfs"
        return Finding("shared memory", Verdict.BROKEN, f"{folder} cannot be written, and {why}")
    free = shutil.disk_usage(folder).free
    text = f"{free >> 20} MiB free in {folder}"
    if free < 4 * RUN_BYTES_PER_PORT:
        why = "four ranks may not fit; enlarge it (docker: --shm-size=1g) or set NETSUM_SHM"
        return Finding("shared memory", Verdict.LACKING, f"{text}: {why}")
    return Finding("shared memory", Verdict.GOOD, text)


def _loopback() -> Finding:
    for kind, name in ((socket.SOCK_STREAM, "TCP"), (socket.SOCK_DGRAM, "UDP")):
        with socket.socket(socket.AF_INET, kind) as probe:
            try:
                probe.bind(("127.0.0.1", 0))
            except OSError as error:
                why = "ranks, controller and switch talk over it"
                return Finding("loopback", Verdict.BROKEN, f"no {name} port on 127.0.0.1: {error.strerror}; {why}")
    return Finding("loopback", Verdict.GOOD, "TCP and UDP on 127.0.0.1")


def _udp_buffers() -> Finding:
    limit = int(Path("/proc/sys/net/core/rmem_max").read_text())
    text = f"receive buffers up to {limit >> 10} KiB"
    if limit < GOOD_UDP_BUFFER_BYTES:
        why = "udp ports (not shm) will drop under load; as root: sysctl -w net.core.rmem_max=4194304"
        return Finding("udp", Verdict.LACKING, f"{text}: {why}")
    return Finding("udp", Verdict.GOOD, text)


def _processors() -> Finding:
    count = len(os.sched_getaffinity(0))
    if count < 2:
        why = "switch and ranks share it, so measured times mean little"
        return Finding("processors", Verdict.LACKING, f"{count}: {why}")
    return Finding("processors", Verdict.GOOD, f"{count}")


def _shell() -> Finding:
    if importlib.util.find_spec("p4runtime_sh") or SHELL_PYTHON.exists():
        return Finding("p4runtime-shell", Verdict.GOOD, "installed")
    why = "`netsum shell` needs it; make setup installs it in a separate environment"
    return Finding("p4runtime-shell", Verdict.LACKING, f"not found: {why}")


def _reference_tools() -> Finding:
    """Optional: nothing but `pytest --target bmv2` looks for them."""
    subject, tools = "p4c and bmv2", ("p4c-bm2-ss", "simple_switch_grpc")
    ours = Path(sys.executable).parent.resolve()
    found = [Path(path) for path in map(shutil.which, tools) if path is not None]
    theirs = [str(path) for path in found if path.resolve().parent != ours]  # resolved: of `netsum bmv2-path`, too
    if len(theirs) == len(tools):
        return Finding(subject, Verdict.GOOD, ", ".join(theirs))
    missing = [tool for tool in tools if not (ours / tool).is_file()]
    if missing:
        why = "scripts for bmv2 need them; install netsum again (pip install -e .)"
        return Finding(subject, Verdict.LACKING, f"{ours} lacks {' and '.join(missing)}: {why}")
    text = "netsum's own, in $(netsum bmv2-path); pytest --target bmv2 needs those of p4c and bmv2"
    return Finding(subject, Verdict.GOOD, text)


CHECKS = (
    _python,
    _torch,
    _compiler,
    _cache,
    _shared_memory,
    _loopback,
    _udp_buffers,
    _processors,
    _shell,
    _reference_tools,
)


def _print_json(findings: list[Finding]) -> None:
    import json

    rows = [{"subject": f.subject, "verdict": f.verdict.value, "text": f.text} for f in findings]
    print(json.dumps(rows, indent=2))


def _print_table(findings: list[Finding]) -> None:
    from rich.text import Text

    from hostagent.launch.terminal import print_table

    colours = {Verdict.GOOD: "green", Verdict.LACKING: "yellow", Verdict.BROKEN: "red"}
    rows = [(f.subject, Text(f.verdict.value, style=colours[f.verdict]), f.text) for f in findings]
    print_table(("check", "", "result"), rows)
