"""The resolved program to the IR, bound to its architecture's package; the tables of functions for each construct."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from emulator.p4 import ir
from emulator.p4.architecture import PACKET_IN, PACKET_OUT, Architecture
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.reporting import fail
from emulator.p4.errors import Abandoned, Diagnostic, Diagnostics, Kind
from emulator.p4.lower import (
    actions,
    blocks,
    calls,
    expressions,
    externs,
    instances,
    loops,
    operators,
    parsers,
    places,
    statements,
    storage,
    tables,
)
from emulator.p4.lower.context import Context, Expressions, Statements
from emulator.p4.lower.records import ActionRecord, BlockInstance, ExternRecord, digest_names
from emulator.p4.lower.shapes import Parts, Value, leaves
from emulator.p4.syntax.source import Tokens


def _apply_block(cx: Context, expr: r.BlockApply) -> Value:
    instance = blocks.instance_of(cx, expr)
    if instance.symbol.kind == "parser":
        parsers.apply_parser(cx, expr, instance)
    else:
        blocks.apply_control(cx, expr, instance)
    return None


EXPRESSIONS: Expressions = {
    r.Literal: expressions.literal,
    r.Ref: expressions.ref,
    r.FieldOf: expressions.field,
    r.ElementOf: expressions.element_of,
    r.StackProperty: expressions.stack_property,
    r.SliceOf: expressions.slice_of,
    r.SliceAt: expressions.slice_at,
    r.Aggregate: expressions.aggregate,
    r.InvalidHeader: expressions.invalid_header,
    r.Construct: expressions.construct,
    r.Unary: operators.unary,
    r.Binary: operators.binary,
    r.Mux: operators.mux,
    r.Cast: operators.cast,
    r.BuiltinCall: calls.builtin,
    r.FunctionCall: calls.function,
    r.ExternCall: externs.call,
    r.ActionCall: actions.call,
    r.TableApply: tables.apply,
    r.ApplyResult: tables.apply,
    r.BlockApply: _apply_block,
}

STATEMENTS: Statements = {
    r.Assign: places.assign,
    r.Update: places.update,
    r.Declare: statements.declare,
    r.If: parsers.if_,
    r.Switch: statements.switch,
    r.CallStatement: statements.call,
    r.Return: statements.return_,
    r.Exit: statements.exit_,
    r.For: loops.for_,
    r.ForIn: loops.for_in_,
    r.Break: loops.break_,
    r.Continue: loops.continue_,
}


@dataclass(frozen=True, slots=True)
class Lowered:
    """The IR, and the instances that P4Info is made from."""

    program: ir.Program
    globals: tuple[ExternRecord, ...]
    blocks: tuple[tuple[str, BlockInstance], ...]
    """Blocks by package parameter, in order."""
    global_actions: tuple[ActionRecord, ...]
    called: dict[str, tuple[ActionRecord, ...]]
    """Actions that statements call, by package parameter, in order of the first call."""
    calls_setter: bool
    """Whether a block calls an extern that becomes assignments: P4Info depends on it, and the IR does not show it."""
    refusals: tuple[Diagnostic, ...]
    """Legal constructs that the architecture's engines lack."""


def lower(
    program: r.Program, name: str, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture
) -> Lowered:
    """The program in the IR; raises `CompileError` when anything in it cannot be lowered."""
    cx = Context(tokens, diagnostics, architecture, EXPRESSIONS, STATEMENTS)
    try:
        result = _program(cx, program, name)
    except Abandoned:
        diagnostics.raise_if_any()
        raise
    diagnostics.raise_if_any()
    return result


def _program(cx: Context, program: r.Program, name: str) -> Lowered:
    cx.errors = {error: number for number, error in enumerate(program.errors)}
    package = None if program.main is None else _package(cx, program.main)
    records = tuple(ExternRecord(instances.extern_instance(cx, symbol, ""), symbol) for symbol in program.globals)
    for record in records:
        cx.env[record.symbol] = record.instance
    applied = _instances(cx, package) if package else []
    cx.data_names = digest_names(applied)
    bodies: list[tuple[str, ir.Parser | ir.Control]] = []
    called: dict[str, tuple[ActionRecord, ...]] = {}
    for block_name, instance in applied:
        try:
            bodies.append((block_name, _block(cx, block_name, instance)))
        except Abandoned:
            continue
        called[block_name], cx.made.called = tuple(cx.made.called), []
    made = cx.made
    lowered = ir.Program(
        name, tuple(made.headers), tuple(made.stacks), tuple(made.variables), tuple(bodies), tuple(made.actions),
        tuple(made.tables), tuple(made.externs), program.errors, value_sets=tuple(made.value_sets),
        field_lists=_field_lists(cx, program, applied),
    )  # fmt: skip
    return Lowered(
        lowered,
        records,
        tuple(applied),
        tuple(made.global_actions.values()),
        called,
        made.calls_setter,
        tuple(cx.refusals),
    )


def _package(cx: Context, main: r.InstanceSymbol) -> r.Construct:
    """The value of ``main``: an instance of the architecture's package, with the architecture's blocks."""
    package, architecture = main.type, cx.architecture
    assert isinstance(package, t.BlockType)
    if package.name != architecture.package:
        text = f"main must be a {architecture.package} on {architecture.name}, not a {package.name}"
        fail(cx, main.at, text, Kind.TARGET)
    types = {bound.parameter.name: bound.parameter.type for bound in main.construct.arguments}
    for name, roots in architecture.blocks.items():
        type_ = types.get(name)
        if not isinstance(type_, t.BlockType) or len(type_.apply.parameters) != len(roots):
            text = f"this {package.name} is not the one of {architecture.name}: include its file"
            fail(cx, main.at, text, Kind.TARGET)
    return main.construct


def _instances(cx: Context, package: r.Construct) -> list[tuple[str, BlockInstance]]:
    """The package's blocks; those with errors are left out."""
    result = []
    for bound in package.arguments:
        with suppress(Abandoned):
            result.append((bound.parameter.name, _instance(cx, bound)))
    return result


def _instance(cx: Context, bound: r.Bound) -> BlockInstance:
    value = bound.value
    while isinstance(value, r.Ref) and isinstance(value.symbol, r.InstanceSymbol):
        value = value.symbol.construct
    if not isinstance(value, r.Construct) or value.block is None:
        fail(cx, value or cx.at, "a package's argument must be an instance of a parser or control")
    return instances.make_instance(cx, value, value.block.name)


def _block(cx: Context, name: str, instance: BlockInstance) -> ir.Parser | ir.Control:
    """One of the package's blocks; storage that blocks share is made by the first one that names it."""
    cx.block_name = name
    parameters: list[Value] = []
    outer = cx.scope()
    cx.types = {**cx.types, **instance.types}
    for symbol, root in zip(instance.symbol.parameters, cx.architecture.blocks[name], strict=True):
        if root in (PACKET_IN, PACKET_OUT):
            parameters.append(None)
            continue
        if root not in cx.shared:
            cx.at = symbol.at
            cx.shared[root] = storage.allocate(cx, root, cx.type(symbol.type))
        parameters.append(cx.shared[root])
    if instance.symbol.kind == "parser":
        result: ir.Parser | ir.Control = parsers.parser(cx, instance, parameters)
    else:
        blocks.enter(cx, instance, parameters)
        result = ir.Control(instance.path, actions.with_returns(instance.path, blocks.control_body(cx, instance)))
    cx.restore(outer)
    return result


def _field_lists(
    cx: Context, program: r.Program, applied: list[tuple[str, BlockInstance]]
) -> tuple[tuple[int, tuple[ir.Variable, ...]], ...]:
    """The metadata's scalars by the numbers of the annotations on its fields."""
    annotation_name, root = cx.architecture.field_lists
    parts = cx.shared.get(root)
    type_ = _type_of_root(cx, root, applied)
    if not isinstance(parts, Parts) or not isinstance(type_, t.StructLike):
        return ()
    lists: dict[int, list[ir.Variable]] = {}
    for field in type_.fields.values():
        for annotation in field.annotations:
            for number in program.field_lists.get(annotation.at, ()) if annotation.name == annotation_name else ():
                variables = lists.setdefault(number, [])
                variables += [v for v in leaves(parts.part(field.name)) if isinstance(v, ir.Variable)]
    return tuple((number, tuple(lists[number])) for number in sorted(lists))


def _type_of_root(cx: Context, root: str, applied: list[tuple[str, BlockInstance]]) -> t.Type | None:
    for name, instance in applied:
        for symbol, its_root in zip(instance.symbol.parameters, cx.architecture.blocks[name], strict=True):
            if its_root == root:
                return t.substitute(symbol.type, instance.types)
    return None
