"""Where the precision comes from, and what is no precision."""

from __future__ import annotations

import pytest

from hostagent.torch_backend.errors import RefusedError
from hostagent.torch_backend.options import PRECISION_VARIABLE, Options, is_exact, quantizes_on_device


def test_the_option_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PRECISION_VARIABLE, raising=False)
    assert not is_exact(Options())
    assert is_exact(Options("exact"))
    monkeypatch.setenv(PRECISION_VARIABLE, "exact")
    assert is_exact(Options())
    assert not is_exact(Options("block"))
    monkeypatch.setenv(PRECISION_VARIABLE, "")
    assert not is_exact(Options())


def test_other_precisions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefusedError, match="the option precision is 'double', must be block or exact"):
        is_exact(Options("double"))
    monkeypatch.setenv(PRECISION_VARIABLE, "Exact")
    with pytest.raises(RefusedError, match="NETSUM_PRECISION is 'Exact'"):
        is_exact(Options())


def test_where_floats_are_quantized(monkeypatch: pytest.MonkeyPatch) -> None:
    assert quantizes_on_device(Options())
    assert not quantizes_on_device(Options(quantizer="host"))
    monkeypatch.setenv("NETSUM_QUANTIZER", "host")
    assert not quantizes_on_device(Options())
    assert quantizes_on_device(Options(quantizer="device"))
    monkeypatch.setenv("NETSUM_QUANTIZER", "elsewhere")
    with pytest.raises(RefusedError, match="NETSUM_QUANTIZER is 'elsewhere', must be device or host"):
        quantizes_on_device(Options())
