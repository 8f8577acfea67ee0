"""The whole document, from the program that the front end made (`emulator.p4.frontend`), before any pass.

The format: bmv2, docs/JSON_format.md, version 2.23. Unions become plain headers: the front end has made their rules
explicit.
"""

from __future__ import annotations

from typing import Any

from emulator.bmv2json.write import statements
from emulator.bmv2json.write.context import SCALARS, STANDARD, VARBIT_FIELD, Context, Json, source_info
from emulator.bmv2json.write.expressions import place, truth
from emulator.bmv2json.write.externs import calculation
from emulator.bmv2json.write.parsers import parser
from emulator.bmv2json.write.pipelines import action, action_profile, pipeline
from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.v1model.egress_queues import qid_of
from emulator.v1model.metadata import WIDTHS_BITS

_VERSION = [2, 23]
_PIPELINES = (("ig", "ingress"), ("eg", "egress"))
_ALIASES = {
    "queueing_metadata": ("enq_timestamp", "enq_qdepth", "deq_timedelta", "deq_qdepth"),
    "intrinsic_metadata": (
        "ingress_global_timestamp",
        "egress_global_timestamp",
        "mcast_grp",
        "egress_rid",
        "priority",
    ),
}
"""The names by which simple_switch finds standard metadata (targets/simple_switch/simple_switch.cpp)."""
_QID = "qid"


def write_json(program: ir.Program, p4info: Any) -> Json:
    """The document as values for `json.dumps`; ``p4info``: the program's, for names. Raises Unwritable."""
    variables = {v.name for v in program.variables}
    instances = {name.rpartition(".")[0] for name in variables}
    copies = {i for i in instances if variables.issuperset(f"{i}.{field}" for field in WIDTHS_BITS)}
    cx = Context(program, {STANDARD} | copies)
    cx.parameter_names |= {a.preamble.name: tuple(p.name for p in a.params) for a in p4info.actions}
    blocks = dict(program.blocks)
    program_parser = blocks["p"]
    assert isinstance(program_parser, ir.Parser)
    parsers = [parser(cx, program_parser)]
    action_ids = {}
    for a in program.actions:
        cx.span = a.span
        action_ids[a.name] = action(cx, ir.control_plane_action(a.name), a.parameters, a.body)
    pipelines = [pipeline(cx, name, i, _control(cx, key), action_ids) for i, (key, name) in enumerate(_PIPELINES)]
    pipelines[0]["action_profiles"] = [action_profile(cx, e) for e in program.externs if e.extern.startswith("action_")]
    checksums = _checksums(cx, "vr", "verify") + _checksums(cx, "ck", "update")
    deparser = _deparser(cx)
    arrays = _arrays(cx)
    value_sets = [
        {"name": v.name, "id": i, **source_info(v.span),
         "compressed_bitwidth": sum(ir.width_of(f.type) for f in v.fields), "max_size": v.size}
        for i, v in enumerate(program.value_sets)
    ]  # fmt: skip
    return {
        **_storage(cx),
        "field_lists": [
            {"id": i + 1, "name": f"fl_{i}", "elements": [place(cx, v) for v in kept]}
            for i, (_, kept) in enumerate(program.field_lists)
        ],
        "errors": [[name, i] for i, name in enumerate(program.errors)],
        "enums": [], "parsers": parsers, "parse_vsets": value_sets, "deparsers": [deparser], **arrays,
        "calculations": cx.calculations, "learn_lists": cx.learn_lists, "actions": cx.actions,
        "pipelines": pipelines, "checksums": checksums, "force_arith": [], "extern_instances": [],
        "field_aliases": _aliases(program),
        "program": f"{program.name}.p4", "__meta__": {"version": _VERSION, "compiler": "netsum"},
    }  # fmt: skip


def _has_qid(program: ir.Program) -> bool:
    """A v1model.p4 of the program's own declares the number of the egress queue."""
    found = qid_of(program)
    return found is not None and found.name == f"{STANDARD}.{_QID}"


def _aliases(program: ir.Program) -> list[Json]:
    aliases: list[Any] = [[f"{old}.{name}", [STANDARD, name]] for old, names in _ALIASES.items() for name in names]
    if _has_qid(program):
        aliases.append([f"queueing_metadata.{_QID}", [STANDARD, _QID]])
    return aliases


def _control(cx: Context, key: str) -> ir.Control:
    control = cx.program.block(key)
    assert isinstance(control, ir.Control)
    return control


# --- storage -----------------------------------------------------------------------------------------------------


def _storage(cx: Context) -> Json:
    """Header types, headers, stacks; metadata comes first, as in p4c's output."""
    program = cx.program
    variables = [v for v in program.variables if v.name.rpartition(".")[0] not in cx.standard]
    scalars = [_field(v.name, v.type) for v in variables if not isinstance(v.type, ir.VarBits)]
    scalars += [_field(name, type_) for name, type_ in cx.temporaries.items()]
    standard = [[name, width, False] for name, width in WIDTHS_BITS.items()]
    if _has_qid(program):
        standard.append(_field(_QID, next(v.type for v in program.variables if v.name == f"{STANDARD}.{_QID}")))
    types: dict[str, Json] = {}
    headers: list[Json] = []

    def instance(name: str, type_name: str, *, metadata: bool) -> None:
        headers.append(
            {"name": name, "id": len(headers), "header_type": type_name, "metadata": metadata, "pi_omit": True}
        )

    for name, fields in (("scalars_0", scalars), (STANDARD, standard)):
        types[name] = {"name": name, "id": len(types), "fields": _padded(fields)}
    instance(SCALARS, "scalars_0", metadata=True)
    for name in sorted(cx.standard, key=lambda n: (n != STANDARD, n)):
        instance(name, STANDARD, metadata=True)
    for v in variables:
        if isinstance(v.type, ir.VarBits):
            name = f"struct$varbit{v.type.max_width_bits}"
            types.setdefault(name, _varbit_type(name, v.type, len(types)))
            instance(v.name, name, metadata=True)
    for header in program.headers:
        if header.type.name not in types:
            types[header.type.name] = _header_type(header.type, len(types))
        instance(cx.instance(header.name), header.type.name, metadata=False)
    ids = {h["name"]: h["id"] for h in headers}
    stacks = [
        {"name": cx.instance(s.name), "id": i, "header_type": s.element.name, "size": s.size,
         "header_ids": [ids[cx.instance(h.name)] for h in s.headers]}
        for i, s in enumerate(program.stacks)
    ]  # fmt: skip
    return {
        "header_types": list(types.values()), "headers": headers, "header_stacks": stacks,
        "header_union_types": [], "header_unions": [], "header_union_stacks": [],
    }  # fmt: skip


def _header_type(type_: ir.HeaderType, number: int) -> Json:
    fields = [[f.name, "*"] if isinstance(f.type, ir.VarBits) else _field(f.name, f.type) for f in type_.fields]
    json: Json = {"name": type_.name, "id": number, "fields": fields}
    if type_.varbit is not None:
        json["max_length"] = (type_.length_bits + 7) // 8
    return json


def _varbit_type(name: str, type_: ir.VarBits, number: int) -> Json:
    return {"name": name, "id": number, "fields": [[VARBIT_FIELD, "*"]], "max_length": (type_.max_width_bits + 7) // 8}


def _field(name: str, type_: ir.Type) -> list[object]:
    """p4c writes 0 and not false for a bool's sign."""
    signed: object = 0 if type_ == ir.BOOL else isinstance(type_, ir.Bits) and type_.signed
    return [name, ir.width_of(type_), signed]


def _padded(fields: list[list[object]]) -> list[list[object]]:
    """bmv2 takes headers of whole bytes, metadata included."""
    rest = -sum(int(str(f[1])) for f in fields) % 8
    return [*fields, ["_padding", rest, False]] if rest else fields


# --- checksums and the deparser ----------------------------------------------------------------------------------


def _checksums(cx: Context, block: str, way: str) -> list[Json]:
    written: list[Json] = []
    for s in _control(cx, block).body:
        cx.span = getattr(s, "span", None) or cx.span
        if not isinstance(s, ir.CallExtern) or not s.name.startswith(f"{way}_checksum"):
            raise cx.fail(f"other statements than {way}_checksum in this control")
        target = s.place(2)
        if isinstance(target, ir.Variable) and not isinstance(target.type, ir.Bits):
            raise cx.fail("a checksum that is not a field")
        cx.primitives = []
        name = calculation(cx, s.expr(3), s.arguments[1], payload=s.name.endswith("_with_payload"))
        if cx.primitives:
            raise cx.fail("a checksum of data that are not fields")
        number = next(cx.numbers)
        written.append(
            {"name": f"cksum_{number}", "id": number, **source_info(s.span), "target": place(cx, target)["value"],
             "type": "generic", "calculation": name, "verify": way == "verify", "update": way == "update",
             "if_cond": truth(cx, s.expr(0))}
        )  # fmt: skip
    return written


def _deparser(cx: Context) -> Json:
    order: list[str] = []
    cx.primitives, cx.regions = [], []
    for s in _control(cx, "dep").body:
        cx.span = getattr(s, "span", None) or cx.span
        if isinstance(s, ir.Emit):
            if not isinstance(s.header, ir.Header):
                raise cx.fail("an emit of a stack's element by an index that is known at run time only")
            order.append(cx.instance(s.header.name))
        elif order:
            raise cx.fail("a statement after an emit")
        else:
            statements.statement(cx, s)
    return {"name": "deparser", "id": 0, "order": order, "primitives": cx.primitives}


# --- arrays ------------------------------------------------------------------------------------------------------


def _arrays(cx: Context) -> Json:
    """Registers, counters and meters."""
    written: dict[str, list[Json]] = {"meter_arrays": [], "counter_arrays": [], "register_arrays": []}
    for extern in cx.program.externs:
        cx.span = extern.span
        is_direct = extern.extern.startswith("direct_")
        bound = next((t.name for t in cx.program.tables if extern in t.attached), None)
        if is_direct and bound is None:
            continue
        kind = extern.extern.removeprefix("direct_")
        if f"{kind}_arrays" not in written:
            if kind == "Checksum16":
                raise cx.fail("Checksum16")
            continue
        if not is_direct and not extern.arguments[0]:
            raise cx.fail(f"a {kind} without elements")
        array: Json = {"name": extern.name, "id": len(written[f"{kind}_arrays"]), **source_info(extern.span)}
        array |= {"is_direct": True, "binding": bound} if is_direct else {"size": extern.arguments[0]}
        if kind == "register":
            array["bitwidth"] = ir.width_of(extern.type_arguments[0])
        elif kind == "meter":
            array |= {"rate_count": 2, "type": str(extern.arguments[-1]).rpartition(".")[2]}
            array |= {"size": 1024, "result_target": _colour(cx, extern)} if is_direct else {"is_direct": False}
        elif not is_direct:
            array["is_direct"] = False
        written[f"{kind}_arrays"].append(array)
    return dict(written)


def _colour(cx: Context, meter: ir.ExternInstance) -> object:
    """The field that the table's actions read a direct meter into."""
    for block in walk.root_blocks(cx.program):
        for s in walk.statements(block):
            if isinstance(s, ir.CallExtern) and s.name == "direct_meter.read" and s.instance == meter:
                return place(cx, s.place(0))["value"]
    return None
