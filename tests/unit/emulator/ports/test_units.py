from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.ports.units import (
    RATE_UNITS_BPS,
    SIZE_UNITS_BYTES,
    TIME_UNITS_NS,
    quantity,
    quantity_text,
    size_bytes,
)

ALL_UNITS = [RATE_UNITS_BPS, SIZE_UNITS_BYTES, TIME_UNITS_NS]


@pytest.mark.parametrize(
    ("text", "units", "value"),
    [
        ("100Mbit", RATE_UNITS_BPS, 100_000_000),
        ("2.5 gbit", RATE_UNITS_BPS, 2_500_000_000),
        ("0.3us", TIME_UNITS_NS, 300),
        ("64KiB", SIZE_UNITS_BYTES, 65_536),
        ("9007199254740993kbit", RATE_UNITS_BPS, 9_007_199_254_740_993_000),
    ],
)
def test_a_quantity_is_a_whole_number_of_the_smallest_unit(text: str, units: dict[str, int], value: int) -> None:
    assert quantity(text, units) == value


@pytest.mark.parametrize("text", ["", "100", "5lightyears", "-1us", "1e3us", "us", "1,5us"])
def test_what_is_none_names_the_units(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number with one of the units ns, us, ms, s"):
        quantity(text, TIME_UNITS_NS)


@pytest.mark.parametrize("units", ALL_UNITS)
@given(value=st.one_of(st.integers(0, 1 << 60), st.integers(0, 1000).map(lambda n: n * 1_000_000)))
def test_the_text_of_a_quantity_is_read_as_the_same(units: dict[str, int], value: int) -> None:
    assert quantity(quantity_text(value, units), units) == value


def test_the_text_has_the_largest_unit_that_fits() -> None:
    texts = [quantity_text(value, RATE_UNITS_BPS) for value in (0, 10**9, 1_500_000_000)]
    assert texts == ["0bit", "1Gbit", "1500Mbit"]


def test_sizes_may_be_bare_numbers() -> None:
    assert [size_bytes(text) for text in ("7", "2KiB", "3MB", "1.5GiB")] == [7, 2048, 3_000_000, 3 << 29]
    with pytest.raises(ValueError, match="'2 apples' is not a size; write 64KiB, 500MB or a number of bytes"):
        size_bytes("2 apples")
