"""The records of a job that is spread over racks, written between batches."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from emulator.native.pages import address_of, aligned_bytes, reserved_bytes
from hostagent.protocol.services.aggregator import AggregatorRefused, ChildTerms, JobTerms
from hostagent.rackserver.hierarchy.loops import (
    NOBODY,
    answer_duplicate,
    forward_full_set,
    full_bitmap,
    may_be_replaced,
    propagate_error,
    take_rack_frame,
)
from hostagent.rackserver.hierarchy.records import ROUTE, TIER, TRAFFIC
from hostagent.rackserver.hierarchy.routes import RACK_IP, RACK_MAC, Place, routes

TIER_ENTRIES = {
    "full_bitmap": full_bitmap,
    "forward_full_set": forward_full_set,
    "answer_duplicate": answer_duplicate,
    "propagate_error": propagate_error,
    "take_rack_frame": take_rack_frame,
    "may_be_replaced": may_be_replaced,
}
"""Called through ``compiled_calls``, compiled when the first job of several racks comes."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one job has sent from this rack to others, and dropped of theirs."""

    part_bytes: int = 0
    """Bytes of lanes of partial sums. Those of totals are counted apart."""
    total_bytes: int = 0
    again_bytes: int = 0
    """Bytes of lanes in retransmissions."""
    message_bytes: int = 0
    """Payload bytes of messages between ranks and of their acknowledgements."""
    frames: int = 0
    dropped: int = 0
    """Frames dropped: their chunk is over, or does not belong to its set."""

    def with_more(self, other: Traffic) -> Traffic:
        """Both together."""
        return Traffic(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


class TierMemory:
    """One job's part between racks. Raises AggregatorRefused where this server can't be one of its racks."""

    def __init__(self, terms: JobTerms, place: Place | None, cores: int, totals: Any) -> None:
        """``totals``: room for lanes as the server's sums, or None."""
        assert terms.spread is not None
        racks = terms.spread.racks
        if place is None:
            raise AggregatorRefused(f"job {terms.job} spans several racks, but this server has none: use --rack")
        self.bits = {part.rack: _lowest(part.children) for part in racks}
        """Bit, and number in frames, of each rack at other racks."""
        self._ports = {peer.rack: peer for peer in place.peers}
        unreached = sorted(set(self.bits) - set(self._ports) - {place.rack})
        if place.rack not in self.bits or unreached:
            named = f"no rack {place.rack}" if not unreached else f"racks {unreached}, which have no --peer here"
            raise AggregatorRefused(f"job {terms.job} has {named}")
        if next(part.children for part in racks if part.rack == place.rack) != terms.full:
            raise AggregatorRefused(f"job {terms.job}: the children are not those of rack {place.rack}")
        self.own = self.bits[place.rack]
        self.record: Any = aligned_bytes(TIER.itemsize).view(TIER)
        self._routes: Any = aligned_bytes(len(racks) * ROUTE.itemsize).view(ROUTE)
        self.traffic_records: Any = aligned_bytes(cores * TRAFFIC.itemsize).view(TRAFFIC)
        self._totals = totals
        self._write(terms, place.rack)
        self.address = address_of(self.record)

    def _write(self, terms: JobTerms, rack: int) -> None:
        assert terms.spread is not None
        record, racks = self.record[0], terms.spread.racks
        record["racks"], record["routes"] = len(racks), address_of(self._routes)
        record["everyone"] = _signed(terms.spread.everyone)
        record["totals"] = address_of(self._totals) if self._totals is not None else 0
        record["traffic"] = address_of(self.traffic_records)
        for child in terms.children:
            record["stands_for"][child.bit] = _signed(1 << child.bit)
        for part in racks:
            if part.rack != rack:
                record["stands_for"][self.bits[part.rack]] = _signed(part.children)
        bits = [self.bits[part.rack] for part in racks]
        position = [part.rack for part in racks].index(rack)
        for number, route in enumerate(routes(terms.spread.way, position, len(racks))):
            below = sum(1 << bits[other] for other in route.below)
            self._routes[number]["full"], self._routes[number]["below"] = _signed(terms.full | below), _signed(below)
            self._routes[number]["up"] = NOBODY if route.up is None else bits[route.up]

    def children(self) -> list[ChildTerms]:
        """The other racks, as children of this one."""
        return [
            ChildTerms(bit, bit, peer.port, RACK_MAC | rack, RACK_IP | rack, peer.zero_checksum_allowed)
            for rack, bit in self.bits.items()
            if (peer := self._ports.get(rack)) is not None
        ]

    def traffic(self) -> Traffic:
        """Traffic so far, of all cores."""
        return Traffic(**{field.name: int(self.traffic_records[field.name].sum()) for field in fields(Traffic)})


def totals_for(slots: int, lanes: int) -> Any:
    """Room for the totals of services' sets; it is touched as sets are."""
    return reserved_bytes(2 * slots * 4 * lanes)


def _lowest(bitmap: int) -> int:
    return (bitmap & -bitmap).bit_length() - 1


def _signed(bitmap: int) -> int:
    return bitmap - (1 << 64) if bitmap >> 63 else bitmap
