"""Direct meters: bmv2 knows from the document where the colour goes, the engines from the calls of ``read``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from emulator.bmv2json.objects import Objects
from emulator.p4 import ir


def with_meter_reads(
    actions: Sequence[ir.Action], tables: Sequence[ir.Table], objects: Objects
) -> tuple[ir.Action, ...]:
    """The actions, with a ``read`` (which itself does nothing) at the start of those of metered tables."""
    reads: dict[str, list[ir.Statement]] = {}
    for table in tables:
        for instance in table.attached:
            place = objects.meter_targets.get(instance.name)
            if instance.extern != "direct_meter" or place is None:
                continue
            for reference in table.actions:
                call = ir.CallExtern("direct_meter.read", (place,), instance, table.span)
                reads.setdefault(reference.action, []).append(call)
    return tuple(replace(a, body=(*reads[a.name], *a.body)) if a.name in reads else a for a in actions)
