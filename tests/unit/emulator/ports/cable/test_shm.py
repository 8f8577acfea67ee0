"""Ports in shared memory: taking and leaving an end, coming back, what is left behind; both ends in this process."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.cable import shm_files
from emulator.ports.cable.bell import BELL_PREFIX, Bell
from emulator.ports.cable.rings import Geometry, header_of
from emulator.ports.cable.shm import LOCK_HOST, LOCK_SWITCH, PORT_PREFIX, ShmHostPort, ShmSwitchPort, port_path
from emulator.ports.cable.stale_shm import clean_stale
from emulator.ports.errors import PortError
from emulator.ports.opening import cable_for, open_host_port, open_switch_ports
from emulator.ports.spec import parse_port
from tests.labs.shared_memory import shm_folder

__all__ = ["shm_folder"]

SMALL = Geometry(posts=8, cells=8, pool_bytes=1 << 20)
pytestmark = pytest.mark.usefixtures("shm_folder")


def open_switch(name: str = "a", geometry: Geometry = SMALL) -> tuple[ShmSwitchPort, TxPortTable, Bell]:
    table, bell = TxPortTable(), Bell()
    return ShmSwitchPort(parse_port(f"1=shm:{name}"), table, bell, geometry), table, bell


def open_host(name: str = "a") -> ShmHostPort:
    port = open_host_port(f"shm:{name}")
    assert isinstance(port, ShmHostPort)
    return port


def drop(port: ShmSwitchPort | ShmHostPort, end: int) -> None:
    """What kill -9 does to an end: its lock goes, and nothing else happens."""
    shm_files.unlock(port._shared.descriptor, end)
    port._shared.close()


def post(host: ShmHostPort, *frames: bytes) -> None:
    pool = host.frame_pool(len(frames), 64)
    for index, frame in enumerate(frames):
        pool.frames[index, : len(frame)] = list(frame)
        assert host.post(pool.address + index * pool.stride_bytes, len(frame))
    host.flush()


def taken(port: ShmSwitchPort | ShmHostPort) -> list[bytes]:
    batch = FrameBatch(64)
    port.receive_into(batch)
    frames = [frame for _, frame in batch.frames()]
    port.release()
    return frames


def test_cells_may_be_as_long_as_the_switchs_frames_and_no_longer() -> None:
    table, bell = TxPortTable(), Bell()
    cable = replace(cable_for(1090), pool_bytes=1 << 20)
    assert cable.stride_bytes == 1152
    (switch,) = open_switch_ports([parse_port("1=shm:a")], table, bell, cable)
    host = open_host()
    longest = [bytes([number]) * 1090 for number in range(3)]
    for frame in (*longest, bytes(1153)):
        table.append(1, frame)
    switch.flush()
    assert taken(host) == longest
    assert int(switch.wire_ring["dropped_too_long"]) == 1
    host.close()
    switch.close()
    bell.close()


def test_frames_pass_both_ways_and_nothing_stays_behind(shm_folder: Path) -> None:
    switch, table, bell = open_switch()
    host = open_host()
    post(host, b"up")
    assert taken(switch) == [b"up"]
    table.append(1, b"down")
    switch.flush()
    assert taken(host) == [b"down"]
    host.close()
    switch.close()
    bell.close()
    assert list(shm_folder.iterdir()) == []


@pytest.mark.parametrize("first", ["host", "switch"])
def test_the_file_goes_with_the_last_end(first: str) -> None:
    switch, _, bell = open_switch()
    host = open_host()
    ends: list[ShmHostPort | ShmSwitchPort] = [host, switch] if first == "host" else [switch, host]
    ends[0].close()
    assert port_path("a").exists()
    ends[1].close()
    assert not port_path("a").exists()
    bell.close()


def test_each_end_is_taken_once_and_the_error_names_the_owner() -> None:
    switch, _, bell = open_switch()
    with pytest.raises(PortError, match=f"1=shm:a is in use by another switch, process {os.getpid()}"):
        open_switch()
    host = open_host()
    with pytest.raises(PortError, match=f"shm:a is in use by another host, process {os.getpid()}"):
        open_host()
    for end in (host, switch, bell):
        end.close()


def test_a_host_without_a_switch_is_told_so(shm_folder: Path) -> None:
    with pytest.raises(PortError, match="no switch offers it"):
        open_host("nobody")
    assert list(shm_folder.iterdir()) == []


def test_a_file_that_is_not_ours_is_not_taken_by_a_host() -> None:
    port_path("a").write_bytes(b"something else" * 1000)
    with pytest.raises(PortError, match="not a port of ours"):
        open_host()
    port_path("a").write_bytes(b"")
    with pytest.raises(PortError, match="is empty"):
        open_host()


def test_a_damaged_header_is_refused_by_a_host_and_replaced_by_a_switch() -> None:
    switch, _, bell = open_switch()
    header_of(switch._shared.bytes)["cells"] = 1 << 30
    drop(switch, LOCK_SWITCH)
    with pytest.raises(PortError, match="is damaged: cells is 1073741824"):
        open_host()
    again, _, other_bell = open_switch()
    host = open_host()
    for end in (host, again, bell, other_bell):
        end.close()


def test_a_new_switch_goes_on_where_the_dead_one_stood() -> None:
    switch, table, bell = open_switch()
    host = open_host()
    post(host, b"one", b"two")
    table.append(1, b"sent")
    switch.flush()
    table.append(1, b"never published")
    switch.receive_into(FrameBatch(8))
    drop(switch, LOCK_SWITCH)

    again, table, other_bell = open_switch()
    assert taken(again) == [b"one", b"two"]
    assert host.consumed == 2
    table.append(1, b"after")
    again.flush()
    assert taken(host) == [b"sent", b"after"]
    before = host.peer_changes
    post(host, b"three")
    assert taken(again) == [b"three"]
    assert host.peer_changes == before + 1
    for end in (host, again, bell, other_bell):
        end.close()


def test_a_new_host_waits_for_and_discards_its_predecessors_frames() -> None:
    switch, table, bell = open_switch()
    host = open_host()
    post(host, b"old")
    table.append(1, b"for the old one")
    switch.flush()
    drop(host, LOCK_HOST)
    host.bell.close()

    assert taken(switch) == [b"old"]
    again = open_host()
    assert (again.posted, again.consumed) == (1, 1)
    assert taken(again) == []
    post(again, b"new")
    assert taken(switch) == [b"new"]
    for end in (again, switch, bell):
        end.close()


def test_a_new_host_is_not_let_in_while_the_switch_may_read_old_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.ports.cable.shm.DRAIN_TIMEOUT_S", 0.0)
    switch, _, bell = open_switch()
    host = open_host()
    post(host, b"old")
    drop(host, LOCK_HOST)
    host.bell.close()
    with pytest.raises(PortError, match="its switch has not read the last host's frames"):
        open_host()
    for end in (switch, bell):
        end.close()


def test_where_no_switch_lives_a_new_host_declares_old_frames_read() -> None:
    switch, _, bell = open_switch()
    host = open_host()
    post(host, b"old")
    drop(switch, LOCK_SWITCH)
    drop(host, LOCK_HOST)
    host.bell.close()

    again = open_host()
    assert (again.posted, again.consumed) == (1, 1)
    switch, _, other_bell = open_switch()
    assert taken(switch) == []
    post(again, b"new")
    assert taken(switch) == [b"new"]
    for end in (again, switch, bell, other_bell):
        end.close()


def test_a_host_with_other_sizes_keeps_a_switch_out() -> None:
    switch, _, bell = open_switch()
    host = open_host()
    drop(switch, LOCK_SWITCH)
    with pytest.raises(PortError, match="has a host attached, with other sizes"):
        open_switch(geometry=Geometry(posts=16, cells=8, pool_bytes=1 << 20))
    host.close()
    again, _, other_bell = open_switch(geometry=Geometry(posts=16, cells=8, pool_bytes=1 << 20))
    for end in (again, bell, other_bell):
        end.close()


def test_pools_are_found_room_for_given_back_and_refused_when_used_up() -> None:
    switch, _, bell = open_switch()
    host = open_host()
    first, second = host.frame_pool(100, 1000), host.frame_pool(100, 1000)
    assert second.address >= first.address + 100 * first.stride_bytes
    first.frames[:] = 7
    host.release_pool(first)
    third = host.frame_pool(50, 1000)
    assert third.address == first.address
    assert not third.frames.any()
    with pytest.raises(PortError, match="frame pool is used up"):
        host.frame_pool(1000, 1000)
    host.release_pool(second)
    with pytest.raises(ValueError, match="released before"):
        host.release_pool(second)
    for end in (host, switch, bell):
        end.close()


def test_a_forked_child_does_not_keep_its_parents_end() -> None:
    switch, _, bell = open_switch()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reading, 1)
        os._exit(0)
    try:
        drop(switch, LOCK_SWITCH)
        again, _, other_bell = open_switch()
        for end in (again, bell, other_bell):
            end.close()
    finally:
        os.write(writing, b"x")
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)


def test_only_what_is_stale_is_cleaned_up(shm_folder: Path) -> None:
    switch, _, bell = open_switch("living")
    dead, _, dead_bell = open_switch("dead")
    orphan = open_host("dead")
    drop(dead, LOCK_SWITCH)
    with_fifo = Bell(poll=True)
    abandoned_bell = Bell(poll=True)
    assert abandoned_bell.path is not None
    assert abandoned_bell._file is not None
    abandoned_bell._file.close()
    lonely = shm_folder / f"{BELL_PREFIX}0123456789abcdef.fifo"
    os.mkfifo(lonely)
    for stranger in ("somebody-elses", "netsum-other", f"{PORT_PREFIX}empty"):
        (shm_folder / stranger).write_bytes(b"" if "empty" in stranger else b"x")

    fifo = abandoned_bell.path.with_name(abandoned_bell.path.name + ".fifo")
    assert set(clean_stale()) == {abandoned_bell.path, fifo, lonely}
    drop(orphan, LOCK_HOST)
    assert clean_stale() == [port_path("dead")]
    assert port_path("living").exists()
    for end in (switch, bell, dead_bell, with_fifo, orphan.bell):
        end.close()
    assert clean_stale() == []
    left = {"somebody-elses", "netsum-other", f"{PORT_PREFIX}empty"}
    assert {path.name for path in shm_folder.iterdir()} == left


def test_memory_that_is_used_up_is_an_error_that_says_what_to_do(shm_folder: Path) -> None:
    with pytest.raises(PortError, match=r"is full: a port needs \d+.* MiB"):
        shm_files.create(shm_folder / "netsum-x", 1 << 50, 1 << 50, lambda _: None)
    assert list(shm_folder.iterdir()) == []


def test_a_folder_that_is_not_there_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETSUM_SHM", "/nonexistent")
    with pytest.raises(PortError, match="set NETSUM_SHM to a folder on a tmpfs"):
        open_switch()


def test_impairments_are_refused_at_the_hosts_end() -> None:
    with pytest.raises(PortError, match="impairments belong to the switch's end"):
        open_host_port("shm:a?loss=0.1")
