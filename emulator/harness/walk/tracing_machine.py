"""The interpreter's machine with recording; it changes nothing of a packet's result."""

from __future__ import annotations

from emulator.harness.values import shown
from emulator.harness.walk.events import Details, Kind, Placed, Walk
from emulator.p4 import ir
from emulator.p4.arithmetic import unsigned
from emulator.p4.interpreter.header_state import HeaderState
from emulator.p4.interpreter.interpreter import Discard, Machine
from emulator.p4.interpreter.values import ParserEnd
from emulator.p4.ir.printer import expr_text, header_text, keyset_text, simple_text
from emulator.v1model.interpreted_externs import checksum
from emulator.v1model.messages import format_of, values_of

VERIFYING = frozenset(("verify_checksum", "verify_checksum_with_payload"))
MOST_LISTED = 8
"""Values of a list argument that are shown."""
NESTED = (ir.If, ir.Switch, ir.Region, ir.Loop, ir.Repeat, ir.ApplyTable)
LEAVING = (ir.Return, ir.Exit, ir.Break, ir.Continue)


class TracingMachine(Machine):
    """``notes["walk"]`` is the `Walk` to record into; ``notes["placed"]`` gathers what the deparser writes,
    ``notes["ran"]`` the tables that wrote to a variable which action ran."""

    __slots__ = ()

    @property
    def walk(self) -> Walk:
        found: Walk = self.notes["walk"]
        return found

    def block(self, block: ir.Block) -> None:
        self.walk.depth += 1
        try:
            Machine.block(self, block)
        finally:
            self.walk.depth -= 1

    def statement(self, s: ir.Statement) -> None:
        if isinstance(s, NESTED):
            self._announce(s)
            Machine.statement(self, s)
            return
        if isinstance(s, LEAVING):
            self.walk.add(Kind.STATEMENT, simple_text(s), s.span)
        if isinstance(s, ir.Emit):
            self._place(s)
        try:
            Machine.statement(self, s)
        except ParserEnd as end:
            self.walk.add(Kind.STATEMENT, simple_text(s), s.span, (("parser error", self.program.errors[end.number]),))
            raise
        except Discard:
            self.walk.add(Kind.STATEMENT, simple_text(s), s.span, (("the packet", "discarded"),))
            raise
        if not isinstance(s, LEAVING):
            self.walk.add(Kind.STATEMENT, simple_text(s), s.span, self._details(s))

    def _announce(self, s: ir.Statement) -> None:
        match s:
            case ir.If(condition):
                outcome = "true" if self.value(condition) else "false"
                self.walk.add(Kind.BRANCH, f"if {expr_text(condition)}", s.span, (("", outcome),), outcome)
            case ir.Switch(value, cases):
                number = self.value(value)
                table = self._whose_action(value)
                chosen = next((c for c in cases if number in c.values), None)
                key = switch_key(chosen, table)
                details = (("", value_label(number, table)),)
                self.walk.add(Kind.BRANCH, f"switch {expr_text(value)}", s.span, details, key)
            case ir.Region(name):
                self.walk.add(Kind.ACTION, name, s.span, key=name)
            case ir.ApplyTable(table):
                if s.action_run is not None:
                    self.notes["ran"] = {**self.notes.get("ran", {}), s.action_run: table}
                self.walk.add(Kind.STATEMENT, f"apply {table}", s.span)
            case ir.Loop() | ir.Repeat():
                self.walk.add(Kind.STATEMENT, "loop", s.span)

    def _whose_action(self, value: ir.Expr) -> ir.Table | None:
        """The table, where the value is the number of the action that it ran."""
        name = self.notes.get("ran", {}).get(value)
        return next((t for t in self.program.tables if t.name == name), None)

    # --- Parser -----------------------------------------------------------------------------------------------------

    def parse(self, parser: ir.Parser) -> int:
        before = len(self.walk.events)
        error = Machine.parse(self, parser)
        self.walk.fold(before)
        return error

    def state(self, state: ir.State) -> str:
        self.walk.add(Kind.STATE, state.name, state.span)
        following = Machine.state(self, state)
        if isinstance(state.transition, ir.Goto):
            self.walk.add(Kind.TRANSITION, f"-> {following}", state.span, key=f"{state.name} -> {following}")
        return following

    def chosen_case(self, select: ir.Select) -> int | None:
        chosen = Machine.chosen_case(self, select)
        following = "accept (no case matches)" if chosen is None else select.cases[chosen].next_state
        keys = tuple((expr_text(k), shown(unsigned(self.value(k), k.type), ir.width_of(k.type))) for k in select.keys)
        self.walk.add(Kind.TRANSITION, f"-> {following}", select.span, keys, transition_key(select, chosen))
        return chosen

    # --- What a statement did ---------------------------------------------------------------------------------------

    def _details(self, s: ir.Statement) -> Details:
        match s:
            case ir.Assign(target):
                return (self._of(target),)
            case ir.Extract(ref):
                return self._extracted(ref)
            case ir.Lookahead(targets):
                return tuple(self._of(variable) for variable, _ in targets)
            case ir.CopyHeader(target, source):
                header = self.resolve(target)
                valid = header is not None and header.valid
                return ((header_text(target), f"{header_text(source)}{'' if valid else ' (not valid)'}"),)
            case ir.Emit(ref):
                header = self.resolve(ref)
                is_written = header is not None and header.valid
                return ((header_text(ref), self._placed_size() if is_written else "not valid"),)
            case ir.CallExtern(name) if name in VERIFYING:
                return self._verified(s)
            case ir.CallExtern("log_msg"):
                values = tuple(unsigned(self.value(v), v.type) for v in values_of(s))
                return (("", f'"{format_of(s).render(values)}"'),)
            case ir.CallExtern():
                return self._called(s)
        return ()

    def _of(self, e: ir.Expr) -> tuple[str, str]:
        value, width = self.varbits(e)
        return expr_text(e), shown(value & ((1 << width) - 1), width)

    def _extracted(self, ref: ir.HeaderRef) -> Details:
        if isinstance(ref, ir.StackNext):
            index = self.next_index.get(ref.stack.name, 0) - 1
            name, header = f"{ref.stack.name}[{index}]", self.resolve(ref.stack.headers[index])
        else:
            name, header = header_text(ref), self.resolve(ref)
        if header is None:
            return ()
        return tuple((f"{name}.{f.name}", _field(header, f)) for f in header.type.fields)

    def _verified(self, s: ir.CallExtern) -> Details:
        condition, data, given, algorithm = s.arguments
        assert not isinstance(condition, tuple | ir.Text)
        assert not isinstance(given, tuple | ir.Text)
        header = self.resolve(given.header) if isinstance(given, ir.FieldRef) else None
        if not self.value(condition) or (header is not None and not header.valid):
            return (("", "not checked"),)
        name, value = self._of(given)
        found = checksum(self, s, algorithm, data)
        verdict = (
            "is right" if found == self.value(given) else f"is wrong, {shown(found, ir.width_of(given.type))} is right"
        )
        return (("", f"{name} = {value} {verdict}"),)

    def _placed_size(self) -> str:
        """Size of the header that was written last."""
        placed = self.notes["placed"][-1]
        size = len(self.output) - placed.offset_bytes
        return "1 byte" if size == 1 else f"{size} bytes"

    def _called(self, s: ir.CallExtern) -> Details:
        outs = self.target.outs(s.name)
        found: list[tuple[str, str]] = []
        for position, argument in enumerate(s.arguments):
            if isinstance(argument, tuple):
                values = [self._of(e)[1] for e in argument[:MOST_LISTED]]
                more = ", ..." if len(argument) > MOST_LISTED else ""
                found.append(("", "{" + ", ".join(values) + more + "}"))
            elif isinstance(argument, ir.Constant | ir.Text) or position in outs:
                continue
            else:
                found.append(self._of(argument))
        return (*found, *(self._of(s.place(i)) for i in outs if not isinstance(s.arguments[i], tuple | ir.Text)))

    def _place(self, s: ir.Emit) -> None:
        header = self.resolve(s.header)
        if header is None or not header.valid:
            return
        name = next((n for n, state in self.headers.items() if state is header), header_text(s.header))
        placed = Placed(name, header.type, len(self.output), header.varbit_width)
        self.notes["placed"] = (*self.notes.get("placed", ()), placed)


def _field(header: HeaderState, f: ir.HeaderField) -> str:
    width = header.varbit_width if isinstance(f.type, ir.VarBits) else f.width_bits
    return shown(header.fields.get(f.name, 0) & ((1 << width) - 1), width)


def value_label(number: int, table: ir.Table | None) -> str:
    """Label of a switch's value: a number, or the table's action with that number."""
    if table is None:
        return str(number)
    # where a table with an action profile misses, none ran
    return ir.control_plane_action(table.actions[number].action) if number < len(table.actions) else "no action"


def switch_key(case: ir.SwitchCase | None, table: ir.Table | None) -> str:
    """What leads to a case of a switch."""
    return "default" if case is None else ", ".join(value_label(number, table) for number in case.values)


def transition_key(select: ir.Select, chosen: int | None) -> str:
    """A case's label and where it leads."""
    if chosen is None:
        return "no case -> accept"
    case = select.cases[chosen]
    if case.value_set is not None:
        return f"in {case.value_set} -> {case.next_state}"
    labels = [_label(keyset, key) for keyset, key in zip(case.keysets, select.keys, strict=True)]
    label = "default" if set(labels) <= {"_"} else ", ".join(labels)
    return f"{label} -> {case.next_state}"


def _label(keyset: ir.KeySet, key: ir.Expr) -> str:
    width = ir.width_of(key.type)
    if isinstance(keyset, ir.Masked) and keyset.mask == (1 << width) - 1:
        return shown(keyset.value, width)
    return keyset_text(keyset)
