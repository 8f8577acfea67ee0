"""Captures that are written: links and directions of one file, its bound, a further section, simulated frames."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emulator.network.simulation import End, Simulation
from emulator.ports.batch import frame_at
from emulator.ports.errors import PortError
from emulator.ports.loop.runner import SwitchRunner
from emulator.ports.opening import make_switch_bell, open_switch_ports
from emulator.ports.pcap.capture import read_capture
from emulator.ports.pcap.writer import IN, OUT, CaptureWriter
from emulator.ports.spec import parse_ports
from tests.programs.captures import write_capture
from tests.programs.forwarder import Forwarder

Found = list[tuple[int, str, int, bytes]]


def read(path: Path) -> Found:
    """(time_ns, link, direction, frame) of each."""
    capture = read_capture(str(path))
    return [
        (int(r["time_ns"]), capture.interfaces[r["interface"]], int(r["direction"]),
         frame_at(int(r["address"]), int(r["length_bytes"])))
        for r in capture.records
    ]  # fmt: skip


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "out.pcapng"
    wanted = [(n * 77, f"h{n % 3}-s1", (IN, OUT)[n % 2], bytes([n % 256]) * (1 + n % 1500)) for n in range(3000)]
    with CaptureWriter(str(path)) as writer:
        for each in wanted:
            assert writer.write(*each)
        assert writer.statistics()["frames"] == 3000
    assert path.stat().st_size == writer.statistics()["bytes"]
    assert read(path) == wanted


def test_the_classic_format_by_the_files_name(tmp_path: Path) -> None:
    path = tmp_path / "out.pcap"
    with CaptureWriter(str(path)) as writer:
        writer.write(5, "left", OUT, b"a" * 60)
    assert path.read_bytes()[:4] == bytes.fromhex("4d3cb2a1")
    assert read(path) == [(5, "", 0, b"a" * 60)]


def test_a_full_file_ends_and_says_so_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "out.pcapng"
    with CaptureWriter(str(path), limit_bytes=1000) as writer:
        taken = [writer.write(n, "left", IN, bytes(100)) for n in range(20)]
        small = writer.write(20, "left", IN, bytes(14))
    assert 0 < sum(taken) < 20
    assert taken == sorted(taken, reverse=True)
    assert not small
    assert writer.statistics()["left_out"] == 21 - sum(taken)
    assert writer.statistics()["is_full"]
    assert path.stat().st_size <= 1000
    assert len(read(path)) == sum(taken)
    assert caplog.text.count("is full: 1000 bytes") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_counted_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with CaptureWriter(str(tmp_path / "out.pcapng")) as writer:
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, writer._descriptor)
        os.close(full)
        assert writer.write(1, "left", IN, bytes(60))
    assert (writer.statistics()["frames"], writer.statistics()["left_out"]) == (0, 1)
    assert "No space left" in caplog.text


def test_a_further_section_after_an_end_within_a_block(tmp_path: Path) -> None:
    path = tmp_path / "out.pcapng"
    for content in (b"a" * 60, b"b" * 60):
        with CaptureWriter(str(path), append=True) as writer:
            writer.write(1, "left", IN, content)
            writer.write(2, "right", OUT, content)
        os.truncate(path, path.stat().st_size - 5)  # as of a process that was killed
    assert read(path) == [(1, "left", IN, b"a" * 60), (1, "left", IN, b"b" * 60)]


def test_only_pcapng_has_sections(tmp_path: Path) -> None:
    with pytest.raises(PortError, match=r"only a pcapng file has sections"):
        CaptureWriter(str(tmp_path / "out.pcap"), append=True)
    with pytest.raises(PortError, match=r"cannot write .*No such file"):
        CaptureWriter(str(tmp_path / "nowhere" / "out.pcapng"))


def test_all_ports_of_a_switch_in_one_file(tmp_path: Path) -> None:
    """In the time of the files; the second port loses half of what goes out behind the capture."""
    sent = [(1000 * n, bytes([n]) * 60) for n in range(1, 100)]
    write_capture(tmp_path / "in.pcap", sent)
    specs = parse_ports([f"1=pcap:{tmp_path}/in.pcap", f"2=pcap:,{tmp_path}/out.pcapng?loss=0.5&seed=3"])
    forwarder, bell = Forwarder({1: 2}), make_switch_bell(specs)
    ports = open_switch_ports(specs, forwarder.table, bell)
    with CaptureWriter(str(tmp_path / "all.pcapng")) as writer:
        for port in ports:
            port.capture_into(writer)
        SwitchRunner(forwarder, ports, bell).run()
        for port in ports:
            port.close()
    bell.close()
    found = read(tmp_path / "all.pcapng")
    assert [(t, f) for t, link, way, f in found if (link, way) == ("port 1", IN)] == sent
    assert [(t, f) for t, link, way, f in found if (link, way) == ("port 2", OUT)] == sent
    assert len(found) == 2 * len(sent)
    left = [(t, f) for t, _, _, f in read(tmp_path / "out.pcapng")]
    assert set(left) < set(sent)
    assert len(left) < len(sent)


def test_links_in_virtual_time(tmp_path: Path) -> None:
    """A node of a simulation that writes what it gets and sends; the same file every time."""
    for name in ("a", "b"):
        with CaptureWriter(str(tmp_path / f"{name}.pcapng")) as writer:
            network = Simulation(lambda end, frame, now_ns, origin: None)
            network.add("s1", lambda frame, port, now_ns, origin: [(2, frame[::-1])])
            network.capture(writer)
            network.inject(End("s1", 1), b"abc" * 20, 0)
    assert read(tmp_path / "a.pcapng") == [(0, "s1 port 1", IN, b"abc" * 20), (0, "s1 port 2", OUT, b"cba" * 20)]
    assert (tmp_path / "a.pcapng").read_bytes() == (tmp_path / "b.pcapng").read_bytes()
