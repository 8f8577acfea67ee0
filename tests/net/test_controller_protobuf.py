"""Session and P4Runtime driver under the protobuf of 2022 that p4runtime-shell pins, today's on the other side."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.p4runtime.device import Device
from emulator.p4runtime.pipeline.package import pack
from emulator.p4runtime.server import P4RuntimeServer
from hostagent.transport.session.session import SessionClient
from hostagent.transport.session.terms import JobFailed
from tests.fakes.fake_switch import fake_target
from tests.programs.aggregator_p4info import aggregator_p4info_text

ROOT = Path(__file__).resolve().parents[2]
OLD_PYTHON = ROOT / ".venv-shell" / "bin" / "python"

pytestmark = pytest.mark.skipif(
    not OLD_PYTHON.exists(), reason="no .venv-shell (p4runtime 1.4.1 with protobuf 3.20): run `make setup`"
)

CONTROLLER = """
import sys
from pathlib import Path
from hostagent.controller.drivers.p4.driver import Program
from hostagent.controller.process import ControllerOptions, run_controller
program = Program(Path(sys.argv[2]).read_bytes())
run_controller(ControllerOptions(f"p4runtime://{sys.argv[1]}", ("1=shm:a", "2=shm:b"), program))
"""

RANK = """
import json, sys
import google.protobuf
from hostagent.transport.session.session import SessionClient
class Callbacks:
    def on_freeze(self, job): return 0
    def on_resume(self, job, lease): pass
    def on_failed(self, job, cause): pass
    def on_collect(self, job): return {}
    def on_describe(self, job, operation): return ""
    def on_peer_left(self, job, rank, next_chunk): pass
    def on_proceed(self, job, units): pass
client = SessionClient(sys.argv[1], Callbacks())
lease = client.lease(client.join("world", 1, 2), 30)
client.leave(lease.job, 0)
client.close()
print(json.dumps([google.protobuf.__version__, lease.child, lease.children, lease.lanes, lease.port]))
"""


class Callbacks:
    """A rank to which nothing happens."""

    def on_freeze(self, job: int) -> int:
        return 0

    def on_resume(self, job: int, lease: object) -> None:
        pass

    def on_failed(self, job: int, failure: JobFailed) -> None:
        pass

    def on_collect(self, job: int) -> dict[str, int]:
        return {}

    def on_describe(self, job: int, operation: int) -> str:
        return ""

    def on_peer_left(self, job: int, rank: int, next_chunk: int) -> None:
        pass

    def on_proceed(self, job: int, units: object) -> None:
        pass


@pytest.fixture
def old_controller(tmp_path: Path) -> Iterator[str]:
    """The address of a controller that runs under the old protobuf, with a switch under the new one."""
    source, package = tmp_path / "allreduce.p4", tmp_path / "allreduce.zip"
    source.write_text(aggregator_p4info_text())
    package.write_bytes(pack(source, {}))
    server = P4RuntimeServer(Device(0, fake_target()), "127.0.0.1:0")
    command = [str(OLD_PYTHON), "-c", CONTROLLER, server.address, str(package)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        pytest.fail(process.communicate()[1])
    yield json.loads(line)["address"]
    process.terminate()
    process.communicate()
    server.stop(0)


def test_an_old_rank_and_a_new_one_share_a_job_of_an_old_controller(old_controller: str) -> None:
    old = subprocess.Popen(
        [str(OLD_PYTHON), "-c", RANK, old_controller],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    client = SessionClient(old_controller, Callbacks())
    lease = client.lease(client.join("world", 0, 2), 30.0)
    assert client.leave(lease.job, 0)
    client.close()
    out, errors = old.communicate(timeout=30)
    assert out, errors
    version, child, children, lanes, port = json.loads(out)
    assert version.startswith("3.20")
    assert (child, children, lanes, port) == (1, 2, 64, "shm:b")
    assert (lease.child, lease.port) == (0, "shm:a")
