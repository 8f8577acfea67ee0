"""The pytest plugin ``netsum``: fixtures ``p4_switch`` and ``p4_network``, options. See the folder's README.

Imported by every pytest run where netsum is installed, so it loads nothing until a fixture or an option is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from emulator.harness.network import P4Network
    from emulator.harness.switch import P4Switch

FIXTURES = {"p4_network", "p4_switch"}
OWN_MODULES = "emulator."
COVERAGE_PLUGIN = "netsum-p4-coverage"
TARGETS = ("netsum", "bmv2")
MARGIN = 12
"""Columns that pytest, and the indentation of a message, put before each line of a failure."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("netsum", "tests of P4 programs")
    group.addoption(
        "--p4-coverage", nargs="?", const="p4-coverage", metavar="FOLDER",
        help="coverage of the P4 programs: on the terminal, and as a page in FOLDER (p4-coverage); packets are "
        "interpreted then",
    )  # fmt: skip
    group.addoption(
        "--p4-engine", choices=("llvm", "interpreter"), default="llvm", help="execution engine of the programs"
    )
    names = ("--p4-target", "--target")
    about = "target of p4_switch: netsum (in this process), or bmv2 (simple_switch_grpc and p4c, as root)"
    try:
        group.addoption(*names, dest="p4_target", choices=TARGETS, default="netsum", help=about)
    except ValueError:
        # another plugin has an option --target
        group.addoption(names[0], dest="p4_target", choices=TARGETS, default="netsum", help=about)


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--p4-coverage")
    if folder is None:
        return
    if config.getoption("p4_target") != "netsum":
        raise pytest.UsageError("--p4-coverage needs our own switch: bmv2 does not say what its packets met")
    from emulator.harness.pytest_coverage import CoveragePlugin

    config.pluginmanager.register(CoveragePlugin(folder), COVERAGE_PLUGIN)


@pytest.fixture
def p4_network(request: pytest.FixtureRequest) -> Iterator[P4Network]:
    """Switches and links of this test, in virtual time."""
    from emulator.harness.network import P4Network

    network = P4Network(_testbed(request.config), columns=_columns(request.config))
    try:
        yield network
    finally:
        network.close()


def _columns(config: pytest.Config) -> int | None:
    """Width of the terminal, less pytest's margin; None where the failures go to a file."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not (getattr(reporter, "isatty", False) or "COLUMNS" in os.environ):
        return None
    return config.get_terminal_writer().fullwidth - MARGIN


def _testbed(config: pytest.Config) -> Any:
    if config.getoption("p4_target") == "bmv2":
        from emulator.harness.bmv2.target import Bmv2Testbed

        return Bmv2Testbed()
    from emulator.harness.virtual import VirtualTestbed

    coverage = config.pluginmanager.get_plugin(COVERAGE_PLUGIN)
    return VirtualTestbed(
        engine=config.getoption("--p4-engine"), watcher=None if coverage is None else coverage.collector
    )


@pytest.fixture
def p4_switch(p4_network: P4Network) -> Callable[..., P4Switch]:
    """``p4_switch("program.p4")`` makes a switch that runs it, see `P4Network.switch`."""
    return p4_network.switch


# --- Failures end at the test's line --------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield from _telling(item))
    except Exception as error:
        _add_walk(item, error)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    return (yield from _telling(item))


def _telling(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    except Exception as error:
        if FIXTURES & set(getattr(item, "fixturenames", ())):
            _for_the_test(error)
        raise


def _add_walk(item: pytest.Item, error: Exception) -> None:
    """Where a test's own assert failed: adds the walk of the packet sent last. Failed expectations have theirs."""
    network = getattr(item, "funcargs", {}).get("p4_network")
    if network is None:
        return
    from emulator.harness.errors import HarnessError

    if not isinstance(error, HarnessError) and (text := network.last_walk()):
        item.add_report_section("call", "P4 walk", text)


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
