"""A network namespace with both ends of some cables in it: what people have who make veth pairs on one machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hostagent.cli.bench.veth import PREFIX, NoNamespaces, ip, remove_left_behind, require_namespaces


@contextmanager
def one_namespace(label: str, pairs: int = 0) -> Iterator[str]:
    """Its name; ``veth1`` .. are the hosts' ends of the cables, ``sw1`` .. the switch's. Skips, with the reason."""
    name = f"{PREFIX}{os.getpid()}-{label}"
    try:
        require_namespaces()
        remove_left_behind()
        ip("netns", "add", name)
    except (NoNamespaces, subprocess.CalledProcessError) as error:
        pytest.skip(str(getattr(error, "stderr", "") or error))
    try:
        ip("-n", name, "link", "set", "lo", "up")
        quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"
        subprocess.run(["ip", "netns", "exec", name, "sh", "-c", quiet], capture_output=True)
        for number in range(1, pairs + 1):
            ends = (f"veth{number}", f"sw{number}")
            ip("-n", name, "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
            for end in ends:
                ip("-n", name, "link", "set", end, "up")
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True)
