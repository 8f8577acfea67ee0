"""Handlers that move packets: empty, ping_pong, the copies to and from the host, filtering, synthetic."""

from __future__ import annotations

import numpy as np

from pspin_model.handlers import (
    charge,
    charge_cycles,
    copy_from_host,
    copy_to_host,
    handler,
    handler_memory,
    helper,
    packet,
    packet_l2,
    send_packet,
    wait,
    write_to_host,
)

FILTER_WORDS = 65536
SYNTHETIC_COPIES = 10
SYNTHETIC_BYTES = 64


@helper
def swap_addresses(h: int) -> None:
    """Source and destination of the IP and UDP headers change places."""
    words = packet(h, np.uint32)
    words[3], words[4] = words[4], words[3]
    ports = packet(h, np.uint16)
    ports[10], ports[11] = ports[11], ports[10]


@helper
def tail(h: int) -> None:
    """What follows the issue of a command: its handle's store, the stack, the return."""
    charge(h, alu=3, jump=1)


@handler(code_bytes=32)
def empty_ph(h: int) -> None:
    """Nothing."""
    charge(h, alu=3, jump=1)


@handler(code_bytes=112)
def pingpong_ph(h: int) -> None:
    """Swap addresses and send the packet back from L1."""
    swap_addresses(h)
    charge(h, load=7, load_use=1, store=4, register=1, alu=6)
    send_packet(h, packet(h, np.uint8), 0, 0)
    tail(h)


@handler(code_bytes=112)
def pingpong_l2_ph(h: int) -> None:
    """Swap addresses and send the packet back from L2."""
    swap_addresses(h)
    charge(h, load=7, store=4, register=2, alu=6)
    send_packet(h, packet_l2(h, np.uint8), 0, 0)
    tail(h)


@handler(code_bytes=80)
def hostdirect_ph(h: int) -> None:
    """Write a word to the host."""
    charge(h, alu=8, load_use=1)
    write_to_host(h, 0, 0xCAFEBEBE)
    tail(h)


@handler(code_bytes=80)
def copy_to_host_ph(h: int) -> None:
    """Copy the packet from L1 to the host."""
    charge(h, load=2, register=3, alu=2)
    copy_to_host(h, packet(h, np.uint8), 0)
    tail(h)


@handler(code_bytes=80)
def copy_to_host_l2_ph(h: int) -> None:
    """Copy the packet from L2 to the host."""
    charge(h, load=2, register=4, alu=2)
    copy_to_host(h, packet_l2(h, np.uint8), 0)
    tail(h)


@handler(code_bytes=128)
def copy_from_host_ph(h: int) -> None:
    """Swap addresses, fill the packet from host memory, send it."""
    swap_addresses(h)
    charge(h, load=7, load_use=1, store=4, register=3, alu=5)
    handle = copy_from_host(h, packet(h, np.uint8), 0)
    charge_cycles(h, 0, 3)
    wait(h, handle)
    send_packet(h, packet(h, np.uint8), 0, 0)
    tail(h)


@helper
def mix(a: np.uint32, b: np.uint32, c: np.uint32) -> np.uint32:
    """A mixing step of a hash, in 32-bit arithmetic."""
    a = np.uint32((np.int64(a) - np.int64(b) - np.int64(c)) & 0xFFFFFFFF) ^ (c >> np.uint32(13))
    b = np.uint32((np.int64(b) - np.int64(c) - np.int64(a)) & 0xFFFFFFFF) ^ np.uint32((np.int64(a) << 8) & 0xFFFFFFFF)
    return np.uint32((np.int64(c) - np.int64(a) - np.int64(b)) & 0xFFFFFFFF) ^ (b >> np.uint32(13))


@handler(code_bytes=240)
def filtering_ph(h: int) -> None:
    """Look a hash of the packet's first words up in a table in L2, write what it says over them, copy to the host."""
    words = packet(h, np.uint32)
    place = mix(words[0], words[1], words[2]) % np.uint32(FILTER_WORDS)
    packet_l2(h, np.uint32)[0] = handler_memory(h, np.uint32)[place]
    charge(h, load=13, load_use=1, register=5, alu=61, l2_load=1, l2_store=1)
    copy_to_host(h, packet_l2(h, np.uint8), 0)
    tail(h)


@handler(code_bytes=304)
def synthetic_ph(h: int) -> None:
    """Ten copies to the host, then ten from it with a send after each; each is waited for."""
    data = packet(h, np.uint8)
    charge(h, load=5, l2_load=1, register=5, alu=14)
    for _ in range(SYNTHETIC_COPIES):
        handle = copy_to_host(h, data[:SYNTHETIC_BYTES], 0)
        charge(h, register=1)
        wait(h, handle)
        charge(h, alu=1, branch_taken=1)
    swap_addresses(h)
    charge(h, load=4, store=4, alu=2)
    for _ in range(SYNTHETIC_COPIES):
        handle = copy_from_host(h, data[:SYNTHETIC_BYTES], 0)
        charge(h, register=1)
        wait(h, handle)
        handle = send_packet(h, data, 0, 0)
        charge(h, register=1)
        wait(h, handle)
        charge(h, alu=1, branch_taken=1)
    charge(h, alu=2, jump=1)
