"""Checksums, and the deparser."""

from __future__ import annotations

from emulator.bmv2json import expressions, primitives
from emulator.bmv2json.document import Node
from emulator.bmv2json.objects import Objects
from emulator.bmv2json.storage import Storage
from emulator.p4 import ir


def checksum_blocks(document: Node, storage: Storage, objects: Objects) -> tuple[ir.Block, ir.Block]:
    """The bodies of the blocks that verify and that update checksums. Raises Bmv2JsonError."""
    verify: list[ir.Statement] = []
    update: list[ir.Statement] = []
    for node in document.list("checksums"):
        kind = node.get("type")
        if kind is not None and kind.text() != "generic":
            kind.fail("must be generic")
        for flag, block in (("verify", verify), ("update", update)):
            enabled = node.get(flag)
            if enabled is None or enabled.flag():  # bmv2 does both where the document does not say
                block.extend(_call(node, f"{flag}_checksum", storage, objects))
    return tuple(verify), tuple(update)


def _call(node: Node, name: str, storage: Storage, objects: Objects) -> list[ir.Statement]:
    slot = storage.slot(node["target"])
    if not isinstance(slot.type, ir.Bits) or slot.type.signed or slot.type != slot.place.type:
        node["target"].fail("a checksum cannot be here")
    calculation_name = node["calculation"].text()
    if calculation_name not in objects.calculations:
        node["calculation"].fail(f"calculation {calculation_name!r} is not declared")
    calculation = objects.calculations[calculation_name]
    cx = expressions.new_context(storage, objects)
    if_cond = node.get("if_cond")
    condition = expressions.truth(cx, if_cond) if if_cond is not None else ir.Constant(1, ir.BOOL)
    if calculation.with_payload:
        name += "_with_payload"
    arguments = (condition, calculation.data, slot.place, calculation.algorithm)
    return [*cx.out, ir.CallExtern(name, arguments, None, node.span())]


def deparser_block(document: Node, storage: Storage, objects: Objects) -> ir.Block:
    deparsers = document.list("deparsers")
    if len(deparsers) != 1:
        document.fail(f"must have one deparser, not {len(deparsers)}")
    cx = expressions.new_context(storage, objects)
    for node in deparsers[0].list("primitives"):
        primitives.run(cx, node)
    for node in deparsers[0].list("order"):
        cx.out += [ir.Emit(header, deparsers[0].span()) for header in _headers(node, storage)]
    return tuple(cx.out)


def _headers(node: Node, storage: Storage) -> tuple[ir.HeaderRef, ...]:
    """A header, or all of a stack or of a union."""
    name = node.text()
    if name in storage.stacks:
        return storage.stacks[name].headers
    if name in storage.unions:
        return storage.unions[name].headers
    if name in storage.union_stacks:
        stack = storage.union_stacks[name]
        return tuple(members.headers[i] for i in range(stack.size) for _, members in stack.members)
    return (storage.header(node),)
