"""torch's own tests of DDP under distributed autograd (backward runs in RPC's threads) with netsum in gloo's place."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytest.importorskip("expecttest", reason="torch's test classes need it")

from torch.testing._internal.distributed import ddp_under_dist_autograd_test as of_torch
from torch.testing._internal.distributed.rpc.tensorpipe_rpc_agent_test_fixture import TensorPipeRpcAgentTestFixture
from torch.testing._internal.distributed.rpc_utils import SpawnHelper

from hostagent.launch.aggregators import running_aggregator
from hostagent.torch_backend.autoload import REPLACED


@pytest.fixture(autouse=True, scope="module")
def _netsum_instead_of_gloo(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """For the processes that the tests spawn."""
    with running_aggregator(of_torch.WORLD_SIZE, lanes=64, folder=tmp_path_factory.mktemp("aggregator")) as aggregator:
        os.environ.update({"NETSUM_CONTROLLER": aggregator.address, REPLACED: "gloo"})
        yield
        del os.environ["NETSUM_CONTROLLER"], os.environ[REPLACED]


class TestDdpUnderDistAutograd(of_torch.DdpUnderDistAutogradTest, TensorPipeRpcAgentTestFixture, SpawnHelper):
    """One remote worker, one master, two trainers."""


class TestDdpComparison(of_torch.DdpComparisonTest, TensorPipeRpcAgentTestFixture, SpawnHelper):
    """The same gradients as without RPC."""
