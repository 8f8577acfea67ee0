"""The harness as a test's author meets it: packets, names, values, state, time, links."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from emulator.harness.errors import ExpectationFailed, WrongTest
from emulator.harness.externs import Meter
from emulator.harness.network import P4Network
from emulator.harness.profiles import call
from emulator.harness.switch import P4Switch
from emulator.p4.errors import CompileError

PROGRAM = "../../../programs/harness_program.p4"
HOST = "02:00:00:00:00:02"
HEADER = "020000000002 020000000001 88b5"


@pytest.fixture
def switch(p4_switch) -> P4Switch:
    made = p4_switch(PROGRAM)
    made.table("hosts").add({"destination": HOST}, "forward", port=2)
    return made


def note(kind: int = 1, hops: int = 0, port: int = 5, value: int = 9) -> str:
    return f"{HEADER} {kind:02x} {hops:02x} {port:04x} {value:08x}"


# --- Packets --------------------------------------------------------------------------------------------------------


def test_a_packet_is_expected_as_scapy_makes_it(switch: P4Switch) -> None:
    packet = Ether(dst=HOST, src="02:00:00:00:00:01", type=0x0800) / IP(src="1.2.3.4", dst="5.6.7.8") / UDP()
    switch.send(1, packet)
    received: Any = switch.expect(2, packet).packet
    assert received[IP].dst == "5.6.7.8"
    switch.expect_no_other()


def test_what_does_not_count(switch: P4Switch) -> None:
    for _ in range(6):
        switch.send(1, Ether(dst=HOST, src="02:00:00:00:00:01") / IP(id=7, ttl=9, src="1.2.3.4", dst="5.6.7.8") / UDP())
    wanted = Ether(dst=HOST, src="02:00:00:00:00:09") / IP(id=8, ttl=9, src="1.2.3.4", dst="5.6.7.8") / UDP()
    switch.expect(2, wanted, ignore=["Ether.src", "IP.id", "IP.chksum"])
    switch.expect(2, wanted, ignore=["Ether.src", "IP"])
    switch.expect(2, wanted, ignore=["hdr.ethernet.source", range(18, 20), slice(24, 26)])
    switch.expect(2, HOST.replace(":", "") + "02**00000001 08**", prefix=True)
    switch.expect(2, bytes(14), mask="000000000000 000000000000 0000", prefix=True)
    with pytest.raises(ExpectationFailed, match=r"IP\.id +8 +7"):
        switch.expect(2, wanted, ignore="Ether.src")


def test_hex_and_bytes(switch: P4Switch) -> None:
    switch.send(1, note())
    switch.expect(2, bytes.fromhex(note(hops=1, value=0)))
    with pytest.raises(WrongTest, match="odd number"):
        switch.send(1, "012")
    with pytest.raises(WrongTest, match="is not a packet"):
        switch.send(1, 17)


def test_the_oldest_packet_of_the_port_comes_first(switch: P4Switch) -> None:
    switch.send(1, note(kind=1))
    switch.send(1, note(kind=2))
    with pytest.raises(ExpectationFailed, match=r"packet 2 of this port is the expected one"):
        switch.expect(2, note(kind=2, hops=1, value=9))
    switch.expect(2, note(kind=2, hops=1, value=9), any_order=True)
    switch.expect(2, note(kind=1, hops=1, value=0))
    switch.expect_no_other()


# --- Failures -------------------------------------------------------------------------------------------------------


def test_a_failure_shows_fields_and_the_walk(switch: P4Switch) -> None:
    switch.send(1, note(value=7))
    with pytest.raises(ExpectationFailed) as failure:
        switch.expect(2, note(hops=2, value=0))
    text = str(failure.value)
    assert "port 2: the packet is not the expected one" in text
    assert "hdr.note.hops  2         1" in text
    assert "(6 other fields are as expected)" in text
    assert "hit hdr.ethernet.destination=02:00:00:00:00:02 -> MyIngress.forward(port=2)" in text
    assert "hdr.note.hops = hdr.note.hops + 1; hdr.note.hops = 1" in " ".join(text.split())  # folded where it is narrow
    assert "test_switch.py:" in text


def test_the_walk_is_of_the_state_that_the_packet_met(switch: P4Switch) -> None:
    """The register's value then, not the one that a later packet wrote; entries too."""
    switch.send(1, note(value=7))
    switch.send(1, note(value=8))
    switch.send(1, note(value=9))
    switch.receive(2)
    switch.table("hosts").clear()
    with pytest.raises(ExpectationFailed) as failure:
        switch.expect(2, note(value=0))
    assert "before = 7" in str(failure.value)
    assert "MyIngress.forward(port=2)" in str(failure.value)


def test_nothing_came_out(switch: P4Switch) -> None:
    switch.send(1, "020000000099 020000000001 0800")
    with pytest.raises(ExpectationFailed) as failure:
        switch.expect(2, "00" * 14)
    assert "nothing came out" in str(failure.value)
    assert "miss (1 entry) -> MyIngress.drop()" in str(failure.value)
    assert "dropped by ingress" in str(failure.value)


def test_it_came_out_elsewhere(switch: P4Switch) -> None:
    switch.send(1, note())
    with pytest.raises(ExpectationFailed, match="the expected packet came out of port 2 instead"):
        switch.expect(3, note(hops=1, value=0))


def test_something_else_came_out_elsewhere(switch: P4Switch) -> None:
    switch.send(1, note())
    with pytest.raises(ExpectationFailed, match=r"(?s)a packet came out of port 2 instead.* hdr\.note\.hops +7 +1\n"):
        switch.expect(3, note(hops=7, value=0))


def test_what_comes_out_of_any_port(switch: P4Switch) -> None:
    switch.send(1, note())
    assert switch.receive().port == 2
    with pytest.raises(ExpectationFailed, match="any port: expected a packet, nothing came out"):
        switch.receive()


def test_headers_go_by_the_name_that_the_program_gives_their_parameter(switch: P4Switch) -> None:
    switch.send(1, note())
    switch.expect(2, note(hops=9, value=8), ignore=["h.note.hops", "whatever.note.value"])
    switch.send(1, note())
    with pytest.raises(WrongTest, match=r"no field to ignore 'h\.note\.hop'"):
        switch.expect(2, note(), ignore="h.note.hop")


def test_something_else_came_out(switch: P4Switch) -> None:
    switch.send(1, note())
    switch.expect_no_other(3)
    with pytest.raises(ExpectationFailed, match=r"port 2, 22 bytes, from the packet sent to port 1"):
        switch.expect_no_other()


# --- Names and values -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (
            lambda s: s.table("hsots"),
            r"Did you mean 'MyIngress\.hosts'\? There are: MyIngress\.hosts, MyIngress\.rules",
        ),
        (lambda s: s.table("hosts").add({"dst": 1}, "drop"), r"table MyIngress\.hosts has no key 'dst'"),
        (lambda s: s.table("hosts").add({}, "drop"), r"exact key cannot be left out: hdr\.ethernet\.destination"),
        (lambda s: s.table("hosts").add({"destination": 1}, "fwd"), "There are: MyIngress.forward"),
        (lambda s: s.table("hosts").add({"destination": 1}, "forward"), "needs a value for port"),
        (lambda s: s.table("hosts").add({"destination": 1}, "forward", prt=1), "Did you mean 'port'"),
        (lambda s: s.table("hosts").add({"destination": 1}, "forward", port=512), "has 9 bits: 512 does not fit"),
        (lambda s: s.table("hosts").add({"destination": "x"}, "drop"), "'x' is not a number"),
        (lambda s: s.table("rules").add({"kind": 1}, "tell"), "needs priority=N"),
        (lambda s: s.table("hosts").add({"destination": 2}, "drop", priority=1), "has no priorities"),
        (lambda s: s.table("balanced").add({"value": "10.0.0.1/8"}, "forward", port=1), "has the action profile"),
        (lambda s: s.table("balanced").add({"value": "10.0.0.1/8"}, []), r"did you mean 10\.0\.0\.0/8"),
        (lambda s: s.register("hits"), r"is direct: its cells belong to the entries of table MyIngress\.hosts"),
        (lambda s: s.register("lst"), r"Did you mean 'MyIngress\.last'"),
        (lambda s: s.register("last")[8], r"indices 0 \.\. 7"),
        (lambda s: s.advance("soon"), "is not a duration"),
        (lambda s: s.expect(2, Ether() / IP(), ignore="IP.ids"), "Did you mean 'IP.id'"),
    ],
)
def test_mistakes_are_named_with_what_there_is(switch: P4Switch, attempt, message: str) -> None:
    switch.send(1, note())
    with pytest.raises(WrongTest, match=message):
        attempt(switch)


def test_a_missing_program_is_looked_for_beside_the_test(p4_switch) -> None:
    with pytest.raises(WrongTest, match=r"there is no P4 program 'nothing\.p4'.*looked in .*unit"):
        p4_switch("nothing.p4")


# --- State ----------------------------------------------------------------------------------------------------------


def test_entries_of_every_kind(switch: P4Switch) -> None:
    rules = switch.table("rules")
    rules.add({"kind": "0x0*", "port": "4..6", "value": 9}, "tell", priority=10)
    rules.add({"kind": (0xF0, 0xF0), "port": range(1, 3)}, "NoAction", priority=5)
    rules.add({"kind": "3&&&0x0f", "value": "*"}, "NoAction", priority=1)
    assert len(rules.entries()) == 3
    said = []
    for kind, port, value in ((1, 5, 9), (1, 7, 9), (3, 5, 9), (0xF1, 1, 9), (0x11, 5, 9), (1, 5, 4)):
        switch.register("last")[0] = value
        switch.send(port, note(kind=kind, port=port))
        said += switch.messages()
    assert said == ["from port 5", "from port 5"]
    rules.clear()
    rules.set_default("tell")
    switch.send(8, note())
    assert switch.messages() == ["from port 8"]


def test_counters_registers_and_direct_counters(switch: P4Switch) -> None:
    entry = switch.table("hosts").add({"destination": "02:00:00:00:00:03"}, "forward", port=3)
    switch.register("last")[0] = ipaddress.IPv4Address("10.0.0.1")
    switch.send(4, "020000000003 020000000001 0800")
    assert (entry.packets, entry.bytes) == (1, 14)
    assert switch.counter("seen")[4].packets == 1
    assert switch.register("last")[0] == 0x0A000001
    entry.modify("forward", port=5)
    switch.send(4, "020000000003 020000000001 0800")
    switch.expect(3, "020000000003 020000000001 0800")
    switch.expect(5, "020000000003 020000000001 0800")
    entry.delete()
    switch.send(4, "020000000003 020000000001 0800")
    switch.expect_no_other()
    assert switch.counts == {"dropped by ingress": 1}


def test_multicast_clones_digests_messages_value_sets(switch: P4Switch) -> None:
    switch.multicast(1, [2, 3, (3, 1)])
    switch.table("hosts").add({"destination": "0x03"}, "spread", group=1)
    switch.table("hosts").add({"destination": "0x04"}, "mirror", port=7)
    switch.clone_session(5, 6, truncate=8)
    switch.send(1, "000000000003 020000000001 0800")
    for port in (2, 3, 3):
        switch.expect(port, "000000000003 020000000001 0800")
    switch.send(1, "000000000004 020000000001 0800")
    switch.expect(6, "000000000004 0200")
    switch.expect(7, "000000000004 020000000001 0800")
    switch.value_set("types", [0x9999])
    switch.send(3, "020000000002 020000000001 9999 07 00 0000 00000000")
    switch.expect(2, "020000000002 020000000001 9999 07 01 0000 00000000")
    assert switch.messages() == ["from port 3"]
    assert switch.digests("sample_t") == [{"source": 0x020000000001, "port": 3}]
    switch.expect_no_other()


def test_profiles(switch: P4Switch) -> None:
    paths = switch.profile("paths")
    one, other = paths.member("forward", port=11), paths.member(call("forward", port=12))
    balanced = switch.table("balanced")
    balanced.add({"value": "10.0.0.0/8"}, one)
    balanced.add({"value": ("11.0.0.0", 8)}, paths.group(one, (other, 3)))
    switch.register("last")[0] = 0x0A000001
    switch.send(1, note())
    assert switch.receive(11).port == 11
    with pytest.raises(WrongTest, match=r"MyIngress\.forward"):
        paths.member("fwd")


def test_virtual_time_fills_meters(switch: P4Switch) -> None:
    with pytest.raises(WrongTest, match=r"5 is not a rate: give Meter\("):
        switch.meter("rate")[0] = 5  # type: ignore[assignment]
    switch.meter("rate")[0] = Meter(committed=(1000, 1))
    assert switch.meter("rate")[0] == Meter((1000, 1), (1000, 1))
    for wait in ("0ns", "0ns", "1ms"):
        switch.advance(wait)
        switch.send(1, note())
    switch.receive(2)
    switch.receive(2)
    switch.expect_no_other()
    assert switch.counts == {"dropped by ingress": 1}


# --- Networks -------------------------------------------------------------------------------------------------------


def pair(network: P4Network, **link: object) -> tuple[P4Switch, P4Switch]:
    left, right = network.switch(PROGRAM, "left"), network.switch(PROGRAM, "right")
    for one in (left, right):
        one.table("hosts").add({"destination": HOST}, "forward", port=2)
    network.link(left, 2, right, 1, **link)  # type: ignore[arg-type]
    return left, right


def test_a_link_takes_its_time(p4_network: P4Network) -> None:
    left, right = pair(p4_network, delay="2ms")
    start_ns = p4_network.now_ns
    left.send(1, note())
    with pytest.raises(ExpectationFailed, match="within 1ms"):
        right.expect(2, note(), within="1ms")
    assert right.expect(2, note(hops=2, value=0)).time_ns == start_ns + 2_000_000
    assert "switch left" in right.walk()
    assert "switch right" in right.walk()


def test_loss_is_the_same_with_the_same_seed() -> None:
    def arrived() -> list[int]:
        network = P4Network()
        left, right = pair(network, loss=0.5, seed=3)
        for number in range(20):
            left.send(1, note(port=number))
        network.advance("1s")
        found = [r.content[17] for r in network.testbed.arrived]
        right_walk = right.walk()
        network.close()
        assert right_walk
        return found

    first = arrived()
    assert 0 < len(first) < 20
    assert arrived() == first


def test_what_a_link_did_to_the_packet_is_said(p4_network: P4Network) -> None:
    left, right = pair(p4_network, loss=1.0)
    left.send(1, note())
    with pytest.raises(ExpectationFailed, match="the link from left, port 2, to right, port 1: lost"):
        right.expect(2, note())


def test_a_circle_without_delay_is_named(p4_network: P4Network) -> None:
    left, right = pair(p4_network)
    p4_network.link(right, 2, left, 1)
    with pytest.raises(ExpectationFailed, match="a forwarding loop between left, right"):
        left.send(5, note())


def test_a_port_with_a_link_is_not_sent_to(p4_network: P4Network) -> None:
    left, right = pair(p4_network)
    with pytest.raises(WrongTest, match="has a link"):
        right.send(1, note())
    with pytest.raises(WrongTest, match="has a cable already"):
        p4_network.link(left, 2, right, 9)


def test_a_port_that_is_down_takes_no_packet(switch: P4Switch) -> None:
    paths = switch.profile("paths")
    one, other = paths.member("forward", port=11), paths.member("forward", port=12)
    switch.table("balanced").add({"value": "*"}, paths.group(one, other, watch={one: 11, other: 12}))
    for down, up in ((11, 12), (12, 11)):
        switch.ports_down(down)
        for port in range(8):
            switch.send(1, note(port=port))
            assert switch.receive(up)
    switch.expect_no_other()
    assert "MyIngress.forward(port=11)" in switch.walk()


def test_macros_are_a_mapping_or_words_of_a_command_line(p4_network: P4Network, tmp_path: Path) -> None:
    program = tmp_path / "sized.p4"
    program.write_text(f'#if SIZE == 4 && FAST == 1\n#include "{Path(__file__).parent / PROGRAM}"\n#endif\n')
    for defines in ({"SIZE": 4, "FAST": 1}, ["SIZE=4", "FAST"]):
        assert p4_network.switch(program, defines=defines).table("hosts").entries() == []
    with pytest.raises(CompileError):
        p4_network.switch(program, defines="SIZE=4")
