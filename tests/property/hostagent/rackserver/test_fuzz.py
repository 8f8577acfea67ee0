"""A hostile tenant's frames change nothing of another tenant's; `make fuzz-rack` goes on for longer."""

from __future__ import annotations

import pytest

from tests.soaks.rack_fuzz import Fuzz


@pytest.mark.parametrize("seed", range(4))
def test_a_hostile_tenant_changes_nothing_of_anothers(seed: int) -> None:
    fuzz = Fuzz(seed)
    for _ in range(3):
        fuzz.epoch()
