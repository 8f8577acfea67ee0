"""The resolved program to the IR, bound to its architecture's package."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from emulator.p4 import ir
from emulator.p4.architecture import PACKET_IN, PACKET_OUT, Architecture
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.errors import Abandoned, Diagnostic, Diagnostics, Kind
from emulator.p4.lower.digests import digest_names
from emulator.p4.lower.parsers import ParserLowering
from emulator.p4.lower.records import ActionRecord, BlockInstance, ExternRecord
from emulator.p4.lower.storage import Parts, Value, leaves
from emulator.p4.syntax.source import Tokens


@dataclass(frozen=True, slots=True)
class Lowered:
    """The IR, and the instances that P4Info is made from."""

    program: ir.Program
    globals: tuple[ExternRecord, ...]
    blocks: tuple[tuple[str, BlockInstance], ...]
    """By package parameter, in order."""
    global_actions: tuple[ActionRecord, ...]
    called: dict[str, tuple[ActionRecord, ...]]
    """By package parameter, the actions that its statements call, in order of the first call."""
    calls_setter: bool
    """Whether a block calls an extern that becomes assignments: P4Info depends on it, and the IR does not show it."""
    refusals: tuple[Diagnostic, ...]
    """Legal constructs that the architecture's engines lack."""


class Lowering(ParserLowering):
    def program(self, program: r.Program, name: str) -> Lowered:
        self.errors = {error: number for number, error in enumerate(program.errors)}
        package = None if program.main is None else self._package(program.main)
        records = tuple(ExternRecord(self.extern_instance(symbol, ""), symbol) for symbol in program.globals)
        for record in records:
            self.env[record.symbol] = record.instance
        instances = self._instances(package) if package else []
        self.data_names = digest_names(instances)
        self.shared = {}
        blocks: list[tuple[str, ir.Parser | ir.Control]] = []
        called: dict[str, tuple[ActionRecord, ...]] = {}
        for block_name, instance in instances:
            try:
                blocks.append((block_name, self._block(block_name, instance)))
            except Abandoned:
                continue
            called[block_name], self.called = tuple(self.called), []
        lowered = ir.Program(
            name, tuple(self.headers), tuple(self.stacks), tuple(self.variables), tuple(blocks), tuple(self.actions),
            tuple(self.tables), tuple(self.externs), program.errors, value_sets=tuple(self.value_sets),
            field_lists=self._field_lists(program, instances),
        )  # fmt: skip
        return Lowered(
            lowered,
            records,
            tuple(instances),
            tuple(self.global_actions.values()),
            called,
            self.calls_setter,
            tuple(self.refusals),
        )

    # --- the package ---------------------------------------------------------------------------------------------

    def _package(self, main: r.InstanceSymbol) -> r.Construct:
        """What ``main`` is made of: an instance of the architecture's package, with the architecture's blocks."""
        package, architecture = main.type, self.architecture
        assert isinstance(package, t.BlockType)
        if package.name != architecture.package:
            text = f"main must be a {architecture.package} on {architecture.name}, not a {package.name}"
            self.fail(main.at, text, Kind.TARGET)
        blocks = {bound.parameter.name: bound.parameter.type for bound in main.construct.arguments}
        for name, roots in architecture.blocks.items():
            type_ = blocks.get(name)
            if not isinstance(type_, t.BlockType) or len(type_.apply.parameters) != len(roots):
                text = f"this {package.name} is not the one of {architecture.name}: include its file"
                self.fail(main.at, text, Kind.TARGET)
        return main.construct

    def _instances(self, package: r.Construct) -> list[tuple[str, BlockInstance]]:
        """The package's blocks; those with errors are left out."""
        found = []
        for bound in package.arguments:
            with suppress(Abandoned):
                found.append((bound.parameter.name, self._instance(bound)))
        return found

    def _instance(self, bound: r.Bound) -> BlockInstance:
        value = bound.value
        while isinstance(value, r.Ref) and isinstance(value.symbol, r.InstanceSymbol):
            value = value.symbol.construct
        if not isinstance(value, r.Construct) or value.block is None:
            self.fail(value or self.at, "a package's argument must be an instance of a parser or control")
        return self.make_instance(value, value.block.name)

    def _block(self, name: str, instance: BlockInstance) -> ir.Parser | ir.Control:
        """One of the package's blocks; storage that blocks share is made by the first that names it."""
        self.block_name = name
        parameters: list[Value] = []
        outer = self.instance, self.env, self.types
        self.types = {**self.types, **instance.types}
        for symbol, root in zip(instance.symbol.parameters, self.architecture.blocks[name], strict=True):
            if root in (PACKET_IN, PACKET_OUT):
                parameters.append(None)
                continue
            if root not in self.shared:
                self.at = symbol.at
                self.shared[root] = self.allocate(root, self.type(symbol.type))
            parameters.append(self.shared[root])
        if instance.symbol.kind == "parser":
            found: ir.Parser | ir.Control = self.parser(instance, parameters)
        else:
            self.enter(instance, parameters)
            found = ir.Control(instance.path, self.with_returns(instance.path, self.control_body(instance)))
        self.instance, self.env, self.types = outer
        return found

    # --- field lists ---------------------------------------------------------------------------------------------

    def _field_lists(
        self, program: r.Program, instances: list[tuple[str, BlockInstance]]
    ) -> tuple[tuple[int, tuple[ir.Variable, ...]], ...]:
        """The metadata's scalars by the numbers of the annotations on its fields."""
        annotation_name, root = self.architecture.field_lists
        storage = self.shared.get(root)
        type_ = self._type_of_root(root, instances)
        if not isinstance(storage, Parts) or not isinstance(type_, t.StructLike):
            return ()
        lists: dict[int, list[ir.Variable]] = {}
        for field in type_.fields.values():
            for annotation in field.annotations:
                for number in program.field_lists.get(annotation.at, ()) if annotation.name == annotation_name else ():
                    variables = lists.setdefault(number, [])
                    variables += [v for v in leaves(storage.part(field.name)) if isinstance(v, ir.Variable)]
        return tuple((number, tuple(lists[number])) for number in sorted(lists))

    def _type_of_root(self, root: str, instances: list[tuple[str, BlockInstance]]) -> t.Type | None:
        for name, instance in instances:
            for symbol, its_root in zip(instance.symbol.parameters, self.architecture.blocks[name], strict=True):
                if its_root == root:
                    return t.substitute(symbol.type, instance.types)
        return None


def lower(
    program: r.Program, name: str, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture
) -> Lowered:
    """The program in the IR; raises `CompileError` when anything in it cannot be lowered."""
    lowering = Lowering(tokens, diagnostics, architecture)
    try:
        found = lowering.program(program, name)
    except Abandoned:
        diagnostics.raise_if_any()
        raise
    diagnostics.raise_if_any()
    return found
