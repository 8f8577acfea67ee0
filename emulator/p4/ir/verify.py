"""The executable specification of the IR: what every front end must make and every pass must leave.

`verify` raises `VerifyError` for the first rule broken, saying where. A failure is a fault of the compiler, never of
the program being compiled. The rules' reasons stand in ``emulator.p4.ir``.
"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.target import Target

COMPARISONS = {ir.BinaryOp.EQ, ir.BinaryOp.NE, ir.BinaryOp.LT, ir.BinaryOp.LE, ir.BinaryOp.GT, ir.BinaryOp.GE}
LOGIC = {ir.BinaryOp.LOGICAL_AND, ir.BinaryOp.LOGICAL_OR}
SHIFTS = {ir.BinaryOp.SHL, ir.BinaryOp.SHR}
UNSIGNED_ONLY = {ir.BinaryOp.DIV, ir.BinaryOp.MOD}
PARSER_ONLY = (ir.Extract, ir.Lookahead, ir.Advance, ir.Verify)
LONGEST_BITS = 1 << 20


class VerifyError(Exception):
    """The IR breaks one of its own rules."""


def verify(program: ir.Program, target: Target) -> None:
    """Check the whole program."""
    _Verifier(program, target).program_rules()


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise VerifyError(message)


class _Verifier:
    def __init__(self, program: ir.Program, target: Target) -> None:
        self.program = program
        self.target = target
        self.headers = {h.name: h for h in program.headers}
        self.variables = {v.name: v for v in program.variables}
        self.actions = {a.name: a for a in program.actions}
        self.externs = {e.name: e for e in program.externs}
        self.value_sets = {v.name: v for v in program.value_sets}
        self.parameters: dict[str, ir.Variable] = {}
        self.where = ""
        self.in_parser = False
        self.header_types_seen: set[int] = set()
        self.fields: dict[int, tuple[ir.HeaderType, dict[str, ir.HeaderField]]] = {}

    # --- The whole ----------------------------------------------------------------------------------------------

    def program_rules(self) -> None:
        program = self.program
        for kind, names in (
            ("header", [h.name for h in program.headers]),
            ("variable", [v.name for v in program.variables]),
            ("table", [t.name for t in program.tables]),
            ("action", [a.name for a in program.actions]),
            ("extern instance", [e.name for e in program.externs]),
            ("block", [name for name, _ in program.blocks]),
            ("value set", [v.name for v in program.value_sets]),
        ):
            _check(len(names) == len(set(names)), f"two things of kind {kind} have the same name")
        for header in program.headers:
            self.header_type(header.type)
        for stack in program.stacks:
            for element in stack.headers:
                _check(element.name in self.headers, f"stack {stack.name}: element {element.name} is not a header")
        self.groups()
        for number, kept in program.field_lists:
            for variable in kept:
                self.where = f"field list {number}"
                self.one(variable)
        for action in program.actions:
            self.action(action)
        for table in program.tables:
            self.table(table)
        for name, root in program.blocks:
            self.where = name
            if isinstance(root, ir.Control):
                self.block(root.body, in_parser=False)
            else:
                self.parser(root)

    def header_type(self, kind: ir.HeaderType) -> None:
        if id(kind) in self.header_types_seen:
            return
        self.header_types_seen.add(id(kind))
        offset = 0
        for f in kind.fields:
            _check(f.offset_bits == offset, f"header type {kind.name}: field {f.name} leaves a gap or overlaps")
            _check(f.width_bits > 0, f"header type {kind.name}: field {f.name} has no bits")
            offset += f.width_bits
        varbits = [f.name for f in kind.fields if isinstance(f.type, ir.VarBits)]
        _check(len(varbits) < 2, f"header type {kind.name}: two fields have a variable width")
        whole = offset % 8 == 0 or len(varbits) == len(kind.fields)
        _check(whole, f"header type {kind.name}: {offset} bits are not a whole number of bytes")

    def groups(self) -> None:
        seen: set[str] = set()
        for names in self.program.groups:
            sizes = {self.externs[n].arguments[0] if n in self.externs else None for n in names}
            _check(len(sizes) == 1 and None not in sizes, f"group of {names[0]}: members differ in size")
            _check(not seen & set(names), f"group of {names[0]}: a member is in two groups")
            seen |= set(names)

    def action(self, action: ir.Action) -> None:
        self.where = action.name
        self.parameters = {p.name: p for p in action.parameters}
        for p in action.parameters:
            _check(not isinstance(p.type, ir.VarBits), f"{action.name}: parameter {p.name} has a variable width")
        self.block(action.body, in_parser=False)
        self.parameters = {}

    def table(self, table: ir.Table) -> None:
        self.where = table.name
        names = [a.action for a in table.actions]
        _check(len(names) == len(set(names)), f"table {table.name}: an action is listed twice")
        for key in table.keys:
            self.expr(key.value)
            _check(
                not isinstance(key.value.type, ir.VarBits), f"table {table.name}: key {key.name} is {key.value.type}"
            )
        for call in [table.default_action, *(e.call for e in table.entries)]:
            _check(call.action in names, f"table {table.name}: {call.action} is not among its actions")
            count = len(self.actions[call.action].parameters) if call.action in self.actions else -1
            _check(count == len(call.arguments), f"table {table.name}: {call.action} takes {count} arguments")
        for entry in table.entries:
            _check(len(entry.keysets) == len(table.keys), f"table {table.name}: an entry has too few or many keys")

    def parser(self, parser: ir.Parser) -> None:
        names = [s.name for s in parser.states]
        _check("start" in names, f"parser {parser.name} has no state start")
        _check(len(names) == len(set(names)), f"parser {parser.name} has two states of one name")
        known = {*names, "accept", "reject"}
        self.in_parser = True
        for state in parser.states:
            self.where = f"{parser.name}.{state.name}"
            self.block(state.body, in_parser=True)
            for following in self.transition(state):
                _check(following in known, f"{self.where}: no state {following}")
        self.in_parser = False

    def transition(self, state: ir.State) -> Iterator[str]:
        if isinstance(state.transition, ir.Goto):
            yield state.transition.next_state
            return
        for key in state.transition.keys:
            self.expr(key)
        for case in state.transition.cases:
            count = len(state.transition.keys)
            if case.value_set is None:
                actual = len(case.keysets)
            else:
                _check(case.value_set in self.value_sets, f"{self.where}: no value set {case.value_set}")
                actual = len(self.value_sets[case.value_set].fields)
            _check(actual == count, f"{self.where}: a select case has not {count} key sets")
            yield case.next_state

    # --- Statements ---------------------------------------------------------------------------------------------

    def block(self, block: ir.Block, *, in_parser: bool, in_loop: bool = False) -> None:
        for statement in block:
            self.statement(statement, in_parser=in_parser)
            if isinstance(statement, ir.Break | ir.Continue):
                _check(in_loop, f"{self.where}: {type(statement).__name__} outside a loop of its region")
            inside = isinstance(statement, ir.Loop) or (in_loop and not isinstance(statement, ir.Region))
            for nested in walk.nested_blocks(statement):
                self.block(nested, in_parser=in_parser, in_loop=inside)

    def statement(self, s: ir.Statement, *, in_parser: bool) -> None:
        if isinstance(s, PARSER_ONLY):
            _check(in_parser, f"{self.where}: {type(s).__name__} outside a parser")
        for ref in walk.header_refs(s):
            self.header(ref)
        for expr, _ in walk.own_expressions(s):
            self.expr(expr)
        match s:
            case ir.Assign(target, value):
                _check(isinstance(target, ir.Variable | ir.FieldRef | ir.LaneField), f"{self.where}: not a place")
                _check(target.type == value.type, f"{self.where}: {value.type} assigned to {target.type}")
                ok = not isinstance(value.type, ir.VarBits) or isinstance(value, ir.Variable | ir.FieldRef)
                _check(ok, f"{self.where}: a varbit that is not a place")
            case ir.Extract(header, bits):
                ok = bits is None or (header.type.varbit is not None and bits.type == ir.INDEX)
                _check(ok, f"{self.where}: extract of a variable width")
            case ir.If(condition) | ir.Verify(condition) | ir.Loop(condition):
                _check(condition.type == ir.BOOL, f"{self.where}: a condition is {condition.type}")
            case ir.CopyHeader(target, source):
                _check(target.type == source.type, f"{self.where}: header types differ")
            case ir.Switch(_, cases):
                values = [v for c in cases for v in c.values]
                _check(len(values) == len(set(values)), f"{self.where}: a switch has two cases of one value")
            case ir.ApplyTable(name):
                _check(any(t.name == name for t in self.program.tables), f"{self.where}: no table {name}")
            case ir.CallExtern():
                self.call(s)
            case ir.Repeat():
                self.repeat(s)

    def call(self, call: ir.CallExtern) -> None:
        instances: tuple[ir.ExternInstance, ...] = ()
        if isinstance(call.instance, ir.LaneInstances):
            instances = call.instance.instances
        elif call.instance is not None:
            instances = (call.instance,)
        for instance in instances:
            _check(instance.name in self.externs, f"{self.where}: no extern instance {instance.name}")
        for position in self.target.outs(call.name):
            place = call.arguments[position]
            ok = isinstance(place, ir.Variable | ir.FieldRef | ir.LaneField)
            _check(ok, f"{self.where}: argument {position} of {call.name} must be a place")

    def repeat(self, repeat: ir.Repeat) -> None:
        for s in repeat.body:
            ok = isinstance(s, ir.Assign) or (isinstance(s, ir.CallExtern) and s.name in self.target.repeatable)
            _check(ok, f"{self.where}: {type(s).__name__} in a Repeat")
            if isinstance(s, ir.CallExtern):
                _check(isinstance(s.instance, ir.LaneInstances), f"{self.where}: one instance for all turns")
                assert isinstance(s.instance, ir.LaneInstances)
                _check(len(s.instance.instances) == repeat.count, f"{self.where}: not one instance for each turn")

    # --- Expressions --------------------------------------------------------------------------------------------

    def header(self, ref: ir.HeaderRef) -> None:
        if isinstance(ref, ir.Header):
            _check(ref.name in self.headers, f"{self.where}: no header {ref.name}")
        elif isinstance(ref, ir.StackAt):
            self.expr(ref.index)

    def has_field(self, kind: ir.HeaderType, field: ir.HeaderField) -> bool:
        """Kept by the type's identity: hashing a type of 2,048 fields for each use of one would take minutes."""
        if id(kind) not in self.fields:
            self.fields[id(kind)] = (kind, {f.name: f for f in kind.fields})
        _, fields = self.fields[id(kind)]
        return fields.get(field.name) == field

    def expr(self, root: ir.Expr) -> None:
        for expr in walk.subexpressions(root):
            self.one(expr)

    def one(self, expr: ir.Expr) -> None:
        match expr:
            case ir.Constant(value, kind):
                self.constant(value, kind)
            case ir.Variable(name, kind):
                known = self.variables.get(name) or self.parameters.get(name)
                _check(known is not None, f"{self.where}: no variable {name}")
                _check(known is None or known.type == kind, f"{self.where}: {name} is not {kind}")
            case ir.FieldRef(ref, field):
                self.header(ref)
                _check(self.has_field(ref.type, field), f"{self.where}: no field {field.name} in {ref.type.name}")
            case ir.PacketLength():
                _check(self.in_parser, f"{self.where}: the packet's length outside a parser")
            case ir.IsValid(ref) | ir.LaneField(ref, _, _) | ir.FieldRun(ref, _, _):
                self.header(ref)
            case ir.Unary(op, operand, kind):
                expected = ir.BOOL if op is ir.UnaryOp.NOT else operand.type
                _check(kind == operand.type == expected, f"{self.where}: {op.value} on {operand.type} gives {kind}")
                _check(op is ir.UnaryOp.NOT or isinstance(kind, ir.Bits), f"{self.where}: {op.value} on {kind}")
            case ir.Binary():
                self.binary(expr)
            case ir.Mux(condition, then, otherwise, kind):
                _check(condition.type == ir.BOOL, f"{self.where}: a condition is {condition.type}")
                ok = then.type == otherwise.type == kind and not isinstance(kind, ir.VarBits)
                _check(ok, f"{self.where}: the arms of ?: differ in type")
            case ir.Slice(operand, high, low):
                ok = isinstance(operand.type, ir.Bits) and 0 <= low <= high < operand.type.width_bits
                _check(ok, f"{self.where}: [{high}:{low}] of {operand.type}")
            case ir.Concat(left, right, kind):
                ok = ir.width_of(left.type) + ir.width_of(right.type) == ir.width_of(kind)
                ok &= all(isinstance(k, ir.Bits) for k in (left.type, right.type, kind))
                _check(ok, f"{self.where}: {left.type} ++ {right.type} is not {kind}")
            case ir.Cast(operand, kind):
                ok = isinstance(kind, ir.Bits) or (kind == ir.BOOL and ir.width_of(operand.type) == 1)
                ok &= not isinstance(operand.type, ir.VarBits)
                _check(ok, f"{self.where}: cast of {operand.type} to {kind}")

    def constant(self, value: int, kind: ir.Type) -> None:
        if not isinstance(kind, ir.Bits):
            _check(kind == ir.BOOL and value in (0, 1), f"{self.where}: {value} is not of type {kind}")
            return
        _check(0 < kind.width_bits <= LONGEST_BITS, f"{self.where}: no type is {kind}")
        low = -(1 << (kind.width_bits - 1)) if kind.signed else 0
        high = (1 << (kind.width_bits - kind.signed)) - 1
        _check(low <= value <= high, f"{self.where}: {value} is not in {kind}")

    def binary(self, expr: ir.Binary) -> None:
        op, left, right = expr.op, expr.left.type, expr.right.type
        text = f"{self.where}: {left} {op.value} {right} gives {expr.type}"
        if op in LOGIC:
            _check(left == right == expr.type == ir.BOOL, text)
        elif op in COMPARISONS:
            _check(left == right and expr.type == ir.BOOL, text)
            _check(op in (ir.BinaryOp.EQ, ir.BinaryOp.NE) or isinstance(left, ir.Bits), text)
        elif op in SHIFTS:
            _check(expr.type == left and isinstance(left, ir.Bits), text)
            _check(isinstance(right, ir.Bits) and not right.signed, text)
        else:
            _check(left == right == expr.type and isinstance(left, ir.Bits), text)
            signed = isinstance(left, ir.Bits) and left.signed
            _check(not (op in UNSIGNED_ONLY and signed), text)
