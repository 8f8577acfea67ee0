"""torch's own tests of torch.distributed with netsum on four ranks: every test that gloo passes, passes.

A sample here; with NETSUM_TESTS=all (`make conformance`) all of them. `torch_suite.toml` lists the tests that
gloo does not pass, and why; `tests/labs/torch_suite.py` runs them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch

from hostagent.launch.aggregators import running_aggregator
from hostagent.transport.warm import ensure_warm
from tests.labs.extent import IS_COMPLETE

LISTED = tomllib.loads(Path(__file__).with_name("torch_suite.toml").read_text())
SAMPLE: list[str] = LISTED["sample"]
WITHOUT_GLOO = {name: why for why, names in LISTED["without_gloo"].items() for name in names}
PATIENCE_S = 1500 if IS_COMPLETE else 250
PORTS = 6
"""DDP in RPC has a master and a remote worker beside its four trainers."""


def run_suite(*arguments: str, controller: str = "") -> str:
    """The suite in a process of its own, since ranks are forked from it; what it printed."""
    line = [sys.executable, "-m", "tests.labs.torch_suite", *arguments]
    environment = {**os.environ, "NETSUM_CONTROLLER": controller}
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        line, env=environment, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S
    )
    assert ended.returncode in (0, 1), ended.stdout
    return ended.stdout


def names_to_run() -> list[str]:
    """The sample, or all that gloo passes."""
    if not IS_COMPLETE:
        return SAMPLE
    listed = (line for line in run_suite("--list").splitlines() if line.startswith("test_"))  # not warnings
    return [name for name in listed if name not in WITHOUT_GLOO]


@pytest.mark.timeout(PATIENCE_S + 100)
def test_what_gloo_passes_passes(tmp_path: Path) -> None:
    names = names_to_run()
    ensure_warm(say=False)  # torch gives a test 80 s, in which loaded machines do not compile the ranks' loops
    with running_aggregator(PORTS, lanes=64, folder=tmp_path) as aggregator:
        printed = run_suite("--results", str(tmp_path / "results.json"), *names, controller=aggregator.address)
    results = json.loads((tmp_path / "results.json").read_text())
    bad = [f"{each['name']} {each['outcome']}: {each['text']}" for each in results if each["outcome"] != "passed"]
    assert not bad, "\n".join([printed, *bad])
    assert [each["name"] for each in results] == names
    print(printed)


def test_the_list_names_tests_of_torch() -> None:
    folder = Path(torch.__file__).parent / "testing/_internal/distributed"
    files = ("distributed_test.py", "ddp_under_dist_autograd_test.py")
    sources = "".join((folder / file).read_text() for file in files)
    assert not set(WITHOUT_GLOO) & set(SAMPLE)
    assert not [name for name in (*WITHOUT_GLOO, *SAMPLE) if f"def {name}(" not in sources]
