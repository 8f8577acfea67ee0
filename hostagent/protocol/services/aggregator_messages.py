"""`JobTerms` and what an aggregator counts, as messages of `aggregator.proto` and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from hostagent.protocol.services import aggregator_pb2 as pb
from hostagent.protocol.services.aggregator import (
    AggregatorRefused,
    ChildTerms,
    JobCounters,
    JobTerms,
    ParentTerms,
    RackPart,
    ServiceTerms,
    Spread,
)


def terms_message(terms: JobTerms) -> pb.JobTerms:
    """Message for the wire."""
    message = pb.JobTerms(
        job=terms.job,
        epoch=terms.epoch,
        base=terms.base,
        window_log2=terms.window_log2,
        first_slot=terms.first_slot,
        lanes=terms.lanes,
        no_data_short=terms.no_data_short,
        aggregator_mac=terms.aggregator_mac,
        aggregator_ip=terms.aggregator_ip,
        service=_service_message(terms.service) if terms.service is not None else None,
        spread=_spread_message(terms.spread) if terms.spread is not None else None,
        parent=_parent_message(terms.parent) if terms.parent is not None else None,
    )
    for child in terms.children:
        message.children.add(
            child=child.child,
            bit=child.bit,
            port=child.port,
            mac=child.mac,
            ip=child.ip,
            zero_checksum_allowed=child.zero_checksum_allowed,
            stands_for=child.stands_for,
        )
    return message


def terms_from(message: pb.JobTerms) -> JobTerms:
    """Decode a message. Raises AggregatorRefused where its terms are invalid."""
    children = tuple(
        ChildTerms(
            child.child, child.bit, child.port, child.mac, child.ip, child.zero_checksum_allowed, child.stands_for
        )
        for child in message.children
    )
    return JobTerms(
        job=message.job,
        epoch=message.epoch,
        base=message.base,
        window_log2=message.window_log2,
        first_slot=message.first_slot,
        lanes=message.lanes,
        children=children,
        aggregator_mac=message.aggregator_mac,
        aggregator_ip=message.aggregator_ip,
        no_data_short=message.no_data_short,
        service=_service_from(message) if message.HasField("service") else None,
        spread=_spread_from(message.spread) if message.HasField("spread") else None,
        parent=_parent_from(message.parent) if message.HasField("parent") else None,
    )


def _parent_message(parent: ParentTerms) -> pb.Parent:
    return pb.Parent(
        port=parent.port,
        mac=parent.mac,
        ip=parent.ip,
        own_mac=parent.own_mac,
        own_ip=parent.own_ip,
        zero_checksum_allowed=parent.zero_checksum_allowed,
        workers=parent.workers,
    )


def _parent_from(parent: pb.Parent) -> ParentTerms:
    ends = parent.port, parent.mac, parent.ip, parent.own_mac, parent.own_ip
    return ParentTerms(*ends, parent.zero_checksum_allowed, tuple(parent.workers))


def _spread_message(spread: Spread) -> pb.Spread:
    racks = [pb.RackPart(rack=part.rack, children=part.children) for part in spread.racks]
    return pb.Spread(way=spread.way, racks=racks)


def _spread_from(message: pb.Spread) -> Spread:
    return Spread(message.way, tuple(RackPart(part.rack, part.children) for part in message.racks))


def _service_message(service: ServiceTerms) -> pb.ServiceTerms:
    return pb.ServiceTerms(
        name=service.name,
        nonce=service.nonce,
        workers=service.workers,
        weight=service.weight,
        quota_bytes=service.quota_bytes,
        options=json.dumps(dict(service.options)),
    )


def _service_from(message: pb.JobTerms) -> ServiceTerms:
    service = message.service
    try:
        options = json.loads(service.options or "{}")
    except ValueError as error:
        raise AggregatorRefused(f"job {message.job}: the service's options are not valid JSON: {error}") from None
    if not isinstance(options, dict):
        raise AggregatorRefused(f"job {message.job}: the service's options must be a JSON object")
    return ServiceTerms(service.name, service.nonce, service.workers, service.weight or 1, service.quota_bytes, options)


def counters_message(job: int, counters: JobCounters) -> pb.JobCounters:
    """Message for the wire."""
    message = pb.JobCounters(job=job, frames=counts(counters.frames), bytes=counts(counters.bytes))
    for child, frames in sorted(counters.children.items()):
        message.children.add(child=child, frames=counts(frames))
    return message


def counters_from(message: pb.JobCounters) -> JobCounters:
    """Counters from the wire."""
    children = {child.child: counted(child.frames) for child in message.children}
    return JobCounters(counted(message.frames), counted(message.bytes), children)


def counts(values: Mapping[str, int]) -> list[pb.Count]:
    """Counters by name, for the wire; zeros are left out."""
    return [pb.Count(name=name, value=value) for name, value in values.items() if value]


def counted(messages: Iterable[pb.Count]) -> dict[str, int]:
    """Counters by name, from the wire."""
    return {message.name: message.value for message in messages}
