"""Statements of the IR as the primitives of bmv2 actions, with jumps for what branches."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.v1model.metadata import MARKED_TO_DROP, Algorithm
from tests.bmv2_writer.expressions import ExpressionWriter, Json, Unwritable, hexstr


class StatementWriter(ExpressionWriter):
    """``primitives`` is the list of the action being written; ``calculations`` and so on belong to the document."""

    def __init__(self, program: ir.Program) -> None:
        super().__init__()
        self.program = program
        self.primitives: list[Json] = []
        self.calculations: list[Json] = []
        self.learn_lists: list[Json] = []
        self.scalars: dict[str, tuple[int, bool]] = {}
        self.ends: list[list[Json]] = []
        """Of the regions around: jumps to their ends."""
        self.loops: list[tuple[list[Json], list[Json]]] = []
        """Of the loops around: jumps out of them, jumps to their updates."""

    def add(self, op: str, *parameters: Any) -> Json:
        primitive = {"op": op, "parameters": list(parameters)}
        self.primitives.append(primitive)
        return primitive

    def temporary(self, kind: ir.Type) -> Json:
        name = f"tmp_{len(self.scalars)}"
        signed = isinstance(kind, ir.Bits) and kind.signed
        self.scalars[name] = (ir.width_of(kind), signed)
        return {"type": "field", "value": ["scalars", name]}

    def place(self, place: ir.Place) -> Json:
        if isinstance(place, ir.Variable):
            found = self.variable(place)
            if found["type"] != "field":
                raise Unwritable("an assignment to an action's parameter")
            return found
        assert isinstance(place, ir.FieldRef)
        return self.field(place)

    def data_field(self, expr: ir.Expr) -> Json:
        """As a field, by way of a temporary where it is none."""
        if isinstance(expr, ir.FieldRef) and isinstance(expr.header, ir.Header):
            return self.field(expr)
        if isinstance(expr, ir.Variable) and expr.name not in self.parameters:
            return self.variable(expr)
        return self.copy(expr)

    def copy(self, expr: ir.Expr) -> Json:
        target = self.temporary(expr.type)
        self.add("assign", target, self.number(expr))
        return target

    # --- statements --------------------------------------------------------------------------------------------------

    def block(self, block: ir.Block) -> None:
        at = 0
        while at < len(block):
            marked = self._marked_to_drop(block[at : at + len(MARKED_TO_DROP)])
            if marked is None:
                self.statement(block[at])
                at += 1
            else:
                self.add("mark_to_drop", {"type": "header", "value": marked})
                at += len(MARKED_TO_DROP)

    def _marked_to_drop(self, block: ir.Block) -> str | None:
        """The instance, where these statements are what the front end makes of mark_to_drop."""
        done: list[tuple[str, int]] = []
        for s in block:
            if isinstance(s, ir.Assign) and isinstance(s.target, ir.Variable) and isinstance(s.value, ir.Constant):
                done.append((s.target.name, s.value.value))
        for instance in self.standard:
            if done == [(f"{instance}.{field}", value) for field, value in MARKED_TO_DROP.items()]:
                return instance
        return None

    def statement(self, s: ir.Statement) -> None:
        match s:
            case ir.Assign(target, value) if isinstance(target.type, ir.VarBits):
                assert isinstance(value, ir.Variable | ir.FieldRef)
                self.add("assign_VL", self.place(target), self.place(value))
            case ir.Assign(target, value):
                self.add("assign", self.place(target), self.number(value))
            case ir.SetValidity(ref, valid):
                self.add("add_header" if valid else "remove_header", self.header(ref))
            case ir.CopyHeader(target, source):
                self.add("assign_header", self.header(target), self.header(source))
            case ir.PushFront(stack, count):
                self.add("push", {"type": "header_stack", "value": stack.name}, hexstr(count))
            case ir.PopFront(stack, count):
                self.add("pop", {"type": "header_stack", "value": stack.name}, hexstr(count))
            case ir.If(condition, then, otherwise):
                self._if(self.truth(condition), then, otherwise)
            case ir.Switch(value, cases, default):
                self._switch(value, cases, default)
            case ir.Region(_, body, cleanup):
                self.ends.append([])
                outer_loops, self.loops = self.loops, []
                self.block(body)
                self.loops = outer_loops
                self.land(self.ends.pop())
                self.block(cleanup)
            case ir.Return():
                if not self.ends:
                    raise Unwritable("return outside a region")
                self.ends[-1].append(self.add("_jump", None))
            case ir.Loop():
                self._loop(s)
            case ir.Break():
                self.loops[-1][0].append(self.add("_jump", None))
            case ir.Continue():
                self.loops[-1][1].append(self.add("_jump", None))
            case ir.Exit():
                self.add("exit")
                self.ends[0].append(self.add("_jump", None))
            case ir.CallExtern():
                self.call(s)
            case _:
                raise Unwritable(type(s).__name__)

    def land(self, jumps: list[Json]) -> None:
        """Jumps lead here."""
        for jump in jumps:
            jump["parameters"][-1] = hexstr(len(self.primitives))

    def _if(self, condition: Json, then: ir.Block, otherwise: ir.Block) -> None:
        around = self.add("_jump_if_zero", condition, None)
        self.block(then)
        if otherwise:
            out = self.add("_jump", None)
            self.land([around])
            self.block(otherwise)
            self.land([out])
        else:
            self.land([around])

    def _switch(self, value: ir.Expr, cases: tuple[ir.SwitchCase, ...], default: ir.Block) -> None:
        kept = self.temporary(value.type)
        self.add("assign", kept, self.number(value))
        outs = []
        for case in cases:
            tests = [self.equals(kept, number) for number in case.values]
            if not tests:
                continue
            condition = tests[0]
            for test in tests[1:]:
                condition = _node("or", condition, test)
            around = self.add("_jump_if_zero", condition, None)
            self.block(case.body)
            outs.append(self.add("_jump", None))
            self.land([around])
        self.block(default)
        self.land(outs)

    def equals(self, value: Json, number: int) -> Json:
        return _node("==", value, hexstr(number))

    def _loop(self, loop: ir.Loop) -> None:
        top = len(self.primitives)
        self.block(loop.prelude)
        self.loops.append(([], []))
        self.loops[-1][0].append(self.add("_jump_if_zero", self.truth(loop.condition), None))
        self.block(loop.body)
        outs, continues = self.loops.pop()
        self.land(continues)
        self.block(loop.update)
        self.add("_jump", hexstr(top))
        self.land(outs)

    # --- externs -----------------------------------------------------------------------------------------------------

    def call(self, call: ir.CallExtern) -> None:
        method = getattr(self, f"call_{call.name.replace('.', '_')}", None)
        if method is None:
            raise Unwritable(call.name)
        method(call)

    def call_truncate(self, call: ir.CallExtern) -> None:
        self.add("truncate", self.number(call.expr(0)))

    def call_assert(self, call: ir.CallExtern) -> None:
        self.add(call.name, self.truth(call.expr(0)))

    call_assume = call_assert

    def call_log_msg(self, call: ir.CallExtern) -> None:
        text, values = call.arguments
        assert isinstance(text, ir.Text)
        assert isinstance(values, tuple)
        vector = {"type": "parameters_vector", "value": [self.number(v) for v in values]}
        self.add("log_msg", {"type": "string", "value": text.text}, vector)

    def array(self, kind: str, call: ir.CallExtern) -> Json:
        assert isinstance(call.instance, ir.ExternInstance)
        return {"type": kind, "value": call.instance.name}

    def call_register_read(self, call: ir.CallExtern) -> None:
        index = self.number(call.expr(1))
        self.add("register_read", self.place(call.place(0)), self.array("register_array", call), index)

    def call_register_write(self, call: ir.CallExtern) -> None:
        index, value = self.number(call.expr(0)), self.number(call.expr(1))
        self.add("register_write", self.array("register_array", call), index, value)

    def call_counter_count(self, call: ir.CallExtern) -> None:
        self.add("count", self.array("counter_array", call), self.number(call.expr(0)))

    def call_direct_counter_count(self, call: ir.CallExtern) -> None:
        """The table does it."""

    def call_direct_meter_read(self, call: ir.CallExtern) -> None:
        """The table does it."""

    def call_meter_execute_meter(self, call: ir.CallExtern) -> None:
        index = self.number(call.expr(0))
        self.add("execute_meter", self.array("meter_array", call), index, self.place(call.place(1)))

    def calculation(self, algorithm: ir.Expr, data: ir.Argument, *, payload: bool = False, copies: bool = False) -> str:
        assert isinstance(algorithm, ir.Constant)
        assert isinstance(data, tuple)
        inputs: list[Json] = []
        for expr in data:
            if isinstance(expr, ir.Constant):
                width = ir.width_of(expr.type)
                inputs.append(hexstr(expr.value & ((1 << width) - 1)) | {"bitwidth": width})
            elif copies and not isinstance(expr.type, ir.VarBits):
                inputs.append(self.copy(expr))
            else:
                inputs.append(self.data_field(expr))
        if payload:
            inputs.append({"type": "payload", "value": None})
        name = f"calc_{len(self.calculations)}"
        algo = Algorithm(algorithm.value).name.lower()
        self.calculations.append({"name": name, "id": len(self.calculations), "algo": algo, "input": inputs})
        return name

    def call_hash(self, call: ir.CallExtern) -> None:
        _, algorithm, _, data, _ = call.arguments
        assert not isinstance(algorithm, ir.Text | tuple)
        # as p4c: through temporaries the fields of invalid headers count, too
        name = self.calculation(algorithm, data, copies=call.name == "hash")
        target = self.place(call.place(0))
        calculation = {"type": "calculation", "value": name}
        self.add(
            "modify_field_with_hash_based_offset", target, self.number(call.expr(2)), calculation,
            self.number(call.expr(4)),
        )  # fmt: skip

    call_hash_of_valid_fields = call_hash

    def call_random(self, call: ir.CallExtern) -> None:
        bounds = [self.number(call.expr(i)) for i in (1, 2)]
        self.add("modify_field_rng_uniform", self.place(call.place(0)), *bounds)

    def call_digest(self, call: ir.CallExtern) -> None:
        name, receiver, data = call.arguments
        assert isinstance(name, ir.Text)
        assert isinstance(data, tuple)
        elements = []
        for expr in data:
            target = self.temporary(expr.type)
            self.add("assign", target, self.number(expr))
            elements.append(target)
        number = len(self.learn_lists) + 1
        self.learn_lists.append({"id": number, "name": name.text, "elements": elements})
        assert not isinstance(receiver, ir.Text | tuple)
        self.add("generate_digest", self.number(receiver), hexstr(number))

    def call_clone(self, call: ir.CallExtern) -> None:
        self._clone(call, hexstr(0))

    def call_clone_preserving_field_list(self, call: ir.CallExtern) -> None:
        self._clone(call, self.list_number(call.expr(2)))

    def _clone(self, call: ir.CallExtern, number: Json) -> None:
        kind = call.expr(0)
        assert isinstance(kind, ir.Constant)
        way = "egress" if kind.value else "ingress"
        self.add(f"clone_{way}_pkt_to_egress", self.number(call.expr(1)), number)

    def list_number(self, number: ir.Expr) -> Json:
        """Field lists are numbered from 1, in the order of the program's."""
        assert isinstance(number, ir.Constant)
        known = [n for n, _ in self.program.field_lists]
        return hexstr(known.index(number.value) + 1 if number.value in known else 0)

    def call_resubmit_preserving_field_list(self, call: ir.CallExtern) -> None:
        self.add("resubmit", self.list_number(call.expr(0)))

    def call_recirculate_preserving_field_list(self, call: ir.CallExtern) -> None:
        self.add("recirculate", self.list_number(call.expr(0)))


def _node(op: str, left: Json, right: Json) -> Json:
    return {"type": "expression", "value": {"op": op, "left": left, "right": right}}
