"""Machine code of handlers that is kept between processes: only for what it was compiled from."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pspin_model.examples import kernels
from pspin_model.handlers import HandlerError, charge, handler, helper, scratchpad
from pspin_model.handlers.code_cache import UnknownValue, key_of
from pspin_model.machine import Machine

SCRIPT = """
import sys
import numpy as np
import pspin_theirs
from pspin_model.handlers import charge, handler, helper, scratchpad
from pspin_model.machine import FLARE_COSTS, Machine

COST = int(sys.argv[1])
pspin_theirs.K = int(sys.argv[2])

@helper
def twice(h):
    return 2 * COST

@handler
def f(h):
    pad = scratchpad(h, 0, np.int64)
    pad[0] = twice(h)
    pad[1] = pspin_theirs.K
    charge(h, alu=COST)

machine = Machine(costs=FLARE_COSTS)
context = machine.context("c", payload=f, scratchpad_bytes=64)
machine.inject(context, [0], np.zeros((1, 64), np.uint8))
machine.run()
pad = context.scratchpads[0].view(np.int64)[:2].tolist()
"""

LEVEL, TABLE = 1, np.arange(4)
BESIDE = SimpleNamespace(level=1)


@helper
def level(h: int) -> int:
    """A global's value."""
    return LEVEL


def uses(h: int) -> None:
    """Use globals, of its own and through a helper."""
    scratchpad(h, 0, np.int64)[0] = level(h) + TABLE[1]


def uses_object(h: int) -> None:
    """Use what may change unseen."""
    charge(h, alu=BESIDE.level)


def test_a_script_run_with_other_values_computes_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    (tmp_path / "pspin_theirs.py").write_text("K = 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for numbers, kept in (((10, 1), False), ((500, 2), False), ((10, 1), True)):
        monkeypatch.setattr(sys, "argv", ["script", *map(str, numbers)])
        made = runpy.run_path(str(script))
        assert made["pad"] == [2 * numbers[0], numbers[1]]
        assert bool(made["f"]._compiled.stats.cache_hits) == kept


def test_the_key_holds_the_values_of_globals(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {key_of(uses), key_of(uses)}
    monkeypatch.setattr(sys.modules[__name__], "LEVEL", 2)
    keys.add(key_of(uses))
    monkeypatch.setattr(sys.modules[__name__], "TABLE", np.arange(4) + 1)
    keys.add(key_of(uses))
    assert len(keys) == 3


def test_what_may_change_unseen_is_not_kept() -> None:
    with pytest.raises(UnknownValue, match="level=1"):
        key_of(uses_object)


def test_closures_are_in_the_key() -> None:
    assert key_of(kernels.aggregate_ph._compiled.py_func) != key_of(kernels.aggregate_xp_ph._compiled.py_func)


def test_a_module_keeps_its_names() -> None:
    assert not [name for name in vars(kernels) if name.startswith("_netsum")]


def test_what_is_no_function_in_a_file_is_refused() -> None:
    with pytest.raises(HandlerError, match="def"):
        handler(lambda h: None)
    made: dict[str, Any] = {}
    exec("def typed(h):\n    pass", made)
    with pytest.raises(HandlerError, match="typed has no source"):
        handler(made["typed"])
    with pytest.raises(HandlerError, match="function"):
        handler(5)  # type: ignore[call-overload]


@helper
def even(h: int, count: int) -> bool:
    """Whether a number is even, the long way."""
    return True if count == 0 else odd(h, count - 1)


@helper
def odd(h: int, count: int) -> bool:
    """The other half."""
    return False if count == 0 else even(h, count - 1)


@handler
def recurses(h: int) -> None:
    """Use up the stack."""
    charge(h, alu=int(even(h, 1 << 20)))


def test_recursion_is_refused() -> None:
    with pytest.raises(HandlerError, match="recurses: even calls itself"):
        Machine().context("deep", payload=recurses)
