"""What people may write for a port, and how it is refused."""

from __future__ import annotations

import pytest

from emulator.ports.errors import PortError
from emulator.ports.spec import OPTIONS, Impairments, PortKind, parse_impairments, parse_port, parse_ports


def test_shm_port() -> None:
    spec = parse_port("3=shm:job-1")
    assert (spec.number, spec.kind, spec.name) == (3, PortKind.SHM, "job-1")
    assert spec.inbound is None
    assert spec.outbound is None
    assert str(spec) == "3=shm:job-1"


def test_udp_port_with_and_without_remote() -> None:
    both = parse_port("0=udp:127.0.0.1:9001,host.example:9002")
    assert both.local == ("127.0.0.1", 9001)
    assert both.remote == ("host.example", 9002)
    assert str(both) == "0=udp:127.0.0.1:9001,host.example:9002"
    assert parse_port("0=udp:127.0.0.1:0").remote is None


def test_udp_port_over_ipv6() -> None:
    spec = parse_port("udp:[::1]:7,[fe80::1]:8", numbered=False)
    assert (spec.local, spec.remote) == (("::1", 7), ("fe80::1", 8))
    assert str(spec) == "udp:[::1]:7,[fe80::1]:8"


def test_impairments_of_both_directions() -> None:
    spec = parse_port(
        "1=shm:a?rate=100Mbit&delay=1.5ms&jitter=20us&loss=0.3&duplicate=5%&reorder=0.1&reorder_by=3ms"
        "&corrupt=1&seed=7&queue=50"
    )
    expected = Impairments(100_000_000, 1_500_000, 20_000, 0.3, 0.05, 0.1, 3_000_000, 1.0, 7, 50)
    assert spec.inbound == expected
    assert spec.outbound == expected


@pytest.mark.parametrize(("direction", "inbound", "outbound"), [("in", True, False), ("out", False, True)])
def test_impairments_of_one_direction(direction: str, inbound: bool, outbound: bool) -> None:
    spec = parse_port(f"1=shm:a?loss=0.5&direction={direction}")
    assert (spec.inbound is not None, spec.outbound is not None) == (inbound, outbound)


def test_impairments_that_do_nothing_are_none() -> None:
    assert parse_port("1=shm:a?seed=3&loss=0").inbound is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("shm:a", "no port number before 'shm:a'"),
        ("x=shm:a", "bad port number 'x'"),
        ("512=shm:a", "bad port number '512'"),
        ("-1=shm:a", "bad port number '-1'"),
        ("1=sctp:a", "unknown kind 'sctp'"),
        ("1=shm", "nothing after 'shm'"),
        ("1=shm:", "nothing after 'shm'"),
        ("1=shm:a/b", "bad name 'a/b'"),
        ("1=udp:9001", "'9001' is not HOST:PORT"),
        ("1=udp:h:x", "bad port 'x'"),
        ("1=udp:h:65536", "bad port '65536'"),
        ("1=udp:h:1,h:0", "remote port 0 in 'h:0'"),
        ("1=udp:h:1,h:2,h:3", "3 addresses"),
        ("1=shm:a?los=0.3", "unknown option 'los'"),
        ("1=shm:a?loss", "'loss' has no value"),
        ("1=shm:a?loss=1.5", "bad loss '1.5'"),
        ("1=shm:a?loss=-1", "bad loss '-1'"),
        ("1=shm:a?loss=130%", "bad loss '130%'"),
        ("1=shm:a?delay=5", "bad delay '5'"),
        ("1=shm:a?rate=100MB", "bad rate '100MB'"),
        ("1=shm:a?direction=up", "bad direction 'up'"),
        ("1=shm:a?seed=x", "bad seed 'x'"),
        ("1=shm:a?queue=0", "bad queue '0'"),
    ],
)
def test_a_bad_port_is_refused_by_its_bad_part(text: str, problem: str) -> None:
    with pytest.raises(PortError) as caught:
        parse_port(text)
    assert str(caught.value).startswith(f"port {text!r}: {problem}; ")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("loss=150%", "bad loss '150%'; give a probability from 0 to 1, such as 0.3 or 30%"),
        ("loss=1&start=2s", f"unknown option 'start'; the options are {', '.join(OPTIONS)}"),
    ],
)
def test_bad_impairments_alone_are_refused_without_a_port(text: str, why: str) -> None:
    with pytest.raises(PortError) as caught:
        parse_impairments(text)
    assert str(caught.value) == why


def test_a_number_given_twice_is_refused() -> None:
    with pytest.raises(PortError, match="port number 1 is already '1=shm:a'"):
        parse_ports(["1=shm:a", "1=shm:b"])


def test_an_address_given_twice_is_refused() -> None:
    with pytest.raises(PortError, match="its address is already '1=shm:a'"):
        parse_ports(["1=shm:a", "2=shm:a?loss=0.1"])
    with pytest.raises(PortError, match="its address is already"):
        parse_ports(["1=udp:h:1", "2=udp:h:1,x:2"])
    assert len(parse_ports(["1=udp:h:0", "2=udp:h:0"])) == 2
