"""Scripts of faults: what is read, and errors with line, field and suggestion."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.network.faults.files import FaultFileError, parse_faults, read_faults
from emulator.network.faults.parts import Down, Impair, Kill, Partition, Restart, Slow
from emulator.network.topology.builders import star, tree
from emulator.ports.units import TIME_UNITS_NS

MS = TIME_UNITS_NS["ms"]


def test_the_example_of_the_documentation_is_read() -> None:
    import emulator.network.faults.files as files

    assert files.__doc__ is not None
    script = parse_faults(files.__doc__.split("\n\n")[1], star(4))
    assert script.seed == 7
    impair, down, partition, slow, switch, controller, kill = (fault.kind for fault in script.faults)
    assert isinstance(impair, Impair)
    assert set(impair.links) == {"h0->s0", "s0->h0"}
    assert impair.fields == (("loss", 0.05), ("duplicate", 0.01))
    assert down == Down("h1->s0", ("h1->s0",))
    assert isinstance(partition, Partition)
    assert sorted(partition.links) == ["h0->s0", "h1->s0", "s0->h0", "s0->h1"]
    assert (slow, switch, controller) == (Slow("h2", 0.25), Restart("s0"), Restart("controller"))
    assert kill == Kill("h3")
    times = [(fault.begin_ns // MS, fault.end_ns and fault.end_ns // MS) for fault in script.faults]
    assert times == [(1000, 3000), (2000, 2500), (3000, 3500), (4000, 5000), (5000, 5000), (6000, 7000), (7000, None)]


def test_a_part_of_a_tree_is_cut_off_at_its_uplink() -> None:
    (fault,) = parse_faults("faults: [{at: 0s, partition: [s0, h0, h1]}]", tree((2, 2))).faults
    assert isinstance(fault.kind, Partition)
    assert sorted(fault.kind.links) == ["root->s0", "s0->root"]


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("{at: 1s, down: h9-s0}", r"faults\[0\].down: there is no link 'h9-s0' in star-2 \(did you mean"),
        ("{at: 1s, down: uplink}", r"no link 'uplink' in star-2; there are h0-s0, s0-h0"),
        ("{at: 1s, kill: rank 2}", r"faults\[0\].kill: there is no host 'rank 2' in star-2 \(did you mean 'rank [01]'"),
        ("{at: 1s, restart: s1}", r"there is no switch 's1' in star-2; there are s0, controller"),
        ("{at: 1s, partition: [h0, x]}", r"faults\[0\].partition\[1\]: there is no node 'x'"),
        ("{at: 1s, partition: [h0, h1, s0]}", r"no link leads from these nodes to others"),
        ("{at: 1, down: h0-s0}", r"faults\[0\].at: '1' is not a number with one of the units ns, us, ms, s"),
        ("{at: -1s, down: h0-s0}", r"faults\[0\].at: '-1s' is not"),
        ("{down: h0-s0}", r"faults\[0\]: at is missing"),
        ("{at: 1s, dwn: h0-s0}", r"faults\[0\]: it does not say what happens \(did you mean 'down'\?\)"),
        ("{at: 1s, down: h0-s0, kill: h1}", r"down and kill are two faults"),
        ("{at: 1s, impair: h0-s0}", r"it does not say how; add one of loss"),
        ("{at: 1s, impair: h0-s0, los: 1%}", r"unknown field 'los' \(did you mean 'loss'\?\)"),
        ("{at: 1s, impair: h0-s0, loss: 200%}", r"faults\[0\].loss: bad loss '200%'; give a probability"),
        ("{at: 1s, slow: h0}", r"to is missing"),
        ("{at: 1s, slow: h0, to: 0%}", r"faults\[0\].to: a host that never runs again: add for"),
        ("{at: 1s, slow: h0, to: 2}", r"faults\[0\].to: '2': write a share from 0 to 1"),
        ("{at: 1s, kill: h0, for: 1s}", r"unknown field 'for'"),
        ("[1]", r"faults\[0\]: this has to be fields with values"),
    ],
)
def test_a_wrong_event_is_named_with_its_line(line: str, wrong: str) -> None:
    with pytest.raises(FaultFileError, match=rf"^net:2: .*{wrong}"):
        parse_faults(f"faults:\n- {line}\n", star(2), "net")


@pytest.mark.parametrize(
    ("text", "wrong"), [("", "empty"), ("a: [", "neither YAML"), ("seed: -1\nfaults: []", "negat")]
)
def test_a_wrong_document_is_named(text: str, wrong: str) -> None:
    with pytest.raises(FaultFileError, match=wrong):
        parse_faults(text, star(2))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FaultFileError, match=r"none.yaml: No such file"):
        read_faults(tmp_path / "none.yaml", star(2))
