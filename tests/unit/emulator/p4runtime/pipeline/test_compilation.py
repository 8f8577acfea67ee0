"""P4Runtime in front of a real switch: what is written decides what frames do, and frames show in what is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from google.protobuf import text_format

from emulator.p4.library import find_program
from emulator.p4runtime.entities.bytestrings import encode
from emulator.p4runtime.errors import BatchError, Code, RequestError
from emulator.p4runtime.pipeline.compilation import PackageReader, compile_config
from emulator.p4runtime.pipeline.package import Package, pack, unpack
from emulator.rpc.p4protos import p4info_pb2
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from emulator.v1model.compiled import ENGINES
from tests.clients.p4runtime_scenario import make_package
from tests.labs.p4runtime_device import Bench

PROGRAM = Path(__file__).resolve().parents[4] / "programs" / "small.p4"
SET = p4rt.SetForwardingPipelineConfigRequest
DST, SRC = bytes.fromhex("0200000000aa"), bytes.fromhex("0200000000bb")


@pytest.fixture(params=ENGINES)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    bench = Bench(request.param, str(PROGRAM))
    yield bench
    bench.close()


def frame(dst: bytes = DST, src: bytes = SRC, ether_type: int = 0x1234, rest: bytes = bytes(46)) -> bytes:
    return dst + src + ether_type.to_bytes(2, "big") + rest


def ipv4_frame(address: str) -> bytes:
    return frame(ether_type=0x0800, rest=bytes(16) + bytes(map(int, address.split("."))) + bytes(26))


def text_of(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


def host(mac: bytes, port: int, action: str) -> str:
    key = f'match {{ field_id: 1 exact {{ value: "{text_of(mac)}" }} }}'
    key += f' match {{ field_id: 2 exact {{ value: "{text_of(bytes([port]))}" }} }}'
    return f"table_entry {{ table_id: $hosts {key} {action} }}"


def forward(port: int, mac: bytes = DST) -> str:
    params = f'params {{ param_id: 1 value: "{text_of(bytes([port]))}" }}'
    params += f' params {{ param_id: 2 value: "{text_of(mac)}" }}'
    return f"action {{ action {{ action_id: $forward {params} }} }}"


FLOOD = 'action { action { action_id: $flood params { param_id: 1 value: "\\x05" } } }'
DROP = "action { action { action_id: $drop } }"


def test_entries_decide_and_counters_tell(bench: Bench) -> None:
    assert bench.run(0, frame()) == {}
    bench.write(("INSERT", host(DST, 0, forward(2, SRC))))
    assert bench.run(0, frame()) == {2: [frame(dst=SRC)]}
    assert bench.run(1, frame()) == {}
    bench.write(("MODIFY", host(DST, 0, forward(3))))
    assert bench.run(0, frame(), frame()) == {3: [frame(), frame()]}
    bench.write(("DELETE", host(DST, 0, "")))
    assert bench.run(0, frame()) == {}
    (cell,) = bench.read("counter_entry { counter_id: $arrivals index { index: 0 } }")
    assert (cell.counter_entry.data.packet_count, cell.counter_entry.data.byte_count) == (5, 300)
    seen = bench.read("register_entry { register_id: $seen }")
    assert [entity.register_entry.data.bitstring for entity in seen][:3] == [b"\x05", b"\x01", b"\x00"]


def test_what_is_read_is_what_was_written(bench: Bench) -> None:
    bench.write(("INSERT", host(DST, 0, forward(2))))
    (entity,) = bench.read("table_entry { table_id: $hosts }")
    assert entity == bench.entity(host(b"\x02\x00\x00\x00\x00\xaa", 0, forward(2)))


def test_the_default_entry_decides_too(bench: Bench) -> None:
    default = "table_entry { table_id: $hosts is_default_action: true "
    bench.write(("MODIFY", default + forward(1) + "}"))
    assert bench.run(0, frame()) == {1: [frame()]}
    bench.write(("MODIFY", default + "}"))
    assert bench.run(0, frame()) == {}


def test_multicast(bench: Bench) -> None:
    group = "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 5 %s } }"
    bench.write(
        ("INSERT", group % "replicas { egress_port: 1 instance: 7 } replicas { egress_port: 3 instance: 258 }"),
        ("INSERT", host(DST, 0, FLOOD)),
    )
    out = bench.run(0, frame())
    assert out == {1: [frame(src=bytes(5) + b"\x07")], 3: [frame(src=bytes(4) + b"\x01\x02")]}
    bench.write(("MODIFY", group % "replicas { egress_port: 2 }"))
    assert bench.run(0, frame()) == {2: [frame()]}
    assert len(bench.read(group % "")) == 1
    bench.write(("DELETE", group % ""))
    assert bench.run(0, frame()) == {}


def test_longest_prefix_and_direct_counters(bench: Bench) -> None:
    def route(value: bytes, prefix_len: int, action: str) -> str:
        key = f'match {{ field_id: 1 lpm {{ value: "{text_of(value)}" prefix_len: {prefix_len} }} }}'
        return f"table_entry {{ table_id: $routes {key} {action} }}"

    bench.write(
        ("INSERT", route(bytes([10, 0, 0, 0]), 8, forward(1))),
        ("INSERT", route(bytes([10, 1, 0, 0]), 16, forward(2))),
        ("INSERT", f"table_entry {{ table_id: $routes {forward(3)} }}"),
    )
    assert list(bench.run(0, ipv4_frame("10.9.9.9"))) == [1]
    assert list(bench.run(0, ipv4_frame("10.1.9.9"), ipv4_frame("10.1.0.0"))) == [2]
    assert list(bench.run(0, ipv4_frame("11.1.9.9"))) == [3]
    counts = {
        tuple(m.lpm.prefix_len for m in e.direct_counter_entry.table_entry.match): e.direct_counter_entry.data
        for e in bench.read("direct_counter_entry { table_entry { table_id: $routes } }")
    }
    assert {key: (data.packet_count, data.byte_count) for key, data in counts.items()} == {
        (8,): (1, 60),
        (16,): (2, 120),
        (): (1, 60),
    }
    key = route(bytes([10, 1, 0, 0]), 16, "")
    bench.write(("MODIFY", f"direct_counter_entry {{ {key} data {{ packet_count: 9 }} }}"))
    (entity,) = bench.read(route(bytes([10, 1, 0, 0]), 16, "counter_data {}"))
    assert entity.table_entry.counter_data.packet_count == 9
    assert list(bench.run(0, ipv4_frame("10.1.9.9"))) == [2]


def test_ternary_priorities(bench: Bench) -> None:
    def entry(value: bytes, mask: bytes, priority: int, action: str) -> str:
        key = f'match {{ field_id: 1 ternary {{ value: "{text_of(value)}" mask: "{text_of(mask)}" }} }}'
        key += ' match { field_id: 2 exact { value: "\\x12\\x34" } }'
        return f"table_entry {{ table_id: $filter {key} priority: {priority} {action} }}"

    bench.write(
        ("INSERT", host(DST, 0, forward(2))),
        ("INSERT", entry(b"\x0b", b"\x0f", 1, DROP)),
        ("INSERT", entry(b"\xbb", b"\xff", 2, "action { action { action_id: $NoAction } }")),
    )
    assert bench.run(0, frame(src=bytes(5) + b"\x2b")) == {}
    assert list(bench.run(0, frame())) == [2]


def test_constant_entries_are_shown_and_stay(bench: Bench) -> None:
    entries = bench.read("table_entry { table_id: $fixed }")
    assert [(e.table_entry.match[0].exact.value, e.table_entry.is_const) for e in entries] == [
        (b"\x88\xcc", True),
        (b"\x86\xdd", True),
    ]
    with pytest.raises(BatchError) as caught:
        bench.write(("DELETE", 'table_entry { table_id: $fixed match { field_id: 1 exact { value: "\\x88\\xcc" } } }'))
    assert caught.value.errors[0] is not None
    assert caught.value.errors[0].code == Code.PERMISSION_DENIED


def test_a_full_table(bench: Bench) -> None:
    updates = [("INSERT", host(number.to_bytes(6, "big"), 0, forward(1))) for number in range(65)]
    with pytest.raises(BatchError) as caught:
        bench.write(*updates)
    assert [e and e.code for e in caught.value.errors] == [None] * 64 + [Code.RESOURCE_EXHAUSTED]


def test_registers_can_be_written(bench: Bench) -> None:
    bench.write(("MODIFY", 'register_entry { register_id: $seen index { index: 0 } data { bitstring: "\\xff\\xff" } }'))
    bench.run(0, frame())
    (entity,) = bench.read("register_entry { register_id: $seen index { index: 0 } }")
    assert entity.register_entry.data.bitstring == b"\x01\x00\x00"


def test_a_new_program_starts_empty_and_a_reconciled_one_does_not(bench: Bench) -> None:
    bench.write(("INSERT", host(DST, 0, forward(2))))
    bench.run(0, frame())
    bench.set_pipeline("RECONCILE_AND_COMMIT", {"REGISTER_SIZE": "32"})
    assert list(bench.run(0, frame())) == [2]
    cells = bench.read("register_entry {}")
    assert (len(cells), cells[0].register_entry.data.bitstring) == (32, b"\x02")
    bench.set_pipeline("VERIFY_AND_COMMIT")
    assert bench.run(0, frame()) == {}
    assert len(bench.read("table_entry {}")) == 2


def test_the_given_p4info_must_be_the_programs(bench: Bench) -> None:
    bench.set_pipeline("VERIFY", p4info=bench.p4info)
    with pytest.raises(RequestError, match=r"register MyIngress\.seen has size 16 in the P4Info given and 32"):
        bench.set_pipeline("VERIFY", {"REGISTER_SIZE": "32"}, p4info=bench.p4info)


@pytest.mark.parametrize("program", ["router.p4", "allreduce.p4"])
def test_every_table_of_our_programs(program: str) -> None:
    """An entry with the largest values the widths allow goes in, is read back the same, and goes."""
    bench = Bench("llvm", find_program(program))
    for table in bench.p4info.tables:
        actions = {action.preamble.id: action for action in bench.p4info.actions}
        entry = p4rt.TableEntry(table_id=table.preamble.id)
        for field in table.match_fields:
            largest = encode((1 << field.bitwidth) - 1)
            match = entry.match.add(field_id=field.id)
            if field.match_type == p4info_pb2.MatchField.LPM:
                match.lpm.value, match.lpm.prefix_len = largest, field.bitwidth
            else:
                match.exact.value = largest
        action = actions[table.action_refs[0].id]
        entry.action.action.action_id = action.preamble.id
        for parameter in action.params:
            entry.action.action.params.add(param_id=parameter.id, value=encode((1 << parameter.bitwidth) - 1))
        text = text_format.MessageToString(p4rt.Entity(table_entry=entry))
        bench.write(("INSERT", text))
        assert bench.read(f"table_entry {{ table_id: {table.preamble.id} }}") == [p4rt.Entity(table_entry=entry)]
        bench.write(("DELETE", text))
        assert bench.read("table_entry {}") == []


@pytest.mark.parametrize(
    ("source", "complaints"),
    [
        ("nonsense", ["p.p4:1:1: error:"]),
        ('#include "/etc/passwd"\n', ["p.p4:1:", "/etc/passwd: no such file"]),
        ('#include "../../../../../../../../../../etc/passwd"\n', ["no such file"]),
        ("#include <core.p4>\n#include <nothing.p4>\n", ["p.p4:2:", "nothing.p4: no such file"]),
    ],
)
def test_programs_that_do_not_compile(bench: Bench, source: str, complaints: Sequence[str]) -> None:
    request = SET(action=SET.VERIFY)
    request.election_id.low = 1
    request.config.p4_device_config = make_package(source)
    with pytest.raises(RequestError) as caught:
        bench.device.set_pipeline(request)
    assert caught.value.code == Code.INVALID_ARGUMENT
    for complaint in complaints:
        assert complaint in caught.value.message
    assert "root:" not in caught.value.message


def test_no_way_out_by_our_include_folders() -> None:
    """An include that begins with the path of core.p4's folder and then climbs."""
    from emulator.p4.frontend import CORE_FOLDER

    climb = f"{CORE_FOLDER}/../../../../../../../../../../../../etc/passwd"
    package = Package("p.p4", {"p.p4": f'#include "{climb}"\n'.encode()})
    with pytest.raises(Exception, match="no such file"):
        compile_config(package)
    assert PackageReader(package)(climb) is None


def test_a_program_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import emulator.p4.frontend

    monkeypatch.setenv("NETSUM_CACHE", str(tmp_path))
    package = unpack(pack(PROGRAM, {"REGISTER_SIZE": "17"}))
    first = compile_config(package)
    monkeypatch.delattr(emulator.p4.frontend, "compile_source")
    assert compile_config(package).p4info == first.p4info
    (cached,) = (tmp_path / "programs").glob("*.program")
    cached.write_bytes(b"junk")
    with pytest.raises(ImportError):
        compile_config(package)
