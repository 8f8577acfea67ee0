"""What a recording of a switch's inputs says of frames that left another switch."""

from __future__ import annotations

from pathlib import Path

from emulator.harness.egress_rings import Rings
from emulator.harness.replay import Recording
from emulator.v1model.compiled import load
from tests.programs.text import program

APPLY = "if (hdr.one.a == 1) { sm.egress_spec = 2; } else { sm.egress_spec = 3; hdr.one.setInvalid(); }"


def test_a_frame_of_unknown_origin_has_the_headers_of_the_most_similar_one(tmp_path: Path) -> None:
    path = tmp_path / "p.p4"
    path.write_text(program(apply=APPLY))
    loaded, rings, recording = load(str(path), engine="interpreter"), Rings(), Recording()
    recording.arrive(0, b"\x01\x02\x03\x04", 1)
    recording.arrive(0, b"\x09\x02\x03\x04\xaa", 2)

    def headers(port: int, content: bytes) -> list[str] | None:
        left = recording.similar_frame(port, content, loaded, rings)
        return None if left is None else [header.name for header in left.headers]

    assert headers(2, b"\x01\x02\x03\x04") == ["hdr.one"]
    assert headers(2, b"\x01\xff\x03\x04") == ["hdr.one"]  # of the same length
    assert headers(3, b"\xaa") == []
    assert headers(2, b"\x01") is None
    assert headers(9, b"\xaa") is None
