"""``netsum dissector``, and what ``netsum switch`` says of captures that it cannot make."""

from __future__ import annotations

from pathlib import Path

from hostagent.cli.run_report import _of_capture
from hostagent.protocol.wireshark import lua_source
from tests.clients.command import netsum


def test_the_dissector_on_standard_output_and_in_a_file(tmp_path: Path) -> None:
    assert netsum("dissector").output == lua_source()
    assert netsum("dissector", "-o", str(tmp_path / "netsum.lua")).exit_code == 0
    assert (tmp_path / "netsum.lua").read_text() == lua_source()
    refused = netsum("dissector", "-o", str(tmp_path / "nowhere" / "netsum.lua"))
    assert refused.exit_code == 1
    assert "No such file" in refused.output


def test_a_capture_of_the_classic_format_is_refused() -> None:
    refused = netsum("switch", "router.p4", "--capture", "all.pcap")
    assert refused.exit_code == 2
    assert "name the file *.pcapng" in refused.output


def test_what_is_said_of_a_capture() -> None:
    found = {"file": "x.pcapng", "frames": 12, "interfaces": 2, "left_out": 0, "is_full": False}
    assert _of_capture(found) == "x.pcapng has 12 frames of 2 ports"
    assert "full: 3 later ones are not in it; see --capture-size" in _of_capture(
        {**found, "left_out": 3, "is_full": True}
    )
    assert _of_capture({**found, "left_out": 3}).endswith("; 3 could not be written")
