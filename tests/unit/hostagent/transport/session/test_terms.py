"""Ranks that are to have certain ports of the aggregator, as where ports are of several racks."""

from __future__ import annotations

import pytest

from hostagent.controller.core.ports import NoPort, PortBook, offer_from
from hostagent.transport.session.terms import PORTS_VARIABLE, SessionError, requested_port

KINDS = ("shm", "udp", "tcp")


def make_book() -> PortBook:
    offers = [offer_from(text) for text in ("1=shm:a", "2=shm:b", "3=tcp:127.0.0.1:9000")]
    return PortBook({offer.number: offer for offer in offers})


def test_a_process_has_the_port_that_it_is_to_have_and_keeps_it() -> None:
    book = make_book()
    assert book.assign(10, KINDS, 3).number == 3
    assert book.assign(11, KINDS, 2).number == 2
    assert book.assign(12, KINDS).number == 1
    assert book.assign(11, KINDS, 1).number == 2


@pytest.mark.parametrize(
    ("wanted", "kinds", "why"),
    [
        (2, KINDS, "requested port 2 is in use by another process"),
        (7, KINDS, "requested port 7 does not exist; available: 1, 2, 3"),
        (1, ("udp", "tcp"), "requested port 1 is of kind shm; the process can attach to udp or tcp"),
    ],
)
def test_a_port_that_can_not_be_had_is_named(wanted: int, kinds: tuple[str, ...], why: str) -> None:
    book = make_book()
    book.assign(10, KINDS, 2)
    with pytest.raises(NoPort, match=why):
        book.assign(11, kinds, wanted)
    assert book.owner == {2: 10}


def test_a_rank_finds_its_port_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "2")
    assert requested_port() == 0
    monkeypatch.setenv(PORTS_VARIABLE, "4,5,6")
    assert requested_port() == 6


@pytest.mark.parametrize(
    ("told", "why"), [("4,x,5", "expected the port number"), ("0,1,2", "expected"), ("4,5", "rank 2")]
)
def test_what_names_no_port_for_the_rank_is_refused(told: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv(PORTS_VARIABLE, told)
    with pytest.raises(SessionError, match=why):
        requested_port()
