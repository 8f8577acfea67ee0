"""bmv2's runtime commands on a switch: what they print, and what packets and P4Runtime clients see of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulator.p4runtime.commands.interpreter import COMMANDS, Interpreter, Machine
from tests.labs.p4runtime_device import Bench, call, exact, packet, value_of

FRAME_BYTES = len(packet())


class Lines:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        ports = {0: "memory:p0", 1: "memory:p1"}
        self.interpreter = Interpreter(Machine(bench.device.live, bench.device.reset, lambda: ports, bench.switch))

    def __call__(self, *lines: str) -> str:
        """The output of the last one; none of those before is refused."""
        outputs = [self.interpreter.run(line) for line in lines]
        assert not any("rror" in output or "Invalid" in output for output in outputs[:-1]), outputs
        return outputs[-1]

    def send(self, kind: int, port: int, **fields: int) -> list[tuple[int, int]]:
        """(port, value) of what comes out for a packet into ``port``."""
        sent = self.bench.run(port, packet(kind, **fields))
        return [(number, value_of(frame)) for number, frames in sorted(sent.items()) for frame in frames]

    def is_marked(self, kind: int) -> bool:
        (frame,) = self.bench.run(0, packet(kind))[1]
        return frame[3:5] == b"\xff\xff"


@pytest.fixture(params=["interpreter", "llvm"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    made = Bench(request.param)
    yield made
    made.close()


@pytest.fixture
def run(bench: Bench) -> Lines:
    return Lines(bench)


def test_an_entry_is_added_shown_changed_and_deleted(run: Lines) -> None:
    assert run("table_add routes send 10.0.0.0/8 => 2 0xdeadbeef") == (
        "Adding entry to lpm match table routes\n"
        "match key:           LPM-0a:00:00:00/8\n"
        "action:              send\n"
        "runtime data:        00:02\tde:ad:be:ef\n"
        "Entry has been added with handle 0"
    )
    assert run("table_add I.routes I.nothing 10.1.0.0/16 =>").endswith("Entry has been added with handle 1")
    assert run("table_num_entries routes") == "2"
    assert run("table_modify routes send 1 3 4") == "Modifying entry 1 for lpm match table routes"
    assert "Dumping entry 0x1\nMatch key:\n* hdr.h.flow          : LPM       0a010000/16\n" in run("table_dump routes")
    assert run("table_dump_entry routes 1").endswith("Action entry: I.send - 0003, 00000004")
    assert run("table_delete routes 0") == "Deleting entry 0 from routes"
    assert run("table_delete routes 0").startswith("Invalid table operation (INVALID_HANDLE)")
    assert run("table_num_entries routes") == "1"
    assert run("table_clear routes", "table_num_entries routes") == "0"


def test_packets_meet_entries_and_defaults(run: Lines, bench: Bench) -> None:
    run("table_set_default routes nothing", "table_add forward send 7 10.0.0.1 => 2 99")
    assert run.send(1, 0, key=7, flow=0x0A000001) == [(2, 99)]
    run("table_delete forward 0", "table_set_default routes send 3 5")
    assert run.send(1, 0, key=7, flow=0x0A000001) == [(3, 5)]
    run("table_reset_default routes")
    assert run.send(1, 0, key=7, flow=0x0A000001) == [(1, 0)]


def test_keys_of_every_kind_and_the_smaller_priority_wins(run: Lines, bench: Bench) -> None:
    output = run("table_add pace note 5->9 4&&&0xff 0x1200&&&0xff00 => 10")
    assert "Adding entry to range match table pace" in output
    assert "RANGE-00:05 -> 00:09\tTERNARY-04 &&& ff\tTERNARY-12:00 &&& ff:00" in output
    assert run("table_add pace nothing 0->0xffff 0&&&0 0&&&0 => 3").endswith("handle 1")
    assert "could not extract a valid priority" in run("table_add pace note 5->9 4 0 =>")
    found = run("table_dump_entry_from_key pace 5->9 4 0x1200&&&0xff00 10")
    assert found.startswith("Dumping entry 0x0")
    assert "Priority: 10" in found
    entries = bench.read("table_entry { table_id: $pace }")
    assert [entry.table_entry.priority for entry in entries] == [(1 << 24) - 10, (1 << 24) - 3]


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("table_add rotues send 1 => 2", "Error: Invalid table name (rotues): there are I.choose,"),
        ("table_add routes add_value 1 => 2", "Error: Invalid action name (add_value): there are I.send, I.nothing"),
        ("table_add forward send 1 => 2 3", "Error: Table I.forward needs 2 key fields, the command has 1"),
        ("table_add routes send 1/8 => 2", "Error: Action I.send needs 2 parameters, the command has 1"),
        ("table_add routes send 1/40 => 2 3", "Error: Invalid match key hdr.h.flow: prefix length 40 is not 0 to 32"),
        ("table_add forward send 70000 1 => 2 3", "Error: Invalid match key hdr.h.key: 70000 does not fit in 16 bits"),
        ("table_add forward send x 1 => 2 3", "Error: Invalid match key hdr.h.key: x is not a number"),
        ("table_add routes", "Error: Wrong number of arguments\nUsage: table_add <table> <action>"),
        ("frobnicate", "*** Unknown syntax: frobnicate"),
        ("swap_configs", "Error: The program cannot be swapped here"),
        ("port_add veth7 7", "Error: Ports cannot be changed while the switch runs"),
        ("set_crc16_parameters c 0x8005 0 0 true true", "Error: The polynomials of hash algorithms"),
        ("set_queue_depth deep", "Error: Invalid depth: deep is not a number"),
        ("set_queue_depth 64 600", "Invalid set operation (OUT_OF_RANGE): a port's number is 0 .. 511, not 600"),
        ("set_queue_rate 64 6 1", "Invalid set operation (OUT_OF_RANGE): each port has one queue, and none for"),
        ("register_read sums 8", "Invalid register operation (OUT_OF_RANGE): register I.sums has indices 0 .. 7"),
        ("table_add 'routes", "Error: No closing quotation"),
    ],
)
def test_mistakes(run: Lines, line: str, output: str) -> None:
    assert run(line).startswith(output)


def test_a_duplicate_is_named_as_bmv2_names_it(run: Lines) -> None:
    run("table_add forward send 1 1 => 2 3")
    assert run("table_add forward send 1 1 => 2 3").startswith("Invalid table operation (DUPLICATE_ENTRY)")


def test_registers_and_counters(run: Lines, bench: Bench) -> None:
    run("register_write sums 3 5")
    assert run("register_read sums 3") == "sums[3]= 5"
    assert run("register_read sums") == "sums= 0, 0, 0, 5, 0, 0, 0, 0"
    assert run("register_reset I.sums", "register_read sums 3") == "sums[3]= 0"
    run.send(6, 0)
    assert run("counter_read arrivals 6") == f"arrivals[6]=  BmCounterValue(packets=1, bytes={FRAME_BYTES})"
    assert run("counter_write arrivals 6 9 100", "counter_read arrivals 6").endswith("(packets=9, bytes=100)")
    assert run("counter_reset arrivals", "counter_read arrivals 6").endswith("(packets=0, bytes=0)")


def test_direct_counters_and_meters_go_by_the_entrys_handle(run: Lines, bench: Bench) -> None:
    run("table_add pace note 0->9 0&&&0 0&&&0 => 1")
    run.send(1, 0, key=4)
    assert run("counter_read counted 0") == (
        f"this is the direct counter for table I.pace\ncounted[0]=  BmCounterValue(packets=1, bytes={FRAME_BYTES})"
    )
    run("meter_set_rates paced 0 0.5:8 1:16")
    assert run("meter_get_rates paced 0") == "0: info rate = 0.5, burst size = 8\n1: info rate = 1.0, burst size = 16"
    assert "packets=1" in run("counter_read counted 0")
    run("meter_array_set_rates shared 1:2 3:4")
    assert run("meter_get_rates shared 3").startswith("0: info rate = 1.0, burst size = 2")
    assert run("meter_set_rates shared 0 3:4 1:2") == "Error: The peak rate is below the committed rate"


def test_members_and_groups(run: Lines, bench: Bench) -> None:
    assert run("act_prof_create_member selector set_value 7") == "Member has been created with handle 0"
    assert run("act_prof_create_member selector set_value 8") == "Member has been created with handle 1"
    assert run("act_prof_create_group selector") == "Group has been created with handle 0"
    run("act_prof_add_member_to_group selector 1 0")
    assert run("table_indirect_add_with_group choose 4 => 0").endswith("Entry has been added with handle 0")
    assert run("table_indirect_add choose 5 => 0").endswith("Entry has been added with handle 1")
    assert run.send(1, 0, key=4) == [(1, 8)]
    assert run.send(1, 0, key=5) == [(1, 7)]
    assert "group(0): members [1]" in run("act_prof_dump selector")
    assert "Index: member(0)" in run("table_dump_entry choose 1")
    run("act_prof_modify_member selector set_value 0 9")
    assert run.send(1, 0, key=5) == [(1, 9)]
    run("table_delete choose 0", "act_prof_remove_member_from_group selector 1 0", "act_prof_delete_group selector 0")
    run("act_prof_delete_member selector 1")
    assert run("act_prof_delete_member selector 1").startswith("Invalid table operation (INVALID_HANDLE)")


def test_multicast_and_mirroring(run: Lines, bench: Bench) -> None:
    assert run("mc_mgrp_create 7") == "Creating multicast group 7"
    assert run("mc_node_create 5 2 3") == (
        "Creating node with rid 5 , port map 1100 and lag map \nnode was created with handle 0"
    )
    assert run("mc_node_associate 7 0") == "Associating node 0 to multicast group 7"
    assert [port for port, _ in run.send(3, 0)] == [2, 3]
    run("mc_node_update 0 0")
    assert [port for port, _ in run.send(3, 0)] == [0]
    assert "mgrp(7)\n  -> (L1h=0, rid=5) -> (ports=[0], lags=[])" in run("mc_dump")
    (entity,) = bench.read("packet_replication_engine_entry { multicast_group_entry { } }")
    group = entity.packet_replication_engine_entry.multicast_group_entry
    assert [(replica.egress_port, replica.instance) for replica in group.replicas] == [(0, 5)]
    run("mirroring_add 5 3")
    assert sorted(port for port, _ in run.send(2, 0)) == [1, 3]
    assert run("mirroring_get 5") == "MirroringSessionConfig(port=3, mgid=None)"
    run("mirroring_add_mc 5 7", "mc_node_update 0 2")
    assert sorted(port for port, _ in run.send(2, 0)) == [1, 2]
    assert run("mirroring_delete 5", "mirroring_get 5").startswith("Invalid mirroring operation (SESSION_NOT_FOUND)")
    run("mc_node_dissociate 7 0", "mc_node_destroy 0", "mc_mgrp_destroy 7")
    assert run("mc_node_associate 7 0").startswith("Invalid PRE operation: there is no multicast group 7")


def test_value_sets(run: Lines, bench: Bench) -> None:
    run("pvs_add known 6")
    assert run.is_marked(6)
    assert run("pvs_get known") == "06"
    run("pvs_remove known 6")
    assert not run.is_marked(6)
    assert "does not have this value" in run("pvs_remove known 6")


def test_entries_of_p4runtime_clients_have_handles_and_ours_are_read_back(run: Lines, bench: Bench) -> None:
    bench.insert(f"table_entry {{ table_id: $forward {exact(1, 1)} {exact(2, 2)} action {{ {call('nothing')} }} }}")
    assert run("table_add forward send 1 1 => 2 3").endswith("handle 1")
    assert run("table_dump_entry forward 0").endswith("Action entry: I.nothing - ")
    assert len(bench.read("table_entry { table_id: $forward }")) == 2
    assert run("table_delete forward 0", "table_num_entries forward") == "1"


def test_a_time_out_is_set(run: Lines, bench: Bench) -> None:
    run("table_add idle nothing 0/0 =>")
    assert run("table_set_timeout idle 0 250") == "Setting a 250 ms timeout for entry 0"
    (entity,) = bench.read("table_entry { table_id: $idle }")
    assert entity.table_entry.idle_timeout_ns == 250_000_000
    assert run("table_set_timeout routes 0 250").startswith("Error: Table I.routes does not support")


def test_reset_state_and_a_new_program_forget_handles(run: Lines, bench: Bench) -> None:
    run("table_add forward send 1 1 => 2 3", "register_write sums 0 1", "reset_state")
    assert (run("table_num_entries forward"), run("register_read sums 0")) == ("0", "sums[0]= 0")
    assert run("table_add forward send 1 1 => 2 3").endswith("handle 0")
    bench.set_pipeline("VERIFY_AND_COMMIT")
    assert run("table_add forward send 1 1 => 2 3").endswith("handle 0")


def test_listings(run: Lines) -> None:
    assert "I.routes                       [implementation=None, mk=hdr.h.flow(lpm, 32)]" in run("show_tables")
    assert "I.send                         [port(9),\tvalue(32)]" in run("show_actions").split("\n")
    assert run("table_info routes").split("\n")[1:] == [
        "*" * 80,
        "I.nothing                      []",
        "I.send                         [port(9),\tvalue(32)]",
    ]
    assert "memory:p1" in run("show_ports")
    assert run("help table_delete") == "Delete an entry\nUsage: table_delete <table> <entry handle>"
    assert "table_add" in run("help")
    assert run("# a comment") == run("") == ""


def test_completion(run: Lines) -> None:
    complete = run.interpreter.complete
    assert complete("table_indirect_add") == ["table_indirect_add", "table_indirect_add_with_group"]
    assert complete("table_add r") == ["routes"]
    assert complete("table_add routes ") == ["I.nothing", "I.send", "nothing", "send"]
    assert complete("register_read ") == ["I.sums", "sums"]
    assert complete("act_prof_create_member selector ad") == ["add_value"]
    assert complete("table_add nonsense ") == complete("nonsense ") == []


class RecordedQueues:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.calls: list[tuple[str | int | None, ...]] = []

    def prepare_queues(self) -> None:
        assert not self.bench.switch.lock.locked()
        self.calls.append(("prepare",))

    def set_queue_depth(self, packets: int, port: int | None, priority: int | None) -> None:
        assert self.bench.switch.lock.locked()
        self.calls.append(("depth", packets, port, priority))

    def set_queue_rate(self, packets_per_s: int, port: int | None, priority: int | None) -> None:
        assert self.bench.switch.lock.locked()
        self.calls.append(("rate", packets_per_s, port, priority))


def test_queues_of_all_ports_of_one_and_of_one_priority(bench: Bench) -> None:
    queues = RecordedQueues(bench)
    interpreter = Interpreter(Machine(bench.device.live, bench.device.reset, dict, queues))
    for line in ("set_queue_depth 64", "set_queue_rate 100 2", "set_queue_rate 0x10 2 7"):
        assert interpreter.run(line) == ""
    assert [call for call in queues.calls if call != ("prepare",)] == [
        ("depth", 64, None, None), ("rate", 100, 2, None), ("rate", 16, 2, 7),
    ]  # fmt: skip
    assert interpreter.run("set_queue_rate fast") == "Error: Invalid rate: fast is not a number"


def test_every_command_has_a_help_and_counts_its_words(run: Lines) -> None:
    for name, command in COMMANDS.items():
        assert run(f"help {name}").startswith(f"{command.help}\nUsage: {name}")
        if command.least:
            assert run(name).startswith("Error: Wrong number of arguments"), name
