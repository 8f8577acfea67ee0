"""pcapng files of others: byte orders, resolutions, sections, links, and what is refused."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from emulator.ports.batch import frame_at
from emulator.ports.errors import PortError
from emulator.ports.pcap.capture import Capture, read_capture
from tests.programs.captures import pcapng_block, pcapng_frame, pcapng_interface, pcapng_section

BILLION = 1_000_000_000


def read(tmp_path: Path, content: bytes) -> Capture:
    path = tmp_path / "in.pcapng"
    path.write_bytes(content)
    return read_capture(str(path))


def frames(capture: Capture) -> list[bytes]:
    return [frame_at(int(each["address"]), int(each["length_bytes"])) for each in capture.records]


def resolution(order: str, value: int) -> bytes:
    return struct.pack(order + "HHB3x", 9, 1, value)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("unit", "time", "time_ns"),
    [
        (None, 1_700_000_000_000_001, 1_700_000_000_000_001_000),
        (9, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
        (3, 5_001, 5_001_000_000),
        (12, 7_000_999, 7_000),
        (0x80 | 10, (3 << 10) + 512, 3 * BILLION + BILLION // 2),
    ],
)
def test_byte_orders_and_resolutions(tmp_path: Path, order: str, unit: int | None, time: int, time_ns: int) -> None:
    options = resolution(order, unit) if unit is not None else b""
    head = pcapng_section(order) + pcapng_interface(order, options=options)
    found = read(tmp_path, head + pcapng_frame(time, b"seventeen bytes..", order))
    assert frames(found) == [b"seventeen bytes.."]
    assert list(found.records["time_ns"]) == [time_ns]


def test_links_directions_offsets_and_blocks_of_no_interest(tmp_path: Path) -> None:
    name = struct.pack("<HH4s", 2, 4, b"left")
    offset = struct.pack("<HHq", 14, 8, 100)
    flags = struct.pack("<HH4s", 1, 3, b"hm.") + struct.pack("<HHI", 2, 4, 2) + bytes(4)
    other = pcapng_block(5, bytes(12))
    found = read(
        tmp_path,
        pcapng_section() + pcapng_interface(options=name) + other + pcapng_interface(options=offset)
        + pcapng_frame(1, b"a" * 14) + other + pcapng_frame(2, b"b" * 15, interface=1, options=flags) + other,
    )  # fmt: skip
    assert found.interfaces == ("left", "interface 1")
    assert [(int(r["interface"]), int(r["direction"]), int(r["time_ns"])) for r in found.records] == [
        (0, 0, 1_000),
        (1, 2, 100 * BILLION + 2_000),
    ]
    assert not found.incomplete


def test_a_second_section_has_its_own_links_and_byte_order(tmp_path: Path) -> None:
    first = pcapng_section() + pcapng_interface() + pcapng_frame(1, b"a" * 20)
    second = pcapng_section(">") + pcapng_interface(">") + pcapng_frame(2, b"b" * 20, ">")
    found = read(tmp_path, first + second)
    assert frames(found) == [b"a" * 20, b"b" * 20]
    assert list(found.records["interface"]) == [0, 1]


@pytest.mark.parametrize("cut", [1, 10, 40, 60])
def test_a_file_that_ends_within_a_block(tmp_path: Path, cut: int) -> None:
    content = pcapng_section() + pcapng_interface() + pcapng_frame(1, b"a" * 20) + pcapng_frame(2, b"b" * 30)
    found = read(tmp_path, content[:-cut])
    assert frames(found) == [b"a" * 20]
    assert found.incomplete


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        (pcapng_interface(link=113), "link type 113, not Ethernet"),
        (pcapng_frame(1, b"a" * 20), "byte 28 is not of a known interface"),
        (pcapng_interface() + pcapng_block(6, struct.pack("<IIIII", 0, 0, 0, 500, 500)), "longer than 262144 bytes"),
        (pcapng_block(3, bytes(24)), "byte 28 has no time"),
        (struct.pack("<II", 5, 7) + bytes(20), "byte 28 says that it has 7 bytes"),
        (pcapng_interface(options=resolution("<", 30)), "too fine"),
    ],
)
def test_what_is_refused(tmp_path: Path, blocks: bytes, problem: str) -> None:
    with pytest.raises(PortError, match=problem):
        read(tmp_path, pcapng_section() + blocks)
