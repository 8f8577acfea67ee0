"""The pytest plugin ``netsum``: fixtures ``p4_switch`` and ``p4_network``. See the folder's README.

Imported by every pytest run where netsum is installed, so it loads nothing until a fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from emulator.harness.network import P4Network
    from emulator.harness.switch import P4Switch

FIXTURES = {"p4_network", "p4_switch"}
OWN_MODULES = "emulator."


@pytest.fixture
def p4_network(request: pytest.FixtureRequest) -> Iterator[P4Network]:
    """Switches and links of this test, in virtual time."""
    from emulator.harness.network import P4Network

    network = P4Network()
    yield network
    network.close()


@pytest.fixture
def p4_switch(p4_network: P4Network) -> Callable[..., P4Switch]:
    """``p4_switch("program.p4")`` makes a switch that runs it, see `P4Network.switch`."""
    return p4_network.switch


# --- Failures end at the test's line --------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    except Exception as error:
        if FIXTURES & set(getattr(item, "fixturenames", ())):
            _for_the_test(error)
        raise


def _for_the_test(error: Exception) -> None:
    """Cut our own frames off the traceback of what is the test's or the program's fault."""
    from emulator.harness.errors import HarnessError, NotSupported
    from emulator.p4.errors import CompileError
    from emulator.switch.control import ControlError

    if isinstance(error, NotSupported):
        pytest.skip(str(error))
    if isinstance(error, HarnessError | CompileError | ControlError):
        error.__traceback__ = _cut(error.__traceback__)


def _cut(traceback: TracebackType | None) -> TracebackType | None:
    """Up to the last frame that is neither ours nor below one of ours."""
    kept: list[TracebackType] = []
    seen_test = False
    here: TracebackType | None = traceback
    while here is not None:
        is_own = str(here.tb_frame.f_globals.get("__name__", "")).startswith(OWN_MODULES)
        if is_own and seen_test:
            break
        seen_test = seen_test or not (is_own or _is_pytest(here))
        kept.append(here)
        here = here.tb_next
    result: TracebackType | None = None
    for frame in reversed(kept):
        result = TracebackType(result, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return result


def _is_pytest(here: TracebackType) -> bool:
    name: Any = here.tb_frame.f_globals.get("__name__", "")
    return str(name).partition(".")[0] in ("_pytest", "pluggy", "pytest")
