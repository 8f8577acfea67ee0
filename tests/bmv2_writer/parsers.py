"""The IR's parser as bmv2's parse states."""

from __future__ import annotations

from emulator.p4 import ir
from tests.bmv2_writer.expressions import Json, Unwritable
from tests.bmv2_writer.statements import StatementWriter


class ParserWriter(StatementWriter):
    def parser(self, parser: ir.Parser) -> Json:
        states = [self._state(state, i) for i, state in enumerate(parser.states)]
        return {"name": "parser", "id": 0, "init_state": "start", "parse_states": states}

    def _state(self, state: ir.State, number: int) -> Json:
        operations: list[Json] = []
        for s in state.body:
            operations += self._operations(s)
        keys: list[Json] = []
        transitions: list[Json] = []
        if isinstance(state.transition, ir.Goto):
            transitions.append(_transition("default", None, None, state.transition.next_state))
        else:
            for expr in state.transition.keys:
                self.primitives = []
                keys.append(self.data_field(expr))
                operations += [{"op": "set", "parameters": p["parameters"]} for p in self.primitives]
            transitions = [self._case(case, state.transition.keys) for case in state.transition.cases]
        return {"name": state.name, "id": number, "parser_ops": operations, "transitions": transitions,
                "transition_key": keys}  # fmt: skip

    def _case(self, case: ir.SelectCase, keys: tuple[ir.Expr, ...]) -> Json:
        if case.value_set is not None:
            return _transition("parse_vset", case.value_set, None, case.next_state)
        value = mask = total = 0
        for keyset, key in zip(case.keysets, keys, strict=True):
            if isinstance(keyset, ir.Between):
                raise Unwritable("a range in a select")
            size = (ir.width_of(key.type) + 7) // 8 * 8
            value, mask, total = value << size | keyset.value & keyset.mask, mask << size | keyset.mask, total + size
        if mask == 0:
            return _transition("default", None, None, case.next_state)
        return _transition("hexstr", f"0x{value:0{total // 4}x}", f"0x{mask:0{total // 4}x}", case.next_state)

    def _operations(self, s: ir.Statement) -> list[Json]:
        match s:
            case ir.Extract(ref, bits):
                what = {"type": "regular", "value": ref.name} if isinstance(ref, ir.Header) else None
                if isinstance(ref, ir.StackNext):
                    what = {"type": "stack", "value": ref.stack.name}
                if what is None:
                    raise Unwritable("an extraction at a computed index")
                if bits is None:
                    return [{"op": "extract", "parameters": [what]}]
                return [{"op": "extract_VL", "parameters": [what, self.number(bits)]}]
            case ir.Lookahead(targets, total):
                sets = []
                for variable, offset in targets:
                    if offset + ir.width_of(variable.type) != total and variable is targets[-1][0]:
                        raise Unwritable("a lookahead with bits that nobody takes")
                    ahead = {"type": "lookahead", "value": [offset, ir.width_of(variable.type)]}
                    sets.append({"op": "set", "parameters": [self.variable(variable), ahead]})
                # the furthest first: a packet that is too short must change nothing
                return sets[::-1]
            case ir.Advance(bits):
                return [{"op": "advance", "parameters": [self.number(bits)]}]
            case ir.Verify(condition, error):
                return [{"op": "verify", "parameters": [self.truth(condition), self.number(error)]}]
            case ir.Assign(target, value) if not isinstance(target.type, ir.VarBits):
                return [{"op": "set", "parameters": [self.place(target), self.number(value)]}]
        self.primitives = []
        self.statement(s)
        if any(p["op"].startswith("_jump") for p in self.primitives):
            raise Unwritable("a branch inside a parser state")
        return [{"op": "primitive", "parameters": [p]} for p in self.primitives]


def _transition(kind: str, value: str | None, mask: str | None, following: str) -> Json:
    following_or_none = None if following in ("accept", "reject") else following
    return {"type": kind, "value": value, "mask": mask, "next_state": following_or_none}
