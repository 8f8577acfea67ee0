"""Ports on capture files: what is read, when it is due, what is written, and what is refused."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.errors import PortError
from emulator.ports.loop.runner import SwitchRunner
from emulator.ports.opening import make_switch_bell, open_switch_ports
from emulator.ports.pcap.capture import read_capture
from emulator.ports.pcap.pcap import PcapPort
from emulator.ports.port import SwitchPort
from emulator.ports.spec import parse_port, parse_ports
from tests.programs.captures import read_captured, write_capture
from tests.programs.forwarder import Forwarder

SECOND_NS = 1_000_000_000
EPOCH_NS = 1_700_000_000 * SECOND_NS


def numbered(count: int, gap_ns: int = 1000) -> list[tuple[int, bytes]]:
    return [(EPOCH_NS + index * gap_ns, bytes([index % 256]) * (14 + index % 1000)) for index in range(count)]


def open_port(text: str) -> tuple[PcapPort, TxPortTable]:
    table = TxPortTable()
    return PcapPort(parse_port(text), table), table


def frames_due(port: PcapPort, now_ns: int, most: int = 1 << 30) -> list[bytes]:
    batch = FrameBatch(256)
    port.receive_into(batch, now_ns, most)
    port.release()
    return [frame for _, frame in batch.frames()]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [True, False])
def test_every_kind_of_classic_file_is_read(tmp_path: Path, order: str, nanoseconds: bool) -> None:
    wanted = numbered(20)
    capture = read_capture(str(write_capture(tmp_path / "in.pcap", wanted, order=order, nanoseconds=nanoseconds)))
    assert list(capture.records["time_ns"]) == [time for time, _ in wanted]
    assert list(capture.records["length_bytes"]) == [len(frame) for _, frame in wanted]
    assert (capture.cut_short, capture.incomplete) == (0, False)


def test_frames_come_when_they_are_due_and_not_before(tmp_path: Path) -> None:
    wanted = numbered(3, SECOND_NS)
    port, _ = open_port(f"1=pcap:{write_capture(tmp_path / 'in.pcap', wanted)}")
    assert port.next_timer_ns(0) == EPOCH_NS
    assert frames_due(port, EPOCH_NS - 1) == []
    assert frames_due(port, EPOCH_NS) == [wanted[0][1]]
    assert port.next_timer_ns(EPOCH_NS) == EPOCH_NS + SECOND_NS
    assert frames_due(port, EPOCH_NS + 5 * SECOND_NS, most=1) == [wanted[1][1]]
    assert frames_due(port, EPOCH_NS + 5 * SECOND_NS) == [wanted[2][1]]
    assert port.next_timer_ns(EPOCH_NS + 5 * SECOND_NS) is None
    assert port.statistics().frames_in == 3
    port.close()


def test_frames_out_of_order_keep_the_files_order(tmp_path: Path) -> None:
    frames = [(EPOCH_NS + 5, b"a" * 14), (EPOCH_NS, b"b" * 14), (EPOCH_NS + 9, b"c" * 14)]
    port, _ = open_port(f"1=pcap:{write_capture(tmp_path / 'in.pcap', frames)}")
    assert frames_due(port, EPOCH_NS + 4) == []
    assert frames_due(port, EPOCH_NS + 5) == [b"a" * 14, b"b" * 14]
    port.close()


def test_live_the_first_frame_comes_at_once_and_the_others_as_in_the_file(tmp_path: Path) -> None:
    wanted = numbered(2, SECOND_NS)
    port, _ = open_port(f"1=pcap:{write_capture(tmp_path / 'in.pcap', wanted)}")
    port.go_live()
    assert frames_due(port, 700) == [wanted[0][1]]
    assert port.next_timer_ns(800) == 700 + SECOND_NS
    port.close()


def test_what_goes_out_is_written_with_its_time(tmp_path: Path) -> None:
    output = tmp_path / "out.pcap"
    port, table = open_port(f"1=pcap:,{output}")
    wanted = numbered(5000, 77)
    for time_ns, frame in wanted:
        assert table.append(1, frame)
        assert port.flush(time_ns) == 1
    assert port.statistics().frames_out == 5000
    port.close()
    assert read_captured(output) == wanted


def test_without_an_output_frames_are_dropped_and_counted(tmp_path: Path) -> None:
    port, table = open_port(f"1=pcap:{write_capture(tmp_path / 'in.pcap', [])}")
    table.append(1, bytes(60))
    port.flush(0)
    assert port.statistics().drops == {"unwritten": 1}
    assert port.statistics().frames_out == 0
    port.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_counted_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = TxPortTable()
    port = PcapPort(parse_port(f"1=pcap:,{tmp_path / 'out.pcap'}"), table)
    full = os.open("/dev/full", os.O_WRONLY)
    assert port._writer is not None
    os.dup2(full, port._writer._descriptor)
    os.close(full)
    for _ in range(3):
        table.append(1, bytes(60))
    port.flush(0)
    port.settle()
    table.append(1, bytes(60))
    port.flush(0)
    assert port.statistics().drops == {"unwritten": 4}
    assert port.statistics().frames_out == 0
    assert "No space left" in caplog.text
    port.close()


def header(magic: int = 0xA1B2C3D4, link: int = 1) -> bytes:
    return struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 65535, link)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "0 bytes are too few for a capture file"),
        (header()[:23], "23 bytes are too few"),
        (header(magic=0x12345678), "not a capture file: it begins with 78563412"),
        (header(magic=0x0A0D0D0A), "block at byte 0 begins a section of no byte order"),
        (header(magic=0xA1B2CD34), "editcap -F pcapng"),
        (header(link=113), "link type 113, not Ethernet"),
        (header(link=1 | 1 << 26), "end in their checksums"),
        (header() + struct.pack("<IIII", 0, 0, 1 << 20, 1 << 20), "record at byte 24 says"),
    ],
)
def test_what_is_no_capture_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "in.pcap").write_bytes(content)
    with pytest.raises(PortError, match=problem):
        open_port(f"1=pcap:{tmp_path / 'in.pcap'}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PortError, match=r"cannot read .*No such file"):
        open_port(f"1=pcap:{tmp_path / 'in.pcap'}")
    with pytest.raises(PortError, match=r"cannot write .*No such file"):
        open_port(f"1=pcap:,{tmp_path / 'nowhere' / 'out.pcap'}")


def test_an_incomplete_record_is_left_out_and_a_cut_frame_is_counted(tmp_path: Path) -> None:
    record = struct.pack("<IIII", 1, 0, 20, 1500) + bytes(20)
    (tmp_path / "in.pcap").write_bytes(header() + record + record[:-1])
    port, _ = open_port(f"1=pcap:{tmp_path / 'in.pcap'}")
    assert frames_due(port, 2 * SECOND_NS) == [bytes(20)]
    assert port.statistics().drops == {"incomplete_in_file": 1}
    assert port.statistics().notes == {"cut_short_in_file": 1}
    port.close()


def run_to_the_end(texts: list[str], routes: dict[int, int]) -> list[SwitchPort]:
    forwarder = Forwarder(routes)
    specs = parse_ports(texts)
    bell = make_switch_bell(specs)
    ports = open_switch_ports(specs, forwarder.table, bell)
    SwitchRunner(forwarder, ports, bell).run()
    for port in ports:
        port.close()
    bell.close()
    return ports


def test_a_loop_over_files_ends_with_them_in_their_time(tmp_path: Path) -> None:
    left, right = numbered(3000, SECOND_NS), numbered(1000, 3 * SECOND_NS)
    write_capture(tmp_path / "left.pcap", left)
    write_capture(tmp_path / "right.pcap", right)
    ports = run_to_the_end(
        [f"1=pcap:{tmp_path}/left.pcap,{tmp_path}/1.pcap", f"2=pcap:{tmp_path}/right.pcap,{tmp_path}/2.pcap"],
        {1: 2, 2: 1},
    )
    assert read_captured(tmp_path / "2.pcap") == left
    assert read_captured(tmp_path / "1.pcap") == right
    assert [port.statistics().drops for port in ports] == [{}, {}]


def test_impairments_use_the_files_time_up_to_the_last_frame(tmp_path: Path) -> None:
    frames = numbered(500, 1_000_000)
    write_capture(tmp_path / "in.pcap", frames)
    texts = [
        f"1=pcap:{tmp_path}/in.pcap?delay=5s&direction=in&queue=1000",
        f"2=pcap:,{tmp_path}/out.pcap?loss=0.5&seed=3",
    ]
    _, out = run_to_the_end(texts, {1: 2})
    written = read_captured(tmp_path / "out.pcap")
    assert 150 < len(written) < 350
    assert written == [pair for pair in [(time + 5 * SECOND_NS, frame) for time, frame in frames] if pair in written]
    assert out.statistics().links["out"]["lost"] == 500 - len(written)


def test_the_same_files_give_the_same_files(tmp_path: Path) -> None:
    write_capture(tmp_path / "in.pcap", numbered(300))
    for name in ("a", "b"):
        run_to_the_end([f"1=pcap:{tmp_path}/in.pcap,{tmp_path}/{name}.pcap?loss=0.2&jitter=1ms&seed=9"], {1: 1})
    assert (tmp_path / "a.pcap").read_bytes() == (tmp_path / "b.pcap").read_bytes()


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["1=pcap:a,b,c"], "not two files"),
        (["1=pcap:,"], "not two files"),
        (["1=pcap:a,b", "2=pcap:c,./b"], "already"),
        (["1=pcap:a,b", "2=pcap:b,c"], "which is read too"),
        (["1=pcap:a,a"], "which is read too"),
        (["1=shm:a?start=2s"], "start is for pcap ports"),
        (["1=pcap:a?start=2"], "bad start '2'"),
    ],
)
def test_texts_that_are_refused(texts: list[str], problem: str) -> None:
    with pytest.raises(PortError, match=problem):
        parse_ports(texts)


def test_texts_that_are_taken() -> None:
    spec = parse_port("1=pcap:in.pcap,out.pcap?start=2s&loss=0.1")
    assert (spec.reads, spec.writes, spec.start_ns) == ("in.pcap", "out.pcap", 2 * SECOND_NS)
    assert spec.inbound is not None
    assert str(spec) == "1=pcap:in.pcap,out.pcap"
    parse_ports(["1=pcap:same", "2=pcap:same"])
