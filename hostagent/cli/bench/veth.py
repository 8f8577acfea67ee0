"""Two network namespaces joined by veth pairs: what a benchmark or a test of real interfaces needs, made and removed.

Needs root and iproute2's ``ip``. Names carry the process's number: several users do not meet, and what a killed process
left behind is removed by the next.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from hostagent.cli.bench.runner import BenchError

PREFIX = "netsum-"
HOSTS, SWITCH = "hosts", "switch"


class NoNamespaces(BenchError):
    """Namespaces can't be had here; the message says why and what to do."""


class VethPairs:
    """``pairs`` cables: ``h1``, ``h2`` ... in the hosts' namespace to ``s1``, ``s2`` ... in the switch's.

    A context manager. The interfaces have no addresses, so the kernel itself says nothing on them.
    """

    def __init__(self, pairs: int = 2, *, mtu: int = 1500) -> None:
        self.pairs = pairs
        self.mtu = mtu
        self.hosts = f"{PREFIX}{os.getpid()}-{HOSTS}"
        self.switch = f"{PREFIX}{os.getpid()}-{SWITCH}"

    def __enter__(self) -> VethPairs:
        require_namespaces()
        remove_left_behind()
        try:
            self._make()
        except subprocess.CalledProcessError as error:
            self._remove()
            what = " ".join(error.cmd)
            raise NoNamespaces(f"{what}: {error.stderr.strip()}; are network namespaces allowed here?") from error
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _make(self) -> None:
        for namespace in (self.hosts, self.switch):
            ip("netns", "add", namespace)
            # the kernel would announce itself by IPv6; where it has none there is nothing to switch off
            switch_off = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"
            subprocess.run(self.command(namespace, ["sh", "-c", switch_off]), capture_output=True)
        for index in range(1, self.pairs + 1):
            ends = ((f"h{index}", self.hosts), (f"s{index}", self.switch))
            first, second = (["name", name, "mtu", str(self.mtu), "netns", namespace] for name, namespace in ends)
            ip("link", "add", *first, "type", "veth", "peer", *second)
        for index in range(1, self.pairs + 1):
            ip("-n", self.hosts, "link", "set", f"h{index}", "up")
            ip("-n", self.switch, "link", "set", f"s{index}", "up")

    def _remove(self) -> None:
        for namespace in (self.hosts, self.switch):
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)

    @staticmethod
    def command(namespace: str, words: Sequence[str]) -> list[str]:
        """A command line that runs ``words`` in one of the namespaces."""
        return ["ip", "netns", "exec", namespace, *words]


CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
"""Numbers in linux/capability.h."""


def ip(*words: str) -> str:
    """Run iproute2's ip; its output. Raises CalledProcessError."""
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def require_namespaces() -> None:
    """Raises NoNamespaces where they can't be made, as far as that is known beforehand."""
    if shutil.which("ip") is None:
        raise NoNamespaces("the command `ip` is missing: install iproute2")
    if os.geteuid() != 0:
        raise NoNamespaces("network namespaces and veth pairs need root: run it again with sudo")
    status = Path("/proc/self/status").read_text().splitlines()
    held = int(next(line for line in status if line.startswith("CapEff:")).split()[1], 16)
    missing = [name for name, number in CAPABILITIES.items() if not held >> number & 1]
    if missing:
        raise NoNamespaces(
            f"network namespaces and veth pairs need {' and '.join(missing)}, which root lacks here: in a container, "
            "give it with --cap-add or --privileged"
        )


def remove_left_behind() -> None:
    """Delete namespaces whose process is gone."""
    for line in ip("netns", "list").splitlines():
        name = line.split()[0] if line.split() else ""
        owner = name.removeprefix(PREFIX).partition("-")[0]
        if name.startswith(PREFIX) and owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)
