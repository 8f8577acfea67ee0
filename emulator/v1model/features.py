"""Features of v1model that a program uses; no code is generated for the others.

Also the *field lists*: what metadata a copy keeps. List 0 is empty; the others are the program's ``@field_list(n)`` and
what calls of the old ``clone3``, ``resubmit`` and ``recirculate`` name in their data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from emulator.p4 import ir
from emulator.p4.ir import walk

CLONES = frozenset(("clone", "clone3", "clone_preserving_field_list"))
RESUBMITS = frozenset(("resubmit", "resubmit_preserving_field_list"))
RECIRCULATES = frozenset(("recirculate", "recirculate_preserving_field_list"))

PURE = frozenset(("update_checksum", "update_checksum_with_payload"))
"""Externs without an effect when the frame is not sent."""

FieldList: TypeAlias = tuple[ir.Variable, ...]


@dataclass(frozen=True, slots=True)
class Features:
    """What the program's code mentions, reachable or not."""

    clones: bool
    resubmits: bool
    recirculates: bool
    truncates: bool
    """Cuts frames: by ``truncate``, or by clone sessions that do."""
    late_effects: bool
    """The blocks after egress do something that is seen also when the frame is not sent."""
    lists: tuple[FieldList, ...]
    """The field lists; the first is empty."""
    numbers: tuple[tuple[int, int], ...]
    """(number in the program, index in ``lists``)."""

    @property
    def reinjects(self) -> bool:
        """Packets may come out of a pass that enter a pass again."""
        return self.clones or self.resubmits or self.recirculates

    @property
    def waits(self) -> bool:
        """Needs the memory of the re-injection queues."""
        return self.reinjects or self.truncates or self.late_effects

    @property
    def kept(self) -> FieldList:
        """Every variable that is in some list, each once."""
        return tuple(dict.fromkeys(v for fields in self.lists for v in fields))

    def list_of(self, call: ir.CallExtern) -> int:
        """Index of the field list that a call names. A number that no field carries is the empty list (bmv2)."""
        if call.name.endswith("_preserving_field_list"):
            number = call.expr(len(call.arguments) - 1)
            assert isinstance(number, ir.Constant), "field list numbers are constants (the checker refuses others)"
            return dict(self.numbers).get(number.value, 0)
        fields = _given(call)
        return self.lists.index(fields) if fields else 0


def features_of(program: ir.Program) -> Features:
    calls = [s for block in walk.root_blocks(program) for s in walk.statements(block) if isinstance(s, ir.CallExtern)]
    names = {c.name for c in calls}
    declared = [(number, _scalars(fields)) for number, fields in program.field_lists]
    in_calls = [fields for c in calls if (fields := _given(c))]
    lists = tuple(dict.fromkeys(((), *(f for _, f in declared), *in_calls)))
    return Features(
        clones=bool(names & CLONES),
        resubmits=bool(names & RESUBMITS),
        recirculates=bool(names & RECIRCULATES),
        truncates="truncate" in names or bool(names & CLONES),
        late_effects=any(_has_effects(program.block(name)) for name in ("ck", "dep")),
        lists=lists,
        numbers=tuple((number, lists.index(fields)) for number, fields in declared),
    )


def _has_effects(block: ir.Parser | ir.Control) -> bool:
    assert isinstance(block, ir.Control)
    return any(isinstance(s, ir.CallExtern) and s.name not in PURE for s in walk.statements(block.body))


def _given(call: ir.CallExtern) -> FieldList:
    """The metadata named in the data of one of the old calls; headers are parsed again, so their fields are ignored."""
    if call.name not in ("clone3", "resubmit", "recirculate"):
        return ()
    data = call.arguments[-1]
    assert not isinstance(data, ir.Text)
    items = data if isinstance(data, tuple) else (data,)
    return _scalars(v for v in items if isinstance(v, ir.Variable))


def _scalars(fields: Iterable[ir.Variable]) -> FieldList:
    """Without fields of variable width, which bmv2 has in headers only."""
    return tuple(dict.fromkeys(v for v in fields if not isinstance(v.type, ir.VarBits)))
