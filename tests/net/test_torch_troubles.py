"""Ranks that disagree, end or do not come, in every kind of call: what each rank is told, and that its process ends.

`make test` takes every ninth case, `make test-all` all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from typing import Any

import pytest

from hostagent.launch.aggregators import running_aggregator
from tests.labs.extent import tries
from tests.labs.torch_jobs import SCRIPTS
from tests.net.trouble_cases import AT_ONCE, BOUND_S, CASES, SIZE, TROUBLED, Case

EVERY = tries(9, 1)
NAMES = list(CASES)[::EVERY]
Told = dict[int, dict[str, Any]]
"""By rank: ``error``, the ``status`` with which its process ended, ``seconds`` until then."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """All cases, some at a time."""
    folder = tmp_path_factory.mktemp("troubles")
    with running_aggregator(SIZE * AT_ONCE, lanes=64, folder=folder) as aggregator:
        line = [sys.executable, "-u", str(SCRIPTS / "trouble_table.py"), *NAMES]
        environment = {**os.environ, "NETSUM_CONTROLLER": aggregator.address, "PYTHONPATH": str(SCRIPTS.parents[2])}
        ended = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=BOUND_S * len(NAMES))
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Told] = defaultdict(lambda: defaultdict(dict))
    for line_of_json in ended.stdout.splitlines():
        said = json.loads(line_of_json)
        found[said["case"]][said["rank"]].update(said)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_rank_is_told_rank_operation_and_group_and_ends(told: dict[str, Told], name: str) -> None:
    case = CASES[name]
    assert sorted(told[name]) == list(range(SIZE))
    for rank, said in told[name].items():
        if rank == TROUBLED and case.trouble in ("killed", "left"):
            continue
        assert said["status"] == 0, said
        assert said["seconds"] < BOUND_S
        assert words_missing(case, said["error"]) == [], said["error"]


def words_missing(case: Case, error: str) -> list[str]:
    """What an error ought to say, and doesn't: the troubled rank, the group, a call."""
    called = case.step.call.removesuffix("_single").removesuffix("_coalesced").removesuffix("_sparse")
    calls = ["send(", "recv("] if called == "messages" else [called, "reduce_scatter"]  # of what is composed
    is_named = any(call in error for call in (*calls, "barrier("))
    is_rank_named = f"rank {TROUBLED}" in error or (case.from_any and "no rank has sent anything" in error)
    wanted = {f"rank {TROUBLED}": is_rank_named, "group '": "group '" in error, "a call": is_named}
    return [word for word, is_there in wanted.items() if not is_there]
