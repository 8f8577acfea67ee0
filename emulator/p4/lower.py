"""The resolved program to the IR, bound to its architecture's package."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.p4 import ir
from emulator.p4 import resolved as r
from emulator.p4 import types as t
from emulator.p4.architecture import PACKET_IN, PACKET_OUT, Architecture
from emulator.p4.errors import Abandoned, Diagnostics, Kind
from emulator.p4.lower_blocks import ActionRecord, BlockInstance, ExternRecord
from emulator.p4.lower_parsers import ParserLowering
from emulator.p4.lower_storage import Value
from emulator.p4.source import Tokens


@dataclass(frozen=True, slots=True)
class Lowered:
    """The IR, and the instances that P4Info is made from."""

    program: ir.Program
    globals: tuple[ExternRecord, ...]
    blocks: tuple[tuple[str, BlockInstance], ...]
    """By package parameter, in order."""
    global_actions: tuple[ActionRecord, ...]


class Lowering(ParserLowering):
    def program(self, program: r.Program, name: str) -> Lowered:
        main = program.main
        if main is None:
            self.fail(len(self.tokens.kinds) - 1, "there is no instance called 'main'", Kind.NAME)
        package = main.type
        assert isinstance(package, t.BlockType)
        if package.name != self.architecture.package:
            text = f"main must be a {self.architecture.package} on {self.architecture.name}, not a {package.name}"
            self.fail(main.at, text, Kind.TARGET)
        self.errors = {error: number for number, error in enumerate(program.errors)}
        records = tuple(ExternRecord(self.extern_instance(symbol, ""), symbol) for symbol in program.globals)
        for record in records:
            self.env[record.symbol] = record.instance
        shared: dict[str, Value] = {}
        instances: list[tuple[str, BlockInstance]] = []
        blocks: list[tuple[str, ir.Parser | ir.Control]] = []
        for bound in main.construct.arguments:
            try:
                instance = self._instance(bound)
                instances.append((bound.parameter.name, instance))
                blocks.append((bound.parameter.name, self._block(bound.parameter.name, instance, shared)))
            except Abandoned:
                continue
        lowered = ir.Program(
            name, tuple(self.headers), tuple(self.stacks), tuple(self.variables), tuple(blocks), tuple(self.actions),
            tuple(self.tables), tuple(self.externs), program.errors,
        )  # fmt: skip
        return Lowered(lowered, records, tuple(instances), tuple(self.global_actions.values()))

    def _instance(self, bound: r.Bound) -> BlockInstance:
        value = bound.value
        if isinstance(value, r.Ref) and isinstance(value.symbol, r.InstanceSymbol):
            value = value.symbol.construct
        if not isinstance(value, r.Construct) or value.block is None:
            self.fail(value or self.at, "a package's argument must be an instance of a parser or control")
        return self.make_instance(value.block, value.block.name, value.arguments)

    def _block(self, name: str, instance: BlockInstance, shared: dict[str, Value]) -> ir.Parser | ir.Control:
        """One of the package's blocks; storage that blocks share is made by the first that names it."""
        self.block_name = name
        parameters: list[Value] = []
        for symbol, root in zip(instance.symbol.parameters, self.architecture.blocks[name], strict=True):
            if root in (PACKET_IN, PACKET_OUT):
                parameters.append(None)
                continue
            if root not in shared:
                self.at = symbol.at
                shared[root] = self.allocate(root, symbol.type)
            parameters.append(shared[root])
        outer_env = self.env
        if instance.symbol.kind == "parser":
            found: ir.Parser | ir.Control = self.parser(instance, parameters)
        else:
            self.enter(instance, parameters)
            found = ir.Control(instance.path, self.with_returns(instance.path, self.control_body(instance)))
        self.env, self.instance = outer_env, None
        return found


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
