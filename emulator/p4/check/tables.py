"""Tables: keys, action lists, default actions and entries (section 14.2)."""

from __future__ import annotations

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.base import Where
from emulator.p4.check.key_names import annotation_text, written_key
from emulator.p4.check.keysets import KeysetChecker, matched_bits
from emulator.p4.check.priorities import has_priorities, written_priorities
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s

_LANGUAGE = ("key", "actions", "default_action", "size", "entries", "largest_priority_wins", "priority_delta")


class TableChecker(KeysetChecker):
    def table(self, node: s.Table) -> r.TableSymbol:
        symbol = r.TableSymbol(node.name, t.TableType(node.name), node.name_at, node.annotations, node.end)
        properties = self._properties(node)
        self._check_order(properties)
        with self.scope(Where.TABLE):
            for name, found in properties.items():
                if name not in _LANGUAGE:
                    self._guarded(self._architecture_property, symbol, found)
            for name, check in (
                ("key", self._keys), ("actions", self._actions), ("size", self._size),
                ("default_action", self._default), ("largest_priority_wins", self._largest_wins),
                ("priority_delta", self._delta), ("entries", self._entries),
            ):  # fmt: skip
                if name in properties:
                    self._guarded(check, symbol, properties[name])
            if "actions" not in properties:
                self.report(node.name_at, f"table {node.name!r} has no 'actions'")
            if symbol.default is None and "default_action" not in properties:
                self._no_action(symbol, node)
            if "implementation" in symbol.properties and "default_action" in properties:
                self.warn(properties["default_action"], "a table with an implementation does nothing on a miss")
        self.declare(node.name, symbol, node.name_at)
        return symbol

    def _guarded(self, check, symbol: r.TableSymbol, node: s.Property) -> None:  # type: ignore[no-untyped-def]
        try:
            check(symbol, node)
        except Abandoned:
            if node.name == "default_action":
                symbol.default = symbol.default or None

    def _properties(self, node: s.Table) -> dict[str, s.Property]:
        found: dict[str, s.Property] = {}
        for prop in node.properties:
            if prop.name in found:
                self.report(prop.name_at, f"table {node.name!r} has {prop.name!r} twice", Kind.DUPLICATE)
            found.setdefault(prop.name, prop)
        return found

    def _check_order(self, properties: dict[str, s.Property]) -> None:
        """What names actions stands behind ``actions`` (14.2.1.3), entries behind ``key`` (as p4c has it)."""
        for later, earlier in (("default_action", "actions"), ("entries", "key"), ("entries", "actions")):
            if later in properties and earlier in properties and properties[later].at < properties[earlier].at:
                self.report(properties[later].name_at, f"{later!r} must stand behind {earlier!r}")
                return

    # --- keys ----------------------------------------------------------------------------------------------------

    def _keys(self, symbol: r.TableSymbol, node: s.Property) -> None:
        assert isinstance(node.value, tuple)
        for element in node.value:
            assert isinstance(element, s.KeyElement)
            try:
                symbol.keys.append(self._key(element))
            except Abandoned:
                continue

    def _key(self, node: s.KeyElement) -> r.KeyElement:
        outer, self.where = self.where, Where.APPLY
        try:
            value = self.value(node.value)
        finally:
            self.where = outer
        kind = node.match_kind.name
        if kind not in self.match_kinds:
            self.fail(node.match_kind, f"{kind!r} is not a match kind", Kind.NAME)
        if kind not in self.architecture.match_kinds:
            self.refuse(node.match_kind, f"match kind {kind!r}")
        if value.type is t.INT:
            self.fail(node.value, "the width of this key cannot be inferred")
        if not t.is_scalar(value.type) and not isinstance(value.type, t.TypeVariable):
            if value.type is t.UNKNOWN:
                raise Abandoned
            self.fail(node.value, f"a key cannot have type {value.type}")
        if isinstance(value, r.Literal):
            self.warn(node.value, "this key is a constant")
        name = annotation_text(node.annotations, "name") or written_key(self, node.value, value)
        if name is None:
            self.fail(node.value, "a key that is computed needs a @name annotation")
        return r.KeyElement(value, kind, node.annotations, node.at, node.value, name)

    # --- actions -------------------------------------------------------------------------------------------------

    def _find_action(self, name: s.Name) -> r.ActionSymbol:
        found = self.find(name.name, name.is_absolute)
        if found is None:
            self.fail(name, f"action {name.name!r} is not declared", Kind.NAME)
        if not isinstance(found, r.ActionSymbol):
            if getattr(found, "type", None) is t.UNKNOWN:
                raise Abandoned
            self.fail(name, f"{name.name!r} is not an action")
        return found

    def _actions(self, symbol: r.TableSymbol, node: s.Property) -> None:
        assert isinstance(node.value, tuple)
        for ref in node.value:
            assert isinstance(ref, s.ActionRef)
            try:
                action = self._find_action(ref.name)
                if any(listed.action.name == action.name for listed in symbol.actions):
                    self.fail(ref, f"an action {action.name!r} stands twice in the list", Kind.DUPLICATE)
                if {"tableonly", "defaultonly"} <= {a.name for a in ref.annotations}:
                    self.fail(ref, "an action cannot be both @tableonly and @defaultonly")
                bound = self._bound_arguments(ref, action)
                symbol.actions.append(r.TableAction(action, bound, ref.annotations, ref.at, ref.arguments or ()))
            except Abandoned:
                continue

    def _bound_arguments(self, ref: s.ActionRef, action: r.ActionSymbol) -> tuple[r.Bound, ...]:
        """Arguments in the list are for the parameters with directions; the control plane gives the others."""
        directed = tuple(p for p in action.signature.parameters if p.direction)
        signature = t.Signature(action.name, (), directed, t.VOID)
        call = s.Call(ref.at, ref.name, None, ref.arguments or ())
        outer, self.where = self.where, Where.APPLY
        try:
            return self.match(call, signature, f"action {action.name!r} in the table's list", is_action=True)[0]
        finally:
            self.where = outer

    def _choice(self, symbol: r.TableSymbol, node: s.Expr | s.ActionRef, what: str) -> r.ActionChoice:
        """``a`` or ``a(arguments)`` of a default action or an entry."""
        name, arguments = self._action_and_arguments(node, what)
        action = self._find_action(name)
        listed = next((a for a in symbol.actions if a.action is action), None)
        if listed is None:
            self.fail(name, f"{what}: {action.name!r} is not in the table's action list", Kind.NAME)
        parameters = action.signature.parameters
        directed = [p for p in parameters if p.direction]
        if arguments and directed and (len(arguments) == len(parameters) or any(a.name is not None for a in arguments)):
            arguments = self._without_bound(arguments, directed, listed, what)
        own = tuple(p for p in parameters if not p.direction)
        call = s.Call(node.at, name, None, arguments)
        bound, _ = self.match(call, t.Signature(action.name, (), own, t.VOID), f"{what}: {action.name}()")
        return r.ActionChoice(action, tuple(b.value for b in bound if b.value is not None), node.at)

    def _without_bound(
        self, arguments: tuple[s.Argument, ...], directed: list[t.Parameter], listed: r.TableAction, what: str
    ) -> tuple[s.Argument, ...]:
        """The control plane's arguments; the others repeat those of the list and must be the same (14.2.1.2)."""
        names = {p.name for p in directed}
        if arguments[0].name is None:
            repeated, rest = arguments[: len(directed)], arguments[len(directed) :]
        else:
            repeated = tuple(a for a in arguments if a.name in names)
            rest = tuple(a for a in arguments if a.name not in names)
        for argument, known in zip(repeated, listed.written, strict=False):
            if self._words(argument) != self._words(known):
                self.fail(argument, f"{what}: this argument must be the same as in the table's action list")
        return rest

    def _words(self, node: s.Node) -> list[str]:
        return self.tokens.texts[node.at : s.last_token(node) + 1]

    def _action_and_arguments(self, node: s.Expr | s.ActionRef, what: str) -> tuple[s.Name, tuple[s.Argument, ...]]:  # noqa: RET503
        if isinstance(node, s.ActionRef):
            return node.name, node.arguments or ()
        if isinstance(node, s.Name):
            return node, ()
        if isinstance(node, s.Call) and isinstance(node.callee, s.Name):
            return node.callee, node.arguments
        self.fail(node, f"{what} must be an action of the table")

    @staticmethod
    def _is_annotated(symbol: r.TableSymbol, choice: r.ActionChoice, name: str) -> bool:
        """Whether the table's list says so of the action."""
        listed = next(a for a in symbol.actions if a.action is choice.action)
        return any(a.name == name for a in listed.annotations)

    def _default(self, symbol: r.TableSymbol, node: s.Property) -> None:
        assert not isinstance(node.value, tuple)
        symbol.default = self._choice(symbol, node.value, "default_action")
        if self._is_annotated(symbol, symbol.default, "tableonly"):
            text = f"action {symbol.default.action.name!r} is @tableonly: it cannot be the default"
            self.report(node.value, text)
        symbol.default_is_const = node.is_const

    def _no_action(self, symbol: r.TableSymbol, node: s.Table) -> None:
        """Without default_action it is NoAction, which joins the list as ``@defaultonly`` (p4c: createBuiltins.cpp)."""
        action = self.scopes[0].get("NoAction")
        if not isinstance(action, r.ActionSymbol):
            self.report(node.name_at, f"table {node.name!r} needs NoAction: include core.p4", Kind.NAME)
            return
        if all(listed.action is not action for listed in symbol.actions):
            only_default = s.Annotation(node.at, "defaultonly", None, False)
            symbol.actions.append(r.TableAction(action, (), (only_default,), node.at))
        symbol.default = r.ActionChoice(action, (), node.at)

    # --- other properties ----------------------------------------------------------------------------------------

    def _size(self, symbol: r.TableSymbol, node: s.Property) -> None:
        assert not isinstance(node.value, tuple)
        size = self.value(node.value)
        base = t.unwrapped(size.type)
        if base is not t.INT and not isinstance(base, t.BitsType):
            if base is t.UNKNOWN:
                raise Abandoned
            self.fail(node.value, f"a table's size must be an integer, not {size.type}")
        if not self.is_known(size):
            self.fail(node.value, "a table's size must be known at compile time", Kind.CONSTANT)
        if isinstance(size, r.Literal) and size.value < 0:
            self.fail(node.value, "a table's size cannot be negative", Kind.CONSTANT)
        symbol.size = size

    def _largest_wins(self, symbol: r.TableSymbol, node: s.Property) -> None:
        symbol.largest_priority_wins = self._flag(node)

    def _flag(self, node: s.Property) -> bool:
        assert not isinstance(node.value, tuple)
        found = self.typed(node.value, t.BOOL, f"property {node.name!r}")
        if not isinstance(found, r.Literal):
            self.fail(node.value, f"property {node.name!r} must be known at compile time", Kind.CONSTANT)
        return bool(found.value)

    def _delta(self, symbol: r.TableSymbol, node: s.Property) -> None:
        assert not isinstance(node.value, tuple)
        symbol.priority_delta = self.constant_int(node.value, "priority_delta")
        if symbol.priority_delta < 1:
            self.fail(node.value, "priority_delta must be at least 1", Kind.CONSTANT)

    def _architecture_property(self, symbol: r.TableSymbol, node: s.Property) -> None:
        if node.name in self.architecture.table_flags:
            symbol.flags[node.name] = self._flag(node)
            return
        wanted = self.architecture.table_properties.get(node.name)
        if wanted is None:
            self.warn(node.name_at, f"this target knows no table property {node.name!r}: it is ignored")
            return
        assert not isinstance(node.value, tuple)
        value = self.value(node.value)
        if value.type is t.UNKNOWN:
            raise Abandoned
        if not isinstance(value.type, t.ExternType) or value.type.name not in wanted:
            self.fail(node.value, f"{node.name} must be an instance of {' or '.join(wanted)}, not {value.type}")
        symbol.properties[node.name] = (value, node.at, node.annotations)

    # --- entries -------------------------------------------------------------------------------------------------

    def _entries(self, symbol: r.TableSymbol, node: s.Property) -> None:
        assert isinstance(node.value, tuple)
        symbol.entries_are_const = node.is_const
        if not symbol.keys:
            self.fail(node.name_at, f"table {symbol.name!r} has entries but no key")
        if "implementation" in symbol.properties:
            self.report(node.name_at, "a table with an implementation takes no entries", Kind.TARGET)
        for entry in node.value:
            assert isinstance(entry, s.Entry)
            try:
                symbol.entries.append(self._entry(symbol, entry, node.is_const))
            except Abandoned:
                continue
        self._check_priorities(symbol)
        if not has_priorities(symbol):
            self._check_distinct(symbol)

    def _check_distinct(self, symbol: r.TableSymbol) -> None:
        """Exact keys and prefixes stand once: nothing would tell which entry is meant (section 14.2.1.4)."""
        known: dict[tuple[tuple[int, int], ...], r.Entry] = {}
        for entry in symbol.entries:
            key = tuple(bits for element in entry.keyset if (bits := matched_bits(element)) is not None)
            if len(key) < len(entry.keyset):
                continue
            first = known.setdefault(key, entry)
            if first is not entry:
                text = f"table {symbol.name!r} has an entry with these keys already"
                self.report(entry.at, text, Kind.DUPLICATE, self.declared_at(first.at))

    def _check_priorities(self, symbol: r.TableSymbol) -> None:
        """The first entry has a priority when any has; equal ones and unsorted ones are worth a warning."""
        entries = symbol.entries
        if all(entry.priority is None for entry in entries):
            return
        if entries[0].priority is None:
            self.fail(entries[0].at, "the first entry needs a priority when any has one")
        found = written_priorities(symbol)
        if len(set(found)) < len(found):
            self.warn(symbol.at, f"entries of table {symbol.name!r} have equal priorities: the earlier one wins")
        if found != sorted(found, reverse=symbol.largest_priority_wins):
            self.warn(symbol.at, f"the entries of table {symbol.name!r} are not in the order of their priorities")

    def _entry(self, symbol: r.TableSymbol, node: s.Entry, is_const: bool) -> r.Entry:
        priority = None
        if node.priority is not None:
            if is_const:
                self.fail(node.priority, "const entries are matched in order and take no priorities")
            if not has_priorities(symbol):
                self.fail(node.priority, "entries of a table with exact and lpm keys only take no priorities")
            priority = self.constant_int(node.priority, "a priority")
            if priority < 1:
                self.fail(node.priority, "a priority must be at least 1", Kind.CONSTANT)
        elements = node.keyset.items if isinstance(node.keyset, s.TupleKeyset) else (node.keyset,)
        if isinstance(node.keyset, s.DontCare) and len(symbol.keys) > 1:
            elements = (node.keyset,) * len(symbol.keys)
        if len(elements) != len(symbol.keys):
            self.fail(node.keyset, f"{len(elements)} keys where table {symbol.name!r} has {len(symbol.keys)}")
        keyset = tuple(self.keyset_for(e, k.value.type, "an entry") for e, k in zip(elements, symbol.keys, strict=True))
        for element, key, found in zip(elements, symbol.keys, keyset, strict=True):
            self.check_match(element, key, found)
        choice = self._choice(symbol, node.action, "an entry's action")
        if self._is_annotated(symbol, choice, "defaultonly"):
            self.fail(node.action, f"action {choice.action.name!r} is @defaultonly: no entry can have it")
        return r.Entry(keyset, choice, priority, node.annotations, is_const or node.is_const, node.at, node.end)
