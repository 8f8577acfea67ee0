"""The dissector for Wireshark: every field of every kind of frame as tshark shows it, filters, wrong frames."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.ports.pcap.writer import IN, OUT, CaptureWriter
from hostagent.protocol.dissector import Netsum
from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.wire import HEADER, HEADER_AT, NETSUM_VERSION, Header, Kind, Operator
from hostagent.protocol.wireshark import AFTER_HEADER, lua_source

TSHARK = shutil.which("tshark")
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="needs tshark")
TO = Addresses(0x02_00_00_00_00_01, 0x02_00_00_00_00_02, 0x0A000001, 0x0A0000FE)
PACKET, ENVELOPE, SEEN = 4_000_000_001, (1 << 62 | 7, 90_000, 0xDEADBEEF, 0xCAFE), bytes(range(32))


def header(kind: Kind, operator: Operator = Operator.SUM, *, flags: int = 0, operation: int = 0xFEDCBA98) -> Header:
    peer = 9 if kind in (Kind.MESSAGE, Kind.ACKNOWLEDGEMENT) else 0
    return Header(
        kind=kind,
        job=515,
        child=3,
        epoch=4_000_000_000,
        chunk=4_294_967_295,
        operation=operation,
        operator=operator,
        flags=flags,
        peer=peer,
        version=NETSUM_VERSION,
    )


def lanes(*values: int) -> Any:
    return np.array(values, np.int64).astype(np.uint32)


FRAMES = {
    "contribution": Frame(TO, header(Kind.CONTRIBUTION), lanes(1, -2, 2**31 - 1, -(2**31))),
    "no data": Frame(TO, header(Kind.CONTRIBUTION, flags=1), checksum=True),
    "result": Frame(TO, header(Kind.RESULT, Operator.MAX), lanes(*range(-100, 100)), checksum=True),
    "waiting": Frame(TO, header(Kind.WAITING), lanes(0x80000001, 0x00000005, 77, 78)),
    "error": Frame(TO, header(Kind.ERROR), lanes(0xFFFFFFFF, 12, 3, 515, 99)),
    "served": Frame(TO, header(Kind.RESULT, Operator.SERVED), lanes(5)),
    "announce": Frame(TO, header(Kind.CONTRIBUTION, Operator.ANNOUNCE), lanes(6, 7)),
    "envelope": Frame(
        TO, header(Kind.MESSAGE, operation=0), payload=struct.pack(">IQQII", PACKET, *ENVELOPE) + b"bytes"
    ),
    "fragment": Frame(TO, header(Kind.MESSAGE, operation=12), payload=struct.pack(">I", PACKET) + b"more"),
    "acknowledgement": Frame(
        TO, header(Kind.ACKNOWLEDGEMENT, operation=4), payload=SEEN + struct.pack(">IIII", 1, 2, 3, 0)
    ),
}


def capture(folder: Path, contents: list[bytes]) -> Path:
    with CaptureWriter(str(folder / "frames.pcapng")) as writer:
        for number, content in enumerate(contents):
            writer.write(number + 5, f"link {number % 2}", (IN, OUT)[number % 2], content)
    return folder / "frames.pcapng"


def tshark(path: Path, *words: str) -> str:
    (path.parent / "netsum.lua").write_text(lua_source())
    assert TSHARK is not None
    command = [TSHARK, "-X", f"lua_script:{path.parent}/netsum.lua", "-r", str(path), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Lua" not in done.stderr, done.stderr
    return done.stdout


def dissected(path: Path) -> list[dict[str, list[str]]]:
    """Every field of every frame, at any depth, with all its values."""
    packets = json.loads(tshark(path, "-T", "json", "--no-duplicate-keys"))
    return [_flat(packet["_source"]["layers"], {}) for packet in packets]


def _flat(tree: Any, found: dict[str, list[str]]) -> dict[str, list[str]]:
    for name, value in tree.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                _flat(each, found)
            else:
                found.setdefault(name, []).append(each)
    return found


def wanted(frame: Frame) -> dict[str, list[Any]]:
    """What the fields after the header must be."""
    signed = frame.lanes.astype(np.int32).tolist()
    kind, payload = frame.header.kind, frame.payload
    if kind == Kind.WAITING:
        bitmap = int(frame.lanes[0]) << 32 | int(frame.lanes[1])
        children = ", ".join(str(child) for child in range(64) if bitmap >> child & 1)
        return {"waiting.bitmap": [bitmap], "waiting.children": [children], "lane": signed[2:]}
    if kind == Kind.ERROR:
        names = ("first_operation", "other_operation", "first_child", "other_child")
        named: dict[str, list[Any]] = {
            f"error.{name}": [int(lane)] for name, lane in zip(names, frame.lanes, strict=False)
        }
        return {**named, "lane": signed[4:]}
    if kind == Kind.MESSAGE and frame.header.operation == 0:
        names = ("tag", "length", "agreement", "call")
        envelope: dict[str, list[Any]] = {
            f"message.{name}": [value] for name, value in zip(names, ENVELOPE, strict=True)
        }
        return {"message.packet": [PACKET], **envelope, "message.data": [payload[28:]]}
    if kind == Kind.MESSAGE:
        return {"message.packet": [PACKET], "message.data": [payload[4:]]}
    if kind == Kind.ACKNOWLEDGEMENT:
        return {
            "acknowledgement.seen": [SEEN],
            "acknowledgement.grant.message": [1, 3],
            "acknowledgement.grant.end": [2, 0],
        }
    return {"lane": signed[:64]} if signed else {}


def read(text: str, like: int | bytes | str) -> int | bytes | str:
    if isinstance(like, bytes):
        return bytes.fromhex(text.replace(":", ""))
    return text if isinstance(like, str) else int(text, 0)


@needs_tshark
def test_every_field_is_what_was_written(tmp_path: Path) -> None:
    """With the scapy layer's line about each."""
    path = capture(tmp_path, [build_frame(frame) for frame in FRAMES.values()])
    shown = dissected(path)
    lines = tshark(path, "-T", "fields", "-e", "_ws.col.Info").splitlines()
    for number, (name, frame) in enumerate(FRAMES.items()):
        found, about = shown[number], f"{name}: {shown[number]}"
        written = replace(frame.header, lanes=len(frame.lanes))
        for field in HEADER:
            assert [int(text, 0) for text in found[f"netsum.{field.name}"]] == [getattr(written, field.name)], about
        assert found["netsum.flags.no_data"] == [str(written.flags & 1)], about
        assert found["netsum.flags.short_result"] == [str(written.flags >> 1 & 1)], about
        expected = wanted(frame)
        names = {f"netsum.{each}" for each in expected}
        others = {f"netsum.{each}" for each, *_ in AFTER_HEADER} | {"netsum.lane"}
        assert {each for each in found if each in others} == names, about
        for each, values in expected.items():
            texts = found[f"netsum.{each}"]
            assert [read(text, values[0]) for text in texts] == values, about
        assert "_ws.expert" not in str(found), about
        assert found["frame.interface_name"] == [f"link {number % 2}"]
        assert found["frame.packet_flags_direction"] == [f"0x{(IN, OUT)[number % 2]:08x}"]
        assert lines[number] == Netsum(build_frame(frame)[HEADER_AT:]).mysummary()


@needs_tshark
@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("netsum.kind == 2", ["waiting"]),
        ('netsum.kind == "error" && netsum.error.other_child == 515', ["error"]),
        ("netsum.flags.no_data == 1", ["no data"]),
        ("netsum.lane == -2", ["contribution"]),
        ("netsum.message.length > 80000", ["envelope"]),
        ("netsum.operator == 2 || netsum.peer == 9", ["served", "envelope", "fragment", "acknowledgement"]),
    ],
)
def test_filters(tmp_path: Path, expression: str, names: list[str]) -> None:
    path = capture(tmp_path, [build_frame(frame) for frame in FRAMES.values()])
    numbers = tshark(path, "-Y", expression, "-T", "fields", "-e", "frame.number").split()
    assert [list(FRAMES)[int(number) - 1] for number in numbers] == names


@needs_tshark
def test_the_number_of_lanes_shown_is_a_preference(tmp_path: Path) -> None:
    path = capture(tmp_path, [build_frame(FRAMES["result"])])
    for shown, found in (("64", ""), ("200", "1")):
        words = ("-o", f"netsum.lanes_shown:{shown}", "-Y", "netsum.lane == 99", "-T", "fields", "-e", "frame.number")
        assert tshark(path, *words).strip() == found


def changed(frame: Frame, at: int, value: int) -> bytes:
    content = bytearray(build_frame(frame))
    content[HEADER_AT + at] = value
    return bytes(content)


@needs_tshark
def test_wrong_frames_are_marked(tmp_path: Path) -> None:
    full, message = FRAMES["contribution"], header(Kind.MESSAGE)
    wrong = [
        (changed(full, 0, 3), "netsum.version.unknown", "Version 3, not 2"),
        (changed(full, 1, 9), "netsum.kind.unknown", "Unknown kind"),
        (changed(full, 9, 5), "netsum.length.wrong", "16 bytes follow the header, not 20"),
        (build_frame(Frame(TO, message, payload=b"abc")), "netsum.length.wrong", "3 bytes follow the header, not 4 or"),
        (
            build_frame(Frame(TO, header(Kind.ACKNOWLEDGEMENT), payload=bytes(52))),
            "netsum.length.wrong",
            "52 bytes follow the header, not 48",
        ),
        (build_frame(Frame(TO, header(Kind.WAITING))), "", ""),
    ]
    for (_, expert, text), found in zip(wrong, dissected(capture(tmp_path, [each[0] for each in wrong])), strict=True):
        assert bool(expert) == ("_ws.expert.message" in found), found
        if expert:
            assert expert in found
            assert text in found["_ws.expert.message"][0]


@needs_tshark
def test_a_frame_too_short_for_the_header(tmp_path: Path) -> None:
    content = bytearray(build_frame(FRAMES["no data"])[: HEADER_AT + 10])
    content[16:18], content[38:40] = (38).to_bytes(2, "big"), (18).to_bytes(2, "big")
    (found,) = dissected(capture(tmp_path, [bytes(content)]))
    assert "10 bytes, the header has 24" in found["_ws.expert.message"]


def test_the_file_names_every_field_and_value() -> None:
    """Also where there is no tshark."""
    text = lua_source()
    for field in HEADER:
        assert f'"netsum.{field.name}"' in text
    for member in (*Kind, *Operator):
        assert f'[{int(member)}] = "{member.name.lower()}"' in text
    assert "$" not in text
