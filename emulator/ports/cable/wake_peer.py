"""Waking the process at the other end of a cable, whichever process that is at the moment.

The cable's header identifies each end's bell by 64 bits, and how often the end was attached. When that generation
has changed, the bell of the new process is mapped here, in compiled code: a peer that comes back must be woken even
while our own process holds the GIL for long. The identity becomes 16 hexadecimal digits of a path whose beginning is
ours, so a peer can't make us open anything but a bell.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from emulator.native.atomics import load_acquire64, load_once64
from emulator.native.jit import njit
from emulator.native.memory import load_i64, load_u8, store_u8
from emulator.native.syscalls import close_descriptor, map_memory, open_path, seek_end, unmap_memory
from emulator.ports.cable.bell import BELL_BYTES, BELL_PREFIX, HAS_FIFO, bell_ring
from emulator.ports.cable.rings import END_BELL, END_GENERATION
from emulator.ports.cable.shared_folder import shared_folder
from emulator.ports.state import (
    port_at,
)

OPEN_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
READ_WRITE, MAP_SHARED = 3, 1
"""PROT_READ | PROT_WRITE and MAP_SHARED of sys/mman.h."""

BELL_PATH_START = 8
"""The path's own record: how many bytes come before the digits, then the C string."""

HEX_DIGITS = 16
FIFO_SUFFIX = b".fifo"


def bell_path_template() -> NDArray[np.uint8]:
    """Memory for the path of any bell: its prefix is filled in, its digits and the FIFO's suffix are not."""
    prefix = os.fsencode(shared_folder() / BELL_PREFIX)
    memory = np.zeros(BELL_PATH_START + len(prefix) + HEX_DIGITS + len(FIFO_SUFFIX) + 1, np.uint8)
    memory[:BELL_PATH_START].view(np.int64)[0] = len(prefix)
    memory[BELL_PATH_START : BELL_PATH_START + len(prefix)] = np.frombuffer(prefix, np.uint8)
    return memory


@njit
def _write_digits(target: int, identity: int) -> None:
    for index in range(HEX_DIGITS):
        digit = (identity >> (4 * (HEX_DIGITS - 1 - index))) & 15
        store_u8(target + index, digit + 48 if digit < 10 else digit + 87)


@njit
def _forget_bell(port: int) -> None:
    state = port_at(port)
    if state.peer_bell != 0:
        unmap_memory(state.peer_bell, BELL_BYTES)
        state.peer_bell = 0
    if state.peer_fifo >= 0:
        close_descriptor(state.peer_fifo)
        state.peer_fifo = -1


@njit
def _open_bell(port: int, identity: int) -> None:
    """Map the bell with this identity; leave none where its owner has gone."""
    state = port_at(port)
    path = state.bell_path + BELL_PATH_START
    end = path + load_i64(path - BELL_PATH_START) + HEX_DIGITS
    _write_digits(end - HEX_DIGITS, identity)
    store_u8(end, 0)
    descriptor = open_path(path, OPEN_FLAGS)
    if descriptor < 0:
        return
    if seek_end(descriptor, 0, 2) >= BELL_BYTES:
        address = map_memory(0, BELL_BYTES, READ_WRITE, MAP_SHARED, descriptor, 0)
        if address > 0:
            state.peer_bell = address
    close_descriptor(descriptor)
    if state.peer_bell == 0 or load_u8(state.peer_bell + HAS_FIFO) == 0:
        return
    for index in range(len(FIFO_SUFFIX)):
        store_u8(end + index, FIFO_SUFFIX[index])
    store_u8(end + len(FIFO_SUFFIX), 0)
    fifo = open_path(path, OPEN_FLAGS)
    if fifo >= 0:
        state.peer_fifo = fifo
    else:
        _forget_bell(port)


@njit
def attend_peer(port: int) -> None:
    """Notice that another process has taken the other end, and find its bell."""
    state = port_at(port)
    block = state.peer_block
    if block == 0:
        return
    generation = load_acquire64(block + END_GENERATION)
    if generation == state.peer_generation:
        return
    _forget_bell(port)
    state.peer_generation = generation
    state.peer_changes += 1
    identity = load_once64(block + END_BELL)
    if identity != 0:
        _open_bell(port, identity)


@njit
def ring_peer(port: int) -> None:
    """Wake the other end if it sleeps; call it after publishing.

    The generation is read after the fence of publish-then-look that bell_ring documents: a new peer stores its
    generation before it first sleeps, so a ringer that misses the generation is seen by that sleeper's last look.
    """
    state = port_at(port)
    attend_peer(port)
    bell = state.peer_bell
    if bell != 0 and bell_ring(bell, state.peer_fifo) != 0:
        state.rings += 1


@njit
def leave_peer(port: int) -> None:
    """Give back what attend_peer has opened."""
    if port_at(port).peer_block != 0:
        _forget_bell(port)
