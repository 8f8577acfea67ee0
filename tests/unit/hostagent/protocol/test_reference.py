"""Messages at the aggregator in plain Python: who may send them, where they go, why they are dropped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hostagent.protocol.counters import Drop, Verdict
from hostagent.protocol.frames import Addresses, Frame, build_frame, parse_frame
from hostagent.protocol.reference import ReferenceAggregator, ReferenceChild, ReferenceJob
from hostagent.protocol.wire import FORWARDED_KINDS, Header, Kind

LANES, JOB, EPOCH = 4, 3, 8
CHILDREN = tuple(ReferenceChild(10 + child, 0x0200_0000_0001 + child, 0x0A00_0001 + child) for child in range(3))
MESSAGE = Header(Kind.MESSAGE, JOB, 0, EPOCH, chunk=5, operation=6, peer=2)


def aggregator() -> ReferenceAggregator:
    return ReferenceAggregator(LANES, {JOB: ReferenceJob(EPOCH, 4, CHILDREN)})


def frame(header: Header = MESSAGE, payload: bytes = b"hello", sender: int = 0, *, checksum: bool = True) -> bytes:
    child, job = CHILDREN[sender], aggregator().jobs[JOB]
    addresses = Addresses(child.mac, job.switch_mac, child.ip, job.switch_ip)
    return build_frame(Frame(addresses, header, checksum=checksum, payload=payload))


@pytest.mark.parametrize("kind", FORWARDED_KINDS)
@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("peer", [0, 1, 2])
@pytest.mark.parametrize("payload", [b"", b"odd", b"x" * 4 * LANES])
def test_a_message_leaves_for_its_peer_as_it_came(kind: Kind, checksum: bool, peer: int, payload: bytes) -> None:
    made, header = aggregator(), replace(MESSAGE, kind=kind, peer=peer)
    ((port, data),) = made.receive(10, frame(header, payload, checksum=checksum))
    assert port == CHILDREN[peer].port
    arrived, job = parse_frame(data), made.jobs[JOB]
    assert arrived.addresses == Addresses(job.switch_mac, CHILDREN[peer].mac, job.switch_ip, CHILDREN[peer].ip)
    assert (arrived.header, arrived.payload, arrived.checksum) == (header, payload, checksum)
    assert (made.verdicts, made.drops, made.sets) == ({(JOB, Verdict.FORWARDED): 1}, {}, {})


@pytest.mark.parametrize(
    ("port", "data", "reason"),
    [
        (10, frame(replace(MESSAGE, epoch=EPOCH - 1)), Drop.EPOCH),
        (10, frame(replace(MESSAGE, job=4)), Drop.JOB),
        (10, frame(replace(MESSAGE, peer=3)), Drop.PEER),
        (10, frame(replace(MESSAGE, peer=0xFFFF)), Drop.PEER),
        (10, frame(replace(MESSAGE, kind=6), payload=b""), Drop.KIND),
        (10, frame(payload=b"x" * (4 * LANES + 1)), Drop.LENGTH),
        (11, frame(), Drop.CHILD),
        (10, frame(replace(MESSAGE, child=1)), Drop.CHILD),
        (10, frame(replace(MESSAGE, child=7)), Drop.CHILD),
        (10, frame(sender=1), Drop.CHILD),
    ],
    ids=["epoch", "job", "peer", "far peer", "kind", "length", "port", "other's number", "no number", "address"],
)
def test_what_is_dropped(port: int, data: bytes, reason: Drop) -> None:
    made = aggregator()
    assert made.receive(port, data) == []
    assert (made.drops, made.verdicts) == ({reason: 1}, {})


def test_after_a_restart_messages_of_the_epoch_before_are_dropped() -> None:
    made = aggregator()
    made.restart()
    assert made.receive(10, frame()) == []
    made.jobs[JOB] = replace(aggregator().jobs[JOB], epoch=EPOCH + 1)
    assert made.receive(10, frame()) == []
    assert len(made.receive(10, frame(replace(MESSAGE, epoch=EPOCH + 1)))) == 1
    assert made.drops == {Drop.JOB: 1, Drop.EPOCH: 1}
