"""PTF's own tests against our switch, over veth interfaces."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.p4runtime.pipeline.programs import load_program
from tests.labs.one_namespace import one_namespace

pytestmark = pytest.mark.root
pytest.importorskip("ptf", reason="PTF is not installed: pip install ptf")

ROOT = Path(__file__).resolve().parents[2]
ROUTER = ROOT / "p4src" / "router.p4"
TESTS = ROOT / "p4src" / "examples" / "ptf"
PATIENCE_S = 60


@pytest.fixture
def namespace() -> Iterator[str]:
    with one_namespace("ptf", pairs=2) as name:
        yield name


@pytest.fixture
def switch(namespace: str) -> Iterator[str]:
    """The P4Runtime address of a router on both cables."""
    words = [sys.executable, "-m", "hostagent.cli.main", "switch", str(ROUTER), "--quiet"]
    words += ["--port", "1=if:sw1", "--port", "2=if:sw2", "--p4runtime", "127.0.0.1:9559", "--die-with-parent"]
    process = subprocess.Popen(["ip", "netns", "exec", namespace, *words], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        assert json.loads(process.stdout.readline())
        yield "127.0.0.1:9559"
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)


def test_ptf_tests_run_unchanged(namespace: str, switch: str, tmp_path: Path) -> None:
    p4info = tmp_path / "router.p4info.txtpb"
    p4info.write_text(str(load_program(str(ROUTER)).p4info))
    words = [sys.executable, "-m", "hostagent.cli.main", "ptf", "--test-dir", str(TESTS)]
    words += ["--interface", "1@veth1", "--interface", "2@veth2"]
    words += ["--test-params", f"grpcaddr='{switch}';p4info='{p4info}'"]
    words += ["--log-dir", str(tmp_path / "logs"), "--log-file", str(tmp_path / "log")]
    done = subprocess.run(
        ["ip", "netns", "exec", namespace, *words], capture_output=True, text=True, timeout=PATIENCE_S, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Ran 2 tests" in done.stdout + done.stderr
