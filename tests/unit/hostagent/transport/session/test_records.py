"""A lease on its way from the controller to the transport."""

from __future__ import annotations

from dataclasses import fields

from hostagent.protocol.services import session_pb2 as pb
from hostagent.transport.session.records import lease_from
from hostagent.transport.session.terms import Lease

OF_THE_PROCESS = {"heartbeat", "token"}
"""In no message: the same for all leases of a process."""
ONLY_ANNOUNCED = {"first_slot", "row"}


def test_a_lease_carries_every_field_of_its_message() -> None:
    names = {field.name for field in fields(Lease)} - OF_THE_PROCESS
    assert names == set(pb.Lease.DESCRIPTOR.fields_by_name) - ONLY_ANNOUNCED
    for flags in (False, True):
        numbers = {name: number for number, name in enumerate(sorted(names), 1)}
        message = pb.Lease()
        for name, number in numbers.items():
            kind = type(getattr(message, name))
            setattr(message, name, flags if kind is bool else kind(number))
        lease = lease_from(message, ("127.0.0.1", 9), 5)
        assert {name: getattr(lease, name) for name in names} == {name: getattr(message, name) for name in names}
        assert lease.message_checksum == lease.forwards_messages == flags
