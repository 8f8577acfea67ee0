"""An order as launchers read it: files, and a script that a shell runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hostagent.planner.placement.apply import host_file, rank_file, read_order, torchrun_environment, write_order
from hostagent.planner.placement.costs import PlacementError

HOSTS = ["vm2.0", "vm0.1", "vm1"]


def test_files_of_launchers(tmp_path: Path) -> None:
    write_order(HOSTS, {"algorithm": "ring"}, tmp_path / "order.json")
    hosts = read_order(tmp_path / "order.json")
    assert hosts == HOSTS
    assert host_file(hosts) == "vm2.0 slots=1\nvm0.1 slots=1\nvm1 slots=1\n"
    assert rank_file(hosts).splitlines()[1] == "rank 1=vm0.1 slot=0"


@pytest.mark.parametrize(("host", "code", "said"), [("vm0.1", 0, "1 3 1 vm2.0"), ("vm9", 1, "")])
def test_the_environment_of_torchrun(host: str, code: int, said: str) -> None:
    """On a host of the job, and on another."""
    script = torchrun_environment(HOSTS)
    line = f"hostname() {{ echo {host}; }}; sourced() {{ {script} }}; sourced && echo "
    line += "$PET_NODE_RANK $PET_NNODES $PET_NPROC_PER_NODE $PET_MASTER_ADDR"
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=10)
    assert (ended.returncode, ended.stdout.strip()) == (code, said), ended.stderr
    assert ("vm9: no host of this job" in ended.stderr) == bool(code)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1: not JSON"),
        ("[]", "this has to be an object with the fields hosts"),
        ('{"hosts": []}', "hosts: this has to be a list of hosts' names"),
        ('{"hosts": ["a", "a"]}', r"hosts\[1\]: 'a' is there twice"),
        ('{"hosts": ["a; rm x"]}', r"hosts\[0\]: 'a; rm x' is no host's name"),
        ('{"hosts": ["a"], "host": 1}', r"host: unknown field \(did you mean 'hosts'\?\)"),
    ],
)
def test_what_is_no_order(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "order.json").write_text(text)
    with pytest.raises(PlacementError, match=f"order.json.*{said}"):
        read_order(tmp_path / "order.json")
