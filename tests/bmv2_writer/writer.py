"""Our own programs as bmv2's JSON, in p4c's manner: for tests of the loader.

`write_bmv2` takes the IR that the front end made; what the format cannot say, or this writer does not, is `Unwritable`.
Unions become plain headers: what the front end made of them says all that they do.
"""

from __future__ import annotations

import itertools
from typing import Any

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.table_layout import NOTHING_RUN
from emulator.v1model.metadata import WIDTHS_BITS
from tests.bmv2_writer.expressions import STANDARD, Json, Unwritable, hexstr
from tests.bmv2_writer.parsers import ParserWriter

Target = str | None


class _Pipeline:
    """The graph of one pipeline while it is written, from its end to its beginning."""

    def __init__(self, document: _Document, name: str, number: int) -> None:
        self.document = document
        self.json: Json = {
            "name": name, "id": number, "init_table": None, "tables": [], "action_profiles": [], "conditionals": [],
            "action_calls": [],
        }  # fmt: skip
        self.applied: dict[str, Json] = {}

    def write(self, body: ir.Block) -> Json:
        self.json["init_table"] = self.block(body, None, None)
        return self.json

    def block(self, block: ir.Block, following: Target, end: Target) -> Target:
        """The node where the block begins; ``end`` is where the region around goes on."""
        run: list[ir.Statement] = []
        for s in reversed(block):
            if _is_straight(s):
                run.append(s)
                continue
            following = self.action(tuple(reversed(run)), following)
            run = []
            following = self.statement(s, following, end)
        return self.action(tuple(reversed(run)), following)

    def action(self, statements: ir.Block, following: Target) -> Target:
        if not statements:
            return following
        name = f"tbl_act_{next(self.document.numbers)}"
        number = self.document.action(f"act_{name}", (), statements)
        self.json["tables"].append(_keyless(name, number, f"act_{name}", following, self.document))
        return name

    def statement(self, s: ir.Statement, following: Target, end: Target) -> Target:
        match s:
            case ir.If(condition, then, otherwise):
                yes, no = self.block(then, following, end), self.block(otherwise, following, end)
                return self.conditional(self.document.truth(condition), yes, no)
            case ir.Switch(value, cases, default):
                target = self.block(default, following, end)
                for case in reversed(cases):
                    inside = self.block(case.body, following, end)
                    for number in case.values:
                        test = self.document.equals(self.document.number(value), number)
                        target = self.conditional(test, inside, target)
                return target
            case ir.Region(_, body, cleanup):
                if cleanup and any(isinstance(x, ir.Exit) for x in walk.statements(body)):
                    raise Unwritable("an exit past a cleanup")
                after = self.block(cleanup, following, end)
                return self.block(body, after, after)
            case ir.Return():
                return end
            case ir.Exit():
                return None
            case ir.ApplyTable():
                return self.apply(s, following)
        raise Unwritable(type(s).__name__)

    def conditional(self, expression: Json, yes: Target, no: Target) -> str:
        name = f"node_{next(self.document.numbers)}"
        self.json["conditionals"].append(
            {"name": name, "id": len(self.json["conditionals"]), "expression": expression, "true_next": yes,
             "false_next": no}
        )  # fmt: skip
        return name

    def apply(self, s: ir.ApplyTable, following: Target) -> str:
        if s.table in self.applied:
            raise Unwritable("a table applied twice")
        table = self.document.program.table(s.table)
        listed = [ir.control_plane_action(a.action) for a in table.actions]
        next_tables: Json = dict.fromkeys(listed, following)
        if s.action_run is not None:
            for i, name in enumerate(listed):
                next_tables[name] = self.action((_set(s.action_run, i),), following)
            following = self.action((_set(s.action_run, NOTHING_RUN),), following)
        elif s.hit is not None:
            next_tables = {
                "__HIT__": self.action((_set(s.hit, 1),), following),
                "__MISS__": self.action((_set(s.hit, 0),), following),
            }
        json, before = self.document.table(table, next_tables, following)
        self.applied[s.table] = json
        self.json["tables"].append(json)
        return self.action(before, s.table) or s.table


class _Document(ParserWriter):
    def __init__(self, program: ir.Program) -> None:
        super().__init__(program)
        self.numbers = itertools.count()
        self.actions: list[Json] = []
        self.action_ids: dict[str, int] = {}
        self.pipelines: list[_Pipeline] = []

    # --- actions and tables ------------------------------------------------------------------------------------------

    def action(self, name: str, parameters: tuple[ir.Variable, ...], body: ir.Block) -> int:
        self.parameters = {p.name: i for i, p in enumerate(parameters)}
        self.primitives, self.ends = [], []
        self.block((ir.Region(name, body),))
        self.parameters = {}
        number = len(self.actions)
        data = [{"name": p.name.rpartition(".")[2], "bitwidth": ir.width_of(p.type)} for p in parameters]
        self.actions.append({"name": name, "id": number, "runtime_data": data, "primitives": self.primitives})
        return number

    def table(self, table: ir.Table, next_tables: Json, following: Target) -> tuple[Json, ir.Block]:
        """The table, and what has to run before it."""
        before: list[ir.Statement] = []
        keys = [k for k in table.keys if k.match_kind != "selector"]
        written = [self._key(k, before) for k in keys]
        listed = [ir.control_plane_action(a.action) for a in table.actions]
        ids = [self.action_ids[a.action] for a in table.actions]
        profile = next((e for e in table.attached if e.extern.startswith("action_")), None)
        meter = next((e for e in table.attached if e.extern == "direct_meter"), None)
        kinds = {k.match_kind for k in keys}
        overall = next((k for k in ("range", "ternary", "optional", "lpm") if k in kinds), "exact")
        json: Json = {
            "name": table.name, "id": next(self.numbers), "key": written,
            "match_type": "ternary" if overall == "optional" else overall, "type": "simple",
            "max_size": table.size, "with_counters": any(e.extern == "direct_counter" for e in table.attached),
            "support_timeout": table.support_timeout, "direct_meters": meter.name if meter else None,
            "action_ids": ids, "actions": listed, "base_default_next": following, "next_tables": next_tables,
        }  # fmt: skip
        if profile is None:
            json["default_entry"] = self._call(table.default_action, ids, table) | {
                "action_const": table.default_is_const, "action_entry_const": table.default_is_const
            }  # fmt: skip
        else:
            json["type"] = "indirect_ws" if profile.extern == "action_selector" else "indirect"
            json["action_profile"] = profile.name
        top = max((e.priority for e in table.entries), default=0)
        json["entries"] = [
            {"match_key": [_match_key(s, k) for s, k in zip(e.keysets, keys, strict=True)],
             "action_entry": self._call(e.call, ids, table), "priority": top + 1 - e.priority}
            for e in table.entries
        ]  # fmt: skip
        return json, tuple(before)

    def _call(self, call: ir.ActionCall, ids: list[int], table: ir.Table) -> Json:
        index = [a.action for a in table.actions].index(call.action)
        parameters = self.program.action(call.action).parameters
        data = [f"0x{v & ((1 << ir.width_of(p.type)) - 1):x}" for v, p in zip(call.arguments, parameters, strict=True)]
        return {"action_id": ids[index], "action_data": data}

    def _key(self, key: ir.TableKey, before: list[ir.Statement]) -> Json:
        value, mask = key.value, None
        if isinstance(value, ir.Slice) and isinstance(value.operand, ir.FieldRef | ir.Variable):
            mask = f"0x{(1 << (value.high + 1)) - (1 << value.low):x}"
            value = value.operand
        if isinstance(value, ir.Cast) and isinstance(value.operand, ir.FieldRef) and mask is None:
            same = ir.width_of(value.operand.type) == ir.width_of(value.type)
            value = value.operand if same else value
        if isinstance(value, ir.IsValid) and isinstance(value.header, ir.Header):
            target = [value.header.name, "$valid$"]
        elif isinstance(value, ir.FieldRef) and isinstance(value.header, ir.Header):
            target = [value.header.name, value.field.name]
        elif isinstance(value, ir.Variable):
            target = self.variable(value)["value"]
        else:
            target = self.temporary(value.type)["value"]
            before.append(ir.Assign(_variable(target[1], value.type), value))
        return {"match_type": key.match_kind, "name": key.name, "target": target, "mask": mask}

    # --- the whole ---------------------------------------------------------------------------------------------------

    def write(self) -> Json:
        program = self.program
        variables = {v.name for v in program.variables}
        instances = {name.rpartition(".")[0] for name in variables}
        self.standard |= {i for i in instances if variables.issuperset(f"{i}.{field}" for field in WIDTHS_BITS)}
        if any(isinstance(s, ir.Repeat) for b in walk.root_blocks(program) for s in walk.statements(b)):
            raise Unwritable("the IR after its passes")
        parser = program.block("p")
        assert isinstance(parser, ir.Parser)
        parsers = [self.parser(parser)]
        for action in program.actions:
            name = ir.control_plane_action(action.name)
            self.action_ids[action.name] = self.action(name, action.parameters, action.body)
        pipelines = []
        for i, (block, name) in enumerate((("ig", "ingress"), ("eg", "egress"))):
            control = program.block(block)
            assert isinstance(control, ir.Control)
            pipelines.append(_Pipeline(self, name, i).write(control.body))
        pipelines[0]["action_profiles"] = [self._profile(e) for e in program.externs if e.extern.startswith("action_")]
        checksums = self._checksums("vr", "verify") + self._checksums("ck", "update")
        deparser = self._deparser()
        return self._storage() | {
            "program": f"{program.name}.p4", "__meta__": {"version": [2, 23], "compiler": "tests"},
            "errors": [[name, i] for i, name in enumerate(program.errors)], "enums": [],
            "parsers": parsers, "deparsers": [deparser], "actions": self.actions,
            "parse_vsets": [
                {"name": v.name, "id": i, "compressed_bitwidth": sum(ir.width_of(f.type) for f in v.fields),
                 "max_size": v.size} for i, v in enumerate(program.value_sets)
            ],
            "pipelines": pipelines, "checksums": checksums, "calculations": self.calculations,
            "learn_lists": self.learn_lists, "force_arith": [], "extern_instances": [],
            "field_lists": [
                {"id": i + 1, "name": f"fl_{i}", "elements": [self.variable(v) for v in kept]}
                for i, (_, kept) in enumerate(program.field_lists)
            ],
            **self._arrays(),
        }  # fmt: skip

    def _deparser(self) -> Json:
        control = self.program.block("dep")
        assert isinstance(control, ir.Control)
        order, self.primitives = [], []
        for s in control.body:
            if isinstance(s, ir.Emit):
                if not isinstance(s.header, ir.Header):
                    raise Unwritable("an emit of a computed element")
                order.append(s.header.name)
            elif order:
                raise Unwritable("a statement after an emit")
            else:
                self.statement(s)
        return {"name": "deparser", "id": 0, "order": order, "primitives": self.primitives}

    def _checksums(self, block: str, way: str) -> list[Json]:
        control = self.program.block(block)
        assert isinstance(control, ir.Control)
        found = []
        for s in control.body:
            if not isinstance(s, ir.CallExtern) or not s.name.startswith(f"{way}_checksum"):
                raise Unwritable(f"{type(s).__name__} among checksums")
            target = s.arguments[2]
            if not isinstance(target, ir.FieldRef | ir.Variable) or (
                isinstance(target, ir.Variable) and not isinstance(target.type, ir.Bits)
            ):
                raise Unwritable("a checksum that is no field")
            self.primitives = []
            calculation = self.calculation(s.expr(3), s.arguments[1], payload=s.name.endswith("_with_payload"))
            if self.primitives:
                raise Unwritable("a checksum of computed data")
            found.append(
                {"name": f"cksum_{next(self.numbers)}", "id": next(self.numbers), "target": self.place(target)["value"],
                 "type": "generic", "calculation": calculation, "verify": way == "verify", "update": way == "update",
                 "if_cond": self.truth(s.expr(0))}
            )  # fmt: skip
        return found

    def _profile(self, extern: ir.ExternInstance) -> Json:
        json: Json = {"name": extern.name, "id": next(self.numbers), "max_size": extern.arguments[0]}
        if extern.extern == "action_selector":
            json["max_size"] = extern.arguments[1]
            table = next((t for t in self.program.tables if extern in t.attached), None)
            keys = [k.value for k in table.keys if k.match_kind == "selector"] if table else []
            self.primitives = []
            inputs = [self.data_field(k) for k in keys]
            if self.primitives:
                raise Unwritable("a computed selector key")
            algo = str(extern.arguments[0]).rpartition(".")[2]
            json["selector"] = {"algo": algo, "input": inputs}
        return json

    def _arrays(self) -> Json:
        found: dict[str, list[Json]] = {"meter_arrays": [], "counter_arrays": [], "register_arrays": []}
        for extern in self.program.externs:
            common: Json = {"name": extern.name, "id": next(self.numbers), "is_direct": "direct" in extern.extern}
            bound = next((t.name for t in self.program.tables if extern in t.attached), None)
            if extern.extern == "register":
                width = ir.width_of(extern.type_arguments[0])
                found["register_arrays"].append(common | {"size": extern.arguments[0], "bitwidth": width})
            elif extern.extern == "counter":
                found["counter_arrays"].append(common | {"size": extern.arguments[0]})
            elif extern.extern == "direct_counter" and bound:
                found["counter_arrays"].append(common | {"binding": bound})
            elif extern.extern == "meter":
                more = {"rate_count": 2, "type": extern.arguments[1], "size": extern.arguments[0]}
                found["meter_arrays"].append(common | more)
            elif extern.extern == "direct_meter" and bound:
                more = {"rate_count": 2, "type": extern.arguments[-1], "binding": bound, "size": 1024}
                found["meter_arrays"].append(common | more | {"result_target": self._colour(extern)})
            elif extern.extern == "Checksum16":
                raise Unwritable("Checksum16")
        return dict(found)

    def _colour(self, meter: ir.ExternInstance) -> Any:
        for block in walk.root_blocks(self.program):
            for s in walk.statements(block):
                if isinstance(s, ir.CallExtern) and s.name == "direct_meter.read" and s.instance == meter:
                    return self.place(s.place(0))["value"]
        return None

    def _storage(self) -> Json:
        program = self.program
        types: dict[str, Json] = {}
        for header in program.headers:
            fields = [
                [f.name, "*"] if isinstance(f.type, ir.VarBits) else [f.name, ir.width_of(f.type), _signed(f.type)]
                for f in header.type.fields
            ]
            types[header.type.name] = {"name": header.type.name, "id": len(types), "fields": fields}
            if header.type.varbit is not None:
                types[header.type.name]["max_length"] = (header.type.length_bits + 7) // 8
        scalars = [
            [v.name, ir.width_of(v.type), _signed(v.type)]
            for v in program.variables
            if v.name.rpartition(".")[0] not in self.standard and not isinstance(v.type, ir.VarBits)
        ]
        scalars += [[name, width, signed] for name, (width, signed) in self.scalars.items()]
        standard = [[name, width, False] for name, width in WIDTHS_BITS.items()]
        more: list[tuple[str, str, list[Any]]] = [("scalars", "scalars_t", scalars)]
        more += [(name, STANDARD, standard) for name in sorted(self.standard)]
        headers: list[Json] = []
        for name, type_name, fields in more:
            types.setdefault(f"${type_name}", {"name": type_name, "id": len(types), "fields": fields})
            headers.append({"name": name, "id": len(headers), "header_type": type_name, "metadata": True})
        ids = {}
        for header in program.headers:
            ids[header.name] = len(headers)
            headers.append(
                {"name": header.name, "id": len(headers), "header_type": header.type.name, "metadata": False}
            )
        stacks = [
            {"name": s.name, "id": i, "header_type": s.element.name, "size": s.size,
             "header_ids": [ids[h.name] for h in s.headers]}
            for i, s in enumerate(program.stacks)
        ]  # fmt: skip
        return {"header_types": list(types.values()), "headers": headers, "header_stacks": stacks,
                "header_union_types": [], "header_unions": [], "header_union_stacks": [],
                "field_aliases": [["intrinsic_metadata.mcast_grp", ["standard_metadata", "mcast_grp"]]]}  # fmt: skip


def write_bmv2(program: ir.Program) -> Json:
    """The document. Raises Unwritable."""
    return _Document(program).write()


def _signed(kind: ir.Type) -> bool:
    return isinstance(kind, ir.Bits) and kind.signed


def _variable(name: str, kind: ir.Type) -> ir.Variable:
    return ir.Variable(name, kind)


def _set(variable: ir.Variable, value: int) -> ir.Statement:
    return ir.Assign(variable, ir.Constant(value, variable.type))


def _is_straight(s: ir.Statement) -> bool:
    """Can stand in an action as it is."""
    inside = [s, *(x for block in walk.nested_blocks(s) for x in walk.statements(block))]
    if any(isinstance(x, ir.ApplyTable | ir.Exit) for x in inside):
        return False
    if isinstance(s, ir.If | ir.Switch):
        return False
    return not any(isinstance(x, ir.Return) for x in inside) or isinstance(s, ir.Region)


def _keyless(name: str, action: int, action_name: str, following: Target, document: _Document) -> Json:
    return {
        "name": name, "id": next(document.numbers), "key": [], "match_type": "exact", "type": "simple",
        "max_size": 1024, "with_counters": False, "support_timeout": False, "direct_meters": None,
        "action_ids": [action], "actions": [action_name], "base_default_next": following,
        "next_tables": {action_name: following},
        "default_entry": {"action_id": action, "action_const": True, "action_data": [], "action_entry_const": True},
    }  # fmt: skip


def _match_key(keyset: ir.KeySet, key: ir.TableKey) -> Json:
    width = ir.width_of(key.value.type)
    low = key.value.low if isinstance(key.value, ir.Slice) else 0
    kind = key.match_kind
    if isinstance(keyset, ir.Between):
        return {"match_type": "range", "start": f"0x{keyset.low << low:x}", "end": f"0x{keyset.high << low:x}"}
    value, mask = f"0x{keyset.value << low:x}", f"0x{keyset.mask << low:x}"
    if kind == "lpm":
        return {"match_type": "lpm", "key": value, "prefix_length": bin(keyset.mask).count("1")}
    if kind == "exact":
        return {"match_type": "exact", "key": value}
    assert keyset.mask < 1 << width
    return {"match_type": "ternary", "key": value, "mask": mask}


__all__ = ["Unwritable", "hexstr", "write_bmv2"]
