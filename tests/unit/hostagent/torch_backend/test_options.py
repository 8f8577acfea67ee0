"""Where the precision comes from, and what is no precision."""

from __future__ import annotations

import pytest

from hostagent.torch_backend.creation import controller_address
from hostagent.torch_backend.errors import NetsumError, RefusedError
from hostagent.torch_backend.options import (
    PRECISION_VARIABLE,
    Options,
    check_environment,
    precision_of,
    probes_order,
    quantizes_on_device,
    stragglers_of,
)
from hostagent.torch_backend.stragglers import Stragglers


def test_the_option_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PRECISION_VARIABLE, raising=False)
    assert precision_of(Options()) == "block"
    assert precision_of(Options("exact")) == "exact"
    monkeypatch.setenv(PRECISION_VARIABLE, "exact")
    assert precision_of(Options()) == "exact"
    assert precision_of(Options("block")) == "block"
    monkeypatch.setenv(PRECISION_VARIABLE, "")
    assert precision_of(Options()) == "block"


def test_other_precisions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefusedError, match="the option precision is 'double', must be block, exact or packed"):
        precision_of(Options("double"))
    monkeypatch.setenv(PRECISION_VARIABLE, "Exact")
    with pytest.raises(RefusedError, match="NETSUM_PRECISION is 'Exact'"):
        precision_of(Options())


def test_where_floats_are_quantized(monkeypatch: pytest.MonkeyPatch) -> None:
    assert quantizes_on_device(Options())
    assert not quantizes_on_device(Options(quantizer="host"))
    monkeypatch.setenv("NETSUM_QUANTIZER", "host")
    assert not quantizes_on_device(Options())
    assert quantizes_on_device(Options(quantizer="device"))
    monkeypatch.setenv("NETSUM_QUANTIZER", "elsewhere")
    with pytest.raises(RefusedError, match="NETSUM_QUANTIZER is 'elsewhere', must be device or host"):
        quantizes_on_device(Options())


def test_what_is_done_about_late_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stragglers_of(Options()) is None
    assert stragglers_of(Options(stragglers="fail")) == Stragglers(1.0, proceeds=False)
    monkeypatch.setenv("NETSUM_STRAGGLERS", "proceed")
    monkeypatch.setenv("NETSUM_STRAGGLER_BOUND", "250ms")
    assert stragglers_of(Options()) == Stragglers(0.25, proceeds=True)
    assert stragglers_of(Options(stragglers="wait")) is None
    assert stragglers_of(Options(straggler_bound="2s")) == Stragglers(2.0, proceeds=True)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (Options(stragglers="skip"), "the option stragglers is 'skip', must be wait, fail or proceed"),
        (Options(straggler_bound="3"), "the option straggler_bound: '3' is not a number with one of the units"),
        (Options(straggler_bound="0s"), "the option straggler_bound is '0s', must be longer than 0"),
    ],
)
def test_other_choices_about_late_ranks_are_refused(options: Options, wrong: str) -> None:
    with pytest.raises(RefusedError, match=wrong):
        stragglers_of(options)


def test_an_order_is_given_or_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not probes_order(Options())
    assert probes_order(Options(reorder="probe"))
    monkeypatch.setenv("NETSUM_REORDER", "probe")
    assert probes_order(Options())
    assert not probes_order(Options(reorder="given"))
    with pytest.raises(RefusedError, match="the option reorder is 'best', must be given or probe"):
        probes_order(Options(reorder="best"))


def test_a_group_may_name_its_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETSUM_CONTROLLER", "127.0.0.1:1")
    assert controller_address(Options().controller) == "127.0.0.1:1"
    assert controller_address(Options(controller="127.0.0.1:2").controller) == "127.0.0.1:2"
    with pytest.raises(NetsumError, match="the option controller is 'here', expected HOST:PORT"):
        controller_address("here")


@pytest.mark.parametrize("variable", ["NETSUM_PRECISION", "NETSUM_QUANTIZER", "NETSUM_STRAGGLERS", "NETSUM_REORDER"])
def test_all_variables_are_checked_before_ranks_start(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    check_environment()
    monkeypatch.setenv(variable, "elsewhere")
    with pytest.raises(RefusedError, match=f"{variable} is 'elsewhere'"):
        check_environment()
