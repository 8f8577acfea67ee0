"""What a client's P4Info says about the objects of a document, looked up by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.native.p4protos import p4info_pb2

EXACT = "exact"
SET_KINDS = (EXACT, "lpm", "ternary", "range", "optional")


class Wanted:
    """A P4Info that came with a document; or none, then nothing is known."""

    def __init__(self, p4info: Any | None) -> None:
        self.p4info = p4info
        self.tables: Mapping[str, Any] = {}
        self.profiles: Mapping[str, Any] = {}
        self.value_sets: Mapping[str, Any] = {}
        self.action_names: Mapping[int, str] = {}
        if p4info is not None:
            self.tables = {table.preamble.name: table for table in p4info.tables}
            self.profiles = {profile.preamble.name: profile for profile in p4info.action_profiles}
            self.value_sets = {value_set.preamble.name: value_set for value_set in p4info.value_sets}
            self.action_names = {action.preamble.id: action.preamble.name for action in p4info.actions}

    @property
    def is_given(self) -> bool:
        return self.p4info is not None

    def key(self, table: str, position: int) -> Any | None:
        """The match field at a position (selector keys do not count)."""
        fields = self.tables[table].match_fields if table in self.tables else ()
        return fields[position] if position < len(fields) else None

    def set_kind(self, value_set: str, position: int) -> str:
        """How a value set's field at a position matches; the document cannot say it, and bmv2 takes all for exact."""
        fields = self.value_sets[value_set].match if value_set in self.value_sets else ()
        kind = match_kind(fields[position]) if position < len(fields) else EXACT
        return kind if kind in SET_KINDS else EXACT

    def scopes(self, table: str) -> Mapping[str, int]:
        """Where actions may stand, by their names."""
        refs = self.tables[table].action_refs if table in self.tables else ()
        return {self.action_names.get(ref.id, ""): ref.scope for ref in refs}


def match_kind(field: Any) -> str:
    """As P4 spells it."""
    if field.WhichOneof("match") == "other_match_type":
        return str(field.other_match_type)
    known = p4info_pb2.MatchField.MatchType
    return known.Name(field.match_type).lower() if field.match_type in known.values() else str(field.match_type)
