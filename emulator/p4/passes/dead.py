"""Dead code elimination: values that nothing reads, statements that nothing reaches.

Removes statements after those that leave, assignments to variables that nothing alive reads (the architecture's own
are read by it), branches that are empty then, and variables that are then mentioned nowhere. One walk finds who reads
what, one follows it from what has effects, one rewrites: the work is linear in the program.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.target import Target

LEAVING = (ir.Return, ir.Exit, ir.Break, ir.Continue)


def remove_dead(program: ir.Program, target: Target) -> ir.Program:
    live = _Liveness()
    for block in walk.root_blocks(program):
        live.add_block(block, None)
    live.follow(set(target.hidden_variables) | _read_by_keys(program))
    new = walk.map_blocks(program, lambda b: _block(b, live.variables, target))
    mentioned = live.variables | _mentioned(new)
    return replace(new, variables=tuple(v for v in new.variables if v.name in mentioned))


@dataclass(slots=True)
class _Node:
    """A statement that is alive only if something else is: reads are its own expressions' variables."""

    reads: set[str]
    parent: _Node | None
    """The branch that contains it."""
    seen: bool = False


@dataclass(slots=True)
class _Liveness:
    variables: set[str] = field(default_factory=set)
    """Those that something alive reads."""
    roots: list[_Node] = field(default_factory=list)
    """Statements with side effects."""
    writers: dict[str, list[_Node]] = field(default_factory=dict)
    """Assignments by the variable they write."""

    def add_block(self, block: ir.Block, parent: _Node | None) -> None:
        for statement in block:
            node = _Node(_reads(statement), parent)
            if isinstance(statement, ir.Assign) and isinstance(statement.target, ir.Variable):
                self.writers.setdefault(statement.target.name, []).append(node)
            elif not isinstance(statement, ir.If | ir.Switch | ir.Region | ir.Repeat):
                self.roots.append(node)
            for nested in walk.nested_blocks(statement):
                self.add_block(nested, node)

    def follow(self, read: set[str]) -> None:
        waiting = list(self.roots)
        fresh = set(read)
        while waiting or fresh:
            for name in fresh:
                waiting.extend(self.writers.get(name, ()))
            self.variables |= fresh
            fresh = set()
            while waiting:
                node: _Node | None = waiting.pop()
                while node is not None and not node.seen:
                    node.seen = True
                    fresh |= node.reads - self.variables
                    node = node.parent


def _block(block: ir.Block, read: set[str], target: Target) -> ir.Block:
    result: list[ir.Statement] = []
    for statement in block:
        new = walk.map_statement(statement, lambda e: e, lambda b: _block(b, read, target), target.outs)
        if isinstance(new, ir.Assign) and isinstance(new.target, ir.Variable) and new.target.name not in read:
            continue
        if isinstance(new, ir.If | ir.Switch | ir.Repeat | ir.Region) and not any(walk.nested_blocks(new)):
            continue
        result.append(new)
        if isinstance(new, LEAVING):
            break
    made = tuple(result)
    same = len(made) == len(block) and all(a is b for a, b in zip(made, block, strict=True))
    return block if same else made


def _reads(statement: ir.Statement) -> set[str]:
    result: set[str] = set()
    for expr, is_target in walk.own_expressions(statement):
        if not is_target or not isinstance(expr, ir.Variable):
            result.update(walk.variables_in(expr))
    return result


def _read_by_keys(program: ir.Program) -> set[str]:
    keys = [k.value for table in program.tables for k in table.keys]
    for _, root in program.blocks:
        if isinstance(root, ir.Parser):
            keys += [k for s in root.states if isinstance(s.transition, ir.Select) for k in s.transition.keys]
    return {name for key in keys for name in walk.variables_in(key)}


def _mentioned(program: ir.Program) -> set[str]:
    result: set[str] = set()
    for block in walk.root_blocks(program):
        for statement in walk.statements(block):
            result.update(walk.mentioned(statement))
    return result
