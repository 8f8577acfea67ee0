"""Replicas with backups, and what a clone session says beside its replicas."""

from __future__ import annotations

import pytest

from emulator.p4runtime.stream import notifications
from tests.labs.p4runtime_device import Bench, bench, packet

__all__ = ["bench"]

CHAIN = """replicas {
    egress_port: 1 instance: 4 backup_replicas { port: "\\x00\\x02" instance: 5 } backup_replicas { port: "\\x03" }
} replicas { egress_port: 0 }"""
GROUP = f"packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: 7 {CHAIN} }} }}"
SESSION = f"packet_replication_engine_entry {{ clone_session_entry {{ session_id: 5 {CHAIN} class_of_service: 3 }} }}"
MULTICAST, CLONED = 3, 2
"""Kinds of packets."""


@pytest.fixture(autouse=True)
def ports_are_looked_at_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "PORT_CHECK_NS", 0)


def goes_to(bench: Bench, kind: int, down: set[int]) -> set[int]:
    bench.down = down
    bench.said()
    return set(bench.run(2, packet(kind=kind)))


WAYS = [(set(), 1), ({1}, 2), ({1, 2}, 3), ({2}, 1), ({1, 2, 3}, 1), ({1, 3}, 2), (set(), 1)]
"""Ports that are down, and which of the replica and its backups is used then."""


def test_a_group_uses_the_first_replica_whose_port_is_up(bench: Bench) -> None:
    bench.insert(GROUP)
    for down, used in WAYS:
        assert goes_to(bench, MULTICAST, down) == {0, used}, down


def test_so_does_a_clone_session(bench: Bench) -> None:
    bench.insert(SESSION)
    for down, used in WAYS:
        assert goes_to(bench, CLONED, down) == {0, 1, used}, down  # the packet itself leaves by port 1


def test_a_port_that_the_switch_does_not_have_is_down(bench: Bench) -> None:
    bench.insert(GROUP.replace("egress_port: 1", "egress_port: 99"))
    assert goes_to(bench, MULTICAST, set()) == {0, 2}


def test_what_is_written_while_a_port_is_down_uses_the_backup(bench: Bench) -> None:
    bench.insert(SESSION)
    assert goes_to(bench, CLONED, {1}) == {0, 1, 2}
    bench.insert(GROUP)
    assert set(bench.run(2, packet(kind=MULTICAST))) == {0, 2}


def test_they_are_read_as_they_were_written(bench: Bench) -> None:
    bench.insert(GROUP, SESSION)
    goes_to(bench, MULTICAST, {1})
    group, session = bench.read(
        "packet_replication_engine_entry { multicast_group_entry {} }",
        "packet_replication_engine_entry { clone_session_entry {} }",
    )
    read = session.packet_replication_engine_entry.clone_session_entry
    assert read.class_of_service == 3
    assert read.replicas == group.packet_replication_engine_entry.multicast_group_entry.replicas
    first, second = read.replicas
    assert [(backup.port, backup.instance) for backup in first.backup_replicas] == [(b"\2", 5), (b"\3", 0)]
    assert (first.egress_port, first.instance, second.egress_port) == (1, 4, 0)


def test_another_program_takes_them_over(bench: Bench) -> None:
    bench.insert(GROUP)
    assert goes_to(bench, MULTICAST, {1}) == {0, 2}
    bench.set_pipeline("RECONCILE_AND_COMMIT")
    assert goes_to(bench, MULTICAST, {1}) == {0, 2}
    assert goes_to(bench, MULTICAST, set()) == {0, 1}
