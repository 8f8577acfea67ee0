"""Ingress and egress: nested statements as a graph of tables and conditions; tables with their keys and entries.

A graph is written from its end to its beginning: every node names the node that follows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from emulator.bmv2json.write import statements
from emulator.bmv2json.write.context import SCALARS, Context, Json, hex_digits, source_info
from emulator.bmv2json.write.expressions import equals, number, stored, truth, variable
from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.table_layout import NOTHING_RUN

Node: TypeAlias = str | None
"""A table or condition by name; None: the pipeline's end."""


@dataclass(frozen=True, slots=True)
class _Exits:
    """Where a region's statements can leave to."""

    region_end: Node
    """``return``."""
    pipeline_end: Node
    """``exit``: the clean-ups of the regions around, then the end."""


@dataclass(frozen=True, slots=True)
class _Continuation:
    """What follows an application of a table."""

    node: Node
    looks_at_result: bool


@dataclass(slots=True)
class Pipeline:
    cx: Context
    action_ids: dict[str, int]
    json: Json
    applied: dict[str, tuple[_Continuation, Node]] = field(default_factory=dict)
    """Tables applied so far: what follows each, and the node where its application begins."""


def pipeline(cx: Context, name: str, number_: int, control: ir.Control, action_ids: dict[str, int]) -> Json:
    json: Json = {
        "name": name, "id": number_, "init_table": None, "tables": [], "action_profiles": [], "conditionals": [],
    }  # fmt: skip
    json["init_table"] = _block(Pipeline(cx, action_ids, json), control.body, None, _Exits(None, None))
    return json


def _block(p: Pipeline, block: ir.Block, following: Node, exits: _Exits) -> Node:
    """The node where the block begins."""
    straight: list[ir.Statement] = []
    for s in reversed(block):
        if _is_straight(s):
            straight.append(s)
            continue
        following = _action(p, tuple(reversed(straight)), following)
        straight = []
        following = _statement(p, s, following, exits)
    return _action(p, tuple(reversed(straight)), following)


def _is_straight(s: ir.Statement) -> bool:
    """Whether an action can hold it as it is."""
    if isinstance(s, ir.If | ir.Switch):
        return False
    inside = [s, *(x for block in walk.nested_blocks(s) for x in walk.statements(block))]
    if any(isinstance(x, ir.ApplyTable | ir.Exit) for x in inside):
        return False
    return isinstance(s, ir.Region) or not any(isinstance(x, ir.Return) for x in inside)


def _statement(p: Pipeline, s: ir.Statement, following: Node, exits: _Exits) -> Node:
    cx = p.cx
    cx.span = getattr(s, "span", None) or cx.span
    match s:
        case ir.If(condition, then, otherwise):
            span = cx.span
            yes, no = _block(p, then, following, exits), _block(p, otherwise, following, exits)
            cx.span = span
            return _conditional(p, truth(cx, condition), yes, no)
        case ir.Switch(value, cases, default):
            target = _block(p, default, following, exits)
            for case in reversed(cases):
                inside = _block(p, case.body, following, exits)
                for other in case.values:
                    target = _conditional(p, equals(number(cx, value), other), inside, target)
            return target
        case ir.Region(_, body, cleanup):
            end = _block(p, cleanup, following, exits)
            leave = _block(p, cleanup, exits.pipeline_end, exits) if cleanup and _exits(body) else exits.pipeline_end
            return _block(p, body, end, _Exits(end, leave))
        case ir.Return():
            return exits.region_end
        case ir.Exit():
            return exits.pipeline_end
        case ir.ApplyTable():
            return _apply(p, s, following)
        case ir.Loop():
            raise cx.fail("a loop that applies tables, or that exits")
    raise cx.fail(f"{type(s).__name__} here")


def _exits(block: ir.Block) -> bool:
    return any(isinstance(s, ir.Exit) for s in walk.statements(block))


def _action(p: Pipeline, block: ir.Block, following: Node) -> Node:
    """A table without keys whose only action is these statements."""
    if not block:
        return following
    cx = p.cx
    name = f"tbl_act_{next(cx.numbers)}"
    cx.span = getattr(block[0], "span", None) or cx.span
    action_name = name.removeprefix("tbl_")
    place = source_info(cx.span)
    number_ = action(cx, action_name, (), block)
    p.json["tables"].append(
        {
            "name": name, "id": next(cx.numbers), **place, "key": [], "match_type": "exact", "type": "simple",
            "max_size": 1024, "with_counters": False, "support_timeout": False, "direct_meters": None,
            "action_ids": [number_], "actions": [action_name], "base_default_next": following,
            "next_tables": {action_name: following},
            "default_entry": {
                "action_id": number_, "action_const": True, "action_data": [], "action_entry_const": True
            },
        }
    )  # fmt: skip
    return name


def action(cx: Context, name: str, parameters: tuple[ir.Variable, ...], body: ir.Block) -> int:
    """A new one of the document's; its id."""
    cx.parameters = {v.name: i for i, v in enumerate(parameters)}
    cx.primitives, cx.regions = [], []
    statements.block(cx, (ir.Region(name, body),))
    cx.parameters = {}
    names = cx.parameter_names.get(name) or [v.name.rpartition(".")[2] for v in parameters]
    data = [{"name": n, "bitwidth": ir.width_of(v.type)} for n, v in zip(names, parameters, strict=True)]
    cx.actions.append({"name": name, "id": len(cx.actions), "runtime_data": data, "primitives": cx.primitives})
    return len(cx.actions) - 1


def _conditional(p: Pipeline, expression: Json, yes: Node, no: Node) -> str:
    name = f"node_{next(p.cx.numbers)}"
    p.json["conditionals"].append(
        {
            "name": name, "id": len(p.json["conditionals"]), **source_info(p.cx.span), "expression": expression,
            "true_next": yes, "false_next": no,
        }
    )  # fmt: skip
    return name


# --- tables ------------------------------------------------------------------------------------------------------


def _apply(p: Pipeline, s: ir.ApplyTable, following: Node) -> Node:
    """bmv2 has a table once, with one continuation for each outcome."""
    continuation = _Continuation(following, s.hit is not None or s.action_run is not None)
    if s.table in p.applied:
        known, begin = p.applied[s.table]
        if known.looks_at_result or continuation != known:
            raise p.cx.fail(f"table {s.table} applied in several places that go on differently")
        return begin
    table = p.cx.program.table(s.table)
    listed = [ir.control_plane_action(a.action) for a in table.actions]
    next_tables: Json = dict.fromkeys(listed, following)
    if s.action_run is not None:
        for i, name in enumerate(listed):
            next_tables[name] = _action(p, (_set(s.action_run, i),), following)
        following = _action(p, (_set(s.action_run, NOTHING_RUN),), following)
    elif s.hit is not None:
        hit, miss = (_action(p, (_set(s.hit, value),), following) for value in (1, 0))
        next_tables = {"__HIT__": hit, "__MISS__": miss}
    json, before = _table(p, table, next_tables, following)
    p.json["tables"].append(json)
    begin = _action(p, before, s.table)
    p.applied[s.table] = (continuation, begin)
    return begin


def _set(target: ir.Variable, value: int) -> ir.Statement:
    return ir.Assign(target, ir.Constant(value, target.type))


def _table(p: Pipeline, table: ir.Table, next_tables: Json, following: Node) -> tuple[Json, ir.Block]:
    """The table, and what has to run before it: assignments of keys that are not fields."""
    before: list[ir.Statement] = []
    keys = [k for k in table.keys if k.match_kind != "selector"]
    written = [_key(p.cx, k, before) for k in keys]
    ids = [p.action_ids[a.action] for a in table.actions]
    profile = next((e for e in table.attached if e.extern.startswith("action_")), None)
    meter = next((e for e in table.attached if e.extern == "direct_meter"), None)
    kinds = {k.match_kind for k in keys}
    if sum(k.match_kind == "lpm" for k in keys) > 1:
        p.cx.span = table.span
        raise p.cx.fail("a table with two lpm keys")
    overall = next((k for k in ("range", "ternary", "optional", "lpm") if k in kinds), "exact")
    json: Json = {
        "name": table.name, "id": next(p.cx.numbers), **source_info(table.span), "key": written,
        "match_type": "ternary" if overall == "optional" else overall, "type": "simple",
        "max_size": table.size, "with_counters": any(e.extern == "direct_counter" for e in table.attached),
        "support_timeout": table.support_timeout, "direct_meters": meter.name if meter else None,
        "action_ids": ids, "actions": [ir.control_plane_action(a.action) for a in table.actions],
        "base_default_next": following, "next_tables": next_tables,
    }  # fmt: skip
    if profile is None:
        const = table.default_is_const
        json["default_entry"] = {**_call(p, table.default_action, table, const), "action_entry_const": const}
    else:
        json |= {"type": "indirect_ws" if profile.extern == "action_selector" else "indirect"}
        json["action_profile"] = profile.name
    if table.entries:
        top = max(e.priority for e in table.entries)
        json["entries"] = [
            {
                **source_info(e.span), "match_key": [_match(s, k) for s, k in zip(e.keysets, keys, strict=True)],
                "action_entry": _call(p, e.call, table), "priority": top + 1 - e.priority,
            }
            for e in table.entries
        ]  # fmt: skip
    return json, tuple(before)


def _call(p: Pipeline, call: ir.ActionCall, table: ir.Table, is_const: bool | None = None) -> Json:
    if all(call.action != a.action for a in table.actions):
        raise p.cx.fail(f"an action that table {table.name} does not list")
    parameters = p.cx.program.action(call.action).parameters
    widths = [ir.width_of(v.type) for v in parameters]
    data = [hex_digits(v & ((1 << w) - 1), w) for v, w in zip(call.arguments, widths, strict=True)]
    const = {} if is_const is None else {"action_const": is_const}
    return {"action_id": p.action_ids[call.action], **const, "action_data": data}


def _key(cx: Context, key: ir.TableKey, before: list[ir.Statement]) -> Json:
    value, mask = key.value, None
    if isinstance(value, ir.Slice) and isinstance(value.operand, ir.FieldRef | ir.Variable):
        width = ir.width_of(value.operand.type)
        mask = hex_digits((1 << (value.high + 1)) - (1 << value.low), width)
        value = value.operand
    if isinstance(value, ir.Cast) and isinstance(value.operand, ir.FieldRef) and mask is None:
        same = ir.width_of(value.operand.type) == ir.width_of(value.type)
        value = value.operand if same else value
    if isinstance(value, ir.IsValid) and isinstance(value.header, ir.Header):
        target = [cx.instance(value.header.name), "$valid$"]
    elif isinstance(value, ir.FieldRef) and isinstance(value.header, ir.Header):
        target = [cx.instance(value.header.name), value.field.name]
    elif isinstance(value, ir.Variable):
        target = variable(cx, value)["value"]
    else:
        target = cx.temporary(value.type)["value"]
        assert target[0] == SCALARS
        before.append(ir.Assign(ir.Variable(target[1], value.type), value))
    return {"match_type": key.match_kind, "name": key.name, "target": target, "mask": mask}


def _match(keyset: ir.KeySet, key: ir.TableKey) -> Json:
    low = key.value.low if isinstance(key.value, ir.Slice) else 0
    width = ir.width_of(key.value.operand.type) if isinstance(key.value, ir.Slice) else ir.width_of(key.value.type)
    if isinstance(keyset, ir.Between):
        start, end = (hex_digits(bound << low, width) for bound in (keyset.low, keyset.high))
        return {"match_type": "range", "start": start, "end": end}
    value, mask = hex_digits(keyset.value << low, width), hex_digits(keyset.mask << low, width)
    if key.match_kind == "lpm":
        return {"match_type": "lpm", "key": value, "prefix_length": keyset.mask.bit_count()}
    if key.match_kind == "exact":
        return {"match_type": "exact", "key": value}
    return {"match_type": "ternary", "key": value, "mask": mask}


def action_profile(cx: Context, extern: ir.ExternInstance) -> Json:
    json: Json = {"name": extern.name, "id": next(cx.numbers), **source_info(extern.span)}
    if extern.extern != "action_selector":
        return json | {"max_size": extern.arguments[0]}
    table = next((t for t in cx.program.tables if extern in t.attached), None)
    keys = [k.value for k in table.keys if k.match_kind == "selector"] if table else []
    cx.span = extern.span
    cx.primitives = []
    inputs = [stored(cx, k) for k in keys]
    if cx.primitives:
        raise cx.fail("a selector key that is not a field")
    algo = str(extern.arguments[0]).rpartition(".")[2]
    return json | {"max_size": extern.arguments[1], "selector": {"algo": algo, "input": inputs}}
