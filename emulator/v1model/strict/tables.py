"""Tables and actions as bmv2 knows them."""

from __future__ import annotations

from typing import Any

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.lower.records import TableRecord
from emulator.v1model.strict.base import StrictReporter, argument

_MATCH_KINDS = frozenset(("exact", "lpm", "ternary", "range", "optional", "selector"))


def check_tables(reporter: StrictReporter) -> None:
    selectors: dict[Any, tuple[str, list[Any]]] = {}
    attached: set[str] = set()
    for record in reporter.tables():
        _check_keys(reporter, record)
        assert record.table is not None
        for instance in record.table.attached:
            attached.add(instance.name)
            if instance.extern != "action_selector":
                continue
            keys = [key.value for key in record.table.keys if key.match_kind == "selector"]
            known = selectors.setdefault(instance.name, (record.name, keys))
            if known[1] != keys:
                reporter.refuse(record.symbol.at, f"{instance.name} is used with other selector keys by {known[0]}")
    for action in reporter.actions():
        for parameter in action.symbol.parameters:
            base = t.unwrapped(parameter.type)
            if not parameter.direction and not isinstance(base, t.BitsType | t.EnumType):
                reporter.refuse(parameter.at, f"an action's data is bit<W> or int<W>, not {parameter.type}")
    _check_direct_meters(reporter, attached)


def _check_keys(reporter: StrictReporter, record: TableRecord) -> None:
    prefixes = [key for key in record.symbol.keys if key.match_kind == "lpm"]
    for key in record.symbol.keys:
        if key.match_kind not in _MATCH_KINDS:
            reporter.refuse(key.at, f"match kind {key.match_kind!r} is not known to it")
        type_ = key.value.type
        if isinstance(type_, t.EnumType) and type_.base is None:
            reporter.refuse(key.at, f"a key cannot be of type {type_}, an enum without values")
    if len(prefixes) > 1:
        reporter.refuse(prefixes[1].at, "a table has at most one lpm key")
    kinds = [(key.value.type, key.match_kind) for key in record.symbol.keys]
    for entry in record.symbol.entries:
        for (type_, kind), element in zip(kinds, entry.keyset, strict=True):
            if type_ is t.ERROR and kind == "exact" and not isinstance(element, r.DontCare):
                reporter.refuse(element, "an entry cannot match an error")


def _check_direct_meters(reporter: StrictReporter, attached: set[str]) -> None:
    """Each that is attached or read is both, and read into one place only; all others are removed as unused."""
    targets: dict[Any, list[Any]] = {}
    for _, _, node in reporter.code():
        if isinstance(node, r.ExternCall) and node.name == "direct_meter.read" and isinstance(node.instance, r.Ref):
            targets.setdefault(node.instance.symbol, []).append(argument(node, "result"))
    for _, instance in reporter.instances():
        for member in instance.members:
            made = getattr(member, "instance", None)
            if getattr(made, "extern", None) != "direct_meter" or made is None:
                continue
            symbol = member.symbol
            places = targets.get(symbol, [])
            if made.name not in attached and places:
                reporter.refuse(symbol.at, f"the direct meter {symbol.name!r} belongs to no table")
            if made.name in attached and not places:
                reporter.refuse(symbol.at, f"the direct meter {symbol.name!r} is never read")
            written = {_written(place) for place in places}
            if len(written) > 1:
                reporter.refuse(places[1] or symbol.at, f"the direct meter {symbol.name!r} is read into two places")


def _written(place: Any) -> Any:
    """A place by its names, for comparison."""
    if isinstance(place, r.FieldOf):
        return (_written(place.base), place.name)
    if isinstance(place, r.Ref):
        return place.symbol.name
    return id(place)
