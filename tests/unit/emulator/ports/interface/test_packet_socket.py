"""What packet sockets put back: checksums and tags; and what is said to who may not open such sockets."""

from __future__ import annotations

import random
import socket

import numpy as np
import pytest

from emulator.native.pages import address_of
from emulator.ports.errors import PortError
from emulator.ports.interface import interface
from emulator.ports.interface.packet_socket import complete_checksum, restore_tag
from emulator.ports.spec import parse_port
from hostagent.protocol.frames import ones_complement_sum


@pytest.mark.parametrize("length", [60, 61, 99, 1514])
def test_a_completed_checksum_makes_the_sum_right(length: int) -> None:
    source = random.Random(length)
    for _ in range(50):
        frame = np.frombuffer(source.randbytes(length), np.uint8).copy()
        pseudo = source.getrandbits(16)
        frame[40:42] = list(pseudo.to_bytes(2, "big"))
        assert complete_checksum(address_of(frame), length, 34, 6)
        assert ones_complement_sum(frame[34:].tobytes()) in (0xFFFF - pseudo, 0xFFFF - pseudo or 0xFFFF)


def test_a_checksum_that_comes_out_as_zero_is_sent_as_ones() -> None:
    frame = np.zeros(60, np.uint8)
    frame[40:42] = 0xFF
    assert complete_checksum(address_of(frame), 60, 34, 6)
    assert bytes(frame[40:42]) == b"\xff\xff"


def test_a_checksum_outside_of_the_frame_is_not_written() -> None:
    frame = np.zeros(60, np.uint8)
    assert not complete_checksum(address_of(frame), 60, 58, 1)
    assert not frame.any()


def test_a_tag_goes_behind_the_addresses() -> None:
    memory = np.arange(64, dtype=np.uint8)
    frame = memory[4:]
    expected = bytes(frame[:12]) + b"\x81\x00\x20\x05" + bytes(frame[12:])
    first = restore_tag(address_of(frame), 0x8100, 0x2005)
    assert first == address_of(memory)
    assert memory.tobytes() == expected


def test_without_the_right_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> socket.socket:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(PortError, match=r"1=if:veth0: .* run it as root, or .* setcap cap_net_raw"):
        interface._open_socket(parse_port("1=if:veth0"))


@pytest.mark.parametrize("text", ["1=if:", "1=if:a/b", "1=if:longer-than-the-kernel", "1=if:a b"])
def test_names_that_no_interface_has(text: str) -> None:
    with pytest.raises(PortError):
        parse_port(text)
