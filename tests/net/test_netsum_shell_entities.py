"""p4runtime-shell typed at a live switch with one of everything: entries of all kinds, packets, digests, time-outs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.p4runtime import shell
from emulator.p4runtime.process import RunningSwitch
from emulator.ports.cable.memory import MemoryPort
from tests.labs.p4runtime_device import CPU_PORT, packet, running_entities
from tests.labs.shell import needs_shell, play

pytestmark = needs_shell


@pytest.fixture
def running() -> Iterator[RunningSwitch]:
    with running_entities() as running:
        yield running


ENTRIES = """
te = table_entry["I.pace"](action="I.note")
te.match["hdr.h.key"] = "5..9"
te.match["hdr.h.kind"] = "1"
te.match["hdr.h.other"] = "0x1000&&&0xf000"
te.priority = 7
te.meter_config.cir = 1
te.meter_config.cburst = 2
te.meter_config.pir = 3
te.meter_config.pburst = 4
te.counter_data.packet_count = 41
te.insert()
d = direct_counter_entry["I.counted"]
d.read(lambda e: print("direct counter", e.data.packet_count))
m = direct_meter_entry["I.paced"]
m.read(lambda e: print("direct meter", e.cir, e.cburst, e.pir, e.pburst))
table_entry["I.pace"].read(lambda e: print("pace", e.priority, e.match["hdr.h.key"].range.high))

m = action_profile_member["I.selector"](member_id=1, action="I.set_value")
m.action["value"] = "11"
m.insert()
m = action_profile_member["I.selector"](member_id=2, action="I.set_value")
m.action["value"] = "22"
m.insert()
g = action_profile_group["I.selector"](group_id=1)
g.add(1)
g.add(2, weight=3, watch_port=b"\\x01")
g.insert()
action_profile_group["I.selector"].read(lambda g: print("group", [(m.member_id, m.weight) for m in g.members]))
te = table_entry["I.choose"]
te.match["hdr.h.key"] = "1"
te.group_id = 1
te.insert()
table_entry["I.choose"].read(lambda e: print("through group", e.group_id))
te.delete()
action_profile_group["I.selector"](group_id=1).delete()
action_profile_member["I.selector"](member_id=1).delete()
action_profile_member["I.selector"](member_id=2).delete()
te = table_entry["I.choose"]
te.match["hdr.h.key"] = "2"
a = Action("I.set_value")
a["value"] = "5"
te.oneshot.add(a, weight=2).add(a, weight=1, watch_port=b"\\x02")
te.insert()
table_entry["I.choose"].read(lambda e: print("one-shot", [(a.weight, a.watch_port) for a in e.oneshot.actions]))

m = meter_entry["I.shared"]
m.index = 1
m.cir = 1; m.cburst = 2; m.pir = 3; m.pburst = 4
m.modify()
m = meter_entry["I.shared"]
m.index = 1
m.read(lambda e: print("meter", e.cir, e.pburst))
c = counter_entry["I.arrivals"]
c.index = 2
c.packet_count = 9
c.modify()
c.read(lambda e: print("counter", e.index, e.packet_count))
s = clone_session_entry(5)
s.add(1, 1).add(2, 2)
s.insert()
clone_session_entry(5).read(lambda e: print("session", len(e.replicas)))
"""


def test_entries_of_every_kind(running: RunningSwitch, tmp_path: Path) -> None:
    printed = play(running.server.address, tmp_path, ENTRIES)
    for line in (
        "direct counter 41",
        "direct meter 1 2 3 4",
        "pace 7 b'\\t'",
        "group [(1, 1), (2, 3)]",
        "through group 1",
        "one-shot [(2, b''), (1, b'\\x02')]",
        "meter 1 4",
        "counter 2 9",
        "session 2",
    ):
        assert line in printed, f"{line}\n{printed}"


STREAM = f"""
p = packet_out()
p.payload = {packet(value=77)!r}
p.metadata["egress_port"] = "2"
p.metadata["_pad"] = "0"
p.send()
p = packet_out()
p.payload = {packet(kind=4, value=78)!r}
p.metadata["egress_port"] = "{CPU_PORT}"
p.metadata["_pad"] = "0"
p.send()
d = digest_entry["seen_t"]
d.max_list_size = 1
d.ack_timeout_ns = 10**12
d.insert()
digest_entry["seen_t"].read(lambda e: print("digest config", e.max_list_size))
te = table_entry["I.idle"](action="I.nothing")
te.match["hdr.h.key"] = "0x0500/8"
te.idle_timeout_ns = 50_000_000
te.insert()
told = []
for _ in range(20):  # a busy machine may take longer than one of them
    told or idle_timeout_notification.sniff(told.append, timeout=1)
print("idle", len(told[0].idle_timeout_notification.table_entry))
"""


def test_packets_digests_and_time_outs(running: RunningSwitch, tmp_path: Path) -> None:
    printed = play(running.server.address, tmp_path, STREAM)
    assert "digest config 1" in printed, printed
    assert "idle 1" in printed, printed
    port = running.ports[2]
    assert isinstance(port, MemoryPort)
    assert [frame[9:13] for frame in port.received()] == [(77).to_bytes(4, "big")]
    assert shell.DEFAULT_ELECTION_ID
