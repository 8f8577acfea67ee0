"""Walks told beside the compiled program: they say what it does, packet for packet, and leave no trace in its state."""

from __future__ import annotations

import random

from emulator.harness.walk.events import Kind, Walk
from emulator.harness.walk.log import log_lines
from emulator.harness.walk.shadow_run import WatchedSwitch
from emulator.v1model.compiled import WITH_SOURCE
from tests.labs.p4runtime_device import Bench, call, exact, packet


class Recorded:
    def __init__(self) -> None:
        self.walks: list[Walk] = []
        self.listens = True

    def wants(self) -> bool:
        return self.listens

    def record(self, walk: Walk) -> None:
        self.walks.append(walk)


CONFIG = "config { cir: 1000 cburst: 2 pir: 2000 pburst: 4 }"
SESSION = "clone_session_entry { session_id: 5 replicas { egress_port: 2 instance: 1 } packet_length_bytes: 20 }"
GROUP = "multicast_group_entry { multicast_group_id: 7 replicas { egress_port: 0 } replicas { egress_port: 3 } }"


def fill(bench: Bench) -> None:
    for number in (1, 2, 3):
        bench.insert(
            f"action_profile_member {{ action_profile_id: $selector member_id: {number} {call('set_value', number)} }}"
        )
    members = " ".join(f"members {{ member_id: {number} weight: {number} }}" for number in (1, 2, 3))
    bench.insert(f"action_profile_group {{ action_profile_id: $selector group_id: 1 {members} }}")
    bench.insert(f"table_entry {{ table_id: $choose {exact(1, 1)} action {{ action_profile_group_id: 1 }} }}")
    note = f"action {{ {call('note')} }}"
    bench.insert(f"table_entry {{ table_id: $pace priority: 1 {note} meter_config {{ {CONFIG[8:-1]} }} }}")
    bench.write(("MODIFY", f"meter_entry {{ meter_id: $shared index {{ index: 1 }} {CONFIG} }}"))
    for text in (SESSION, GROUP):
        bench.insert(f"packet_replication_engine_entry {{ {text} }}")
    bench.write(("MODIFY", f"value_set_entry {{ value_set_id: $known members {{ {exact(1, 6, 1)} }} }}"))


def test_walks_say_what_the_compiled_program_does() -> None:
    told = Recorded()
    beside, plain = Bench(WITH_SOURCE, make_switch=lambda: WatchedSwitch(told)), Bench("llvm")
    chance = random.Random(5)
    try:
        for bench in (beside, plain):
            fill(bench)
        for _ in range(80):
            told.listens = chance.random() < 0.8
            frame = packet(chance.randrange(8), chance.randrange(3), chance.randrange(50), chance.randrange(9))
            sent = beside.run(0, frame)
            assert sent == plain.run(0, frame)
            if told.listens:
                walk = told.walks.pop()
                assert sorted((left.port, left.content) for left in walk.left) == flat(sent)
            plain.now_ns += chance.choice((0, 100_000, 1_000_000))
            beside.now_ns = plain.now_ns
        assert beside.everything() == plain.everything()
        assert beside.switch.drops == plain.switch.drops
    finally:
        beside.close()
        plain.close()


def flat(sent: dict[int, list[bytes]]) -> list[tuple[int, bytes]]:
    return sorted((port, frame) for port, frames in sent.items() for frame in frames)


def test_the_log_has_bmv2s_words() -> None:
    told = Recorded()
    bench = Bench(WITH_SOURCE, make_switch=lambda: WatchedSwitch(told))
    try:
        fill(bench)
        bench.run(0, packet(kind=2, key=1))
        (walk,) = told.walks
    finally:
        bench.close()
    texts = [text for _, text in log_lines(walk)]
    for wanted in (
        "Processing packet received on port 0",
        "Parser 'P': start",
        "Parser state 'plain'",
        "Applying table 'I.choose'",
        "* hdr.h.key           : 1",
        "Table 'I.single': miss",
        "Egress port is 1",
        "Deparser 'D': start",
        "Transmitting packet of size 60 out of port 1",
        "Transmitting packet of size 20 out of port 2",
    ):
        assert wanted in texts, "\n".join(texts)
    assert any(text.startswith("Table 'I.choose': hit with entry") for text in texts)
    assert [event.kind for event in walk.events].count(Kind.LEAVE) == 2
