"""What the tests that start processes share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def controller(tmp_path_factory):
    """HOST:PORT of the controller of a switch with four ports, for the whole session."""
    from hostagent.launch.aggregators import running_aggregator

    with running_aggregator(4, lanes=64, folder=tmp_path_factory.mktemp("aggregator")) as aggregator:
        yield aggregator.address
