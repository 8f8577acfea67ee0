"""Runs of like statements become one ``Repeat``.

A program without loops over fields writes every lane out: ``sum0.write(i, h.x0); sum1.write(i, h.x1); ...``. This pass
finds runs in a block that repeat with some period, where from one turn to the next

* header fields advance by a constant number of bits within one header,
* extern instances advance by one in the order of their declaration,
* variables written in a turn are that turn's own: written before they are read, not mentioned outside the run, except
  in other blocks that also write them first (an action's locals, where the action is inlined twice),
* no variable can show what an earlier run left in it: a read out of range leaves its target as it is, so where an index
  may be out of range, the blocks that mention the target exclude one another,
* all else is the same,

and where turns are independent: no turn touches a field or a cell that another one writes. It runs before all other
passes, for it makes a long program short; its work is linear in the program's length.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.passes.exclusive_blocks import ExclusiveBlocks
from emulator.p4.passes.repeating_runs import Run, Shaper, make_repeat
from emulator.p4.target import Target

LONGEST_PERIOD = 8
FEWEST_TURNS = 4
"""Shorter runs gain nothing."""


def reroll(program: ir.Program, target: Target) -> ir.Program:
    work = _Reroll(program, target)
    return walk.map_blocks(program, work.block)


@dataclass(slots=True)
class _Reroll:
    program: ir.Program
    target: Target
    shaper: Any = None
    flowing: set[str] = field(default_factory=set)
    """Variables with values that may pass between blocks: read before written in a block, mentioned both in a
    block and inside one of its statements, keys, parameters, the architecture's own."""
    mentioning: dict[str, set[int]] = field(default_factory=dict)
    """Blocks, by identity, that mention a variable."""
    exclusive: Any = None
    mentions: dict[int, list[str]] = field(default_factory=dict)
    here: Counter[str] = field(default_factory=Counter)
    """How often each variable occurs in the statements of the block at hand."""

    def __post_init__(self) -> None:
        self.shaper = Shaper(self.program, self.target)
        self.exclusive = ExclusiveBlocks(self.program)
        for block in walk.root_blocks(self.program):
            self._find_flowing(block)
        for _, root in self.program.blocks:
            if isinstance(root, ir.Parser):
                for state in root.states:
                    if isinstance(state.transition, ir.Select):
                        self.flowing.update(v for k in state.transition.keys for v in walk.variables_in(k))
        for table in self.program.tables:
            self.flowing.update(v for k in table.keys for v in walk.variables_in(k.value))
        self.flowing |= self.target.read_at_ends(self.program)
        for action in self.program.actions:
            self.flowing.update(p.name for p in action.parameters)

    def _find_flowing(self, block: ir.Block) -> set[str]:
        """Add to ``flowing``; returns all variables mentioned in the block and inside its statements."""
        written: set[str] = set()
        own: set[str] = set()
        inside: set[str] = set()
        for statement in block:
            names = self._mentioned(statement)
            if isinstance(statement, ir.Assign | ir.CallExtern):
                reads, writes = accesses(statement, self.target)
            else:
                reads, writes = set(names), set()
            self.flowing |= reads - written
            written |= writes
            own.update(names)
            for name in names:
                self.mentioning.setdefault(name, set()).add(id(block))
            for nested in walk.nested_blocks(statement):
                inside |= self._find_flowing(nested)
        self.flowing |= own & inside
        return own | inside

    def _mentioned(self, statement: ir.Statement) -> list[str]:
        """Kept by identity: the program keeps its statements alive, and they are needed several times."""
        if id(statement) not in self.mentions:
            self.mentions[id(statement)] = walk.mentioned(statement)
        return self.mentions[id(statement)]

    def block(self, block: ir.Block) -> ir.Block:
        if len(block) < FEWEST_TURNS:
            return tuple(self._nested(s) for s in block)
        shapes = [self.shaper.shape(s) for s in block]
        here = Counter(v for s in block for v in self._mentioned(s))
        result: list[ir.Statement] = []
        position = 0
        while position < len(block):
            run = self._longest(block, shapes, position)
            self.here = here
            if run is not None and self._is_legal(run):
                result.append(make_repeat(run))
                position += run.length
                continue
            following = position + (run.length if run is not None else 1)
            result.extend(self._nested(s) for s in block[position:following])
            position = following
        return tuple(result)

    def _nested(self, statement: ir.Statement) -> ir.Statement:
        return walk.map_statement(statement, lambda e: e, self.block, self.target.outs)

    def _longest(self, block: ir.Block, shapes: list[Any], start: int) -> Run | None:
        """The run from here that covers most, if any; the smallest period of equals."""
        best: Run | None = None
        if shapes[start] is None:
            return None
        for period in range(1, min(LONGEST_PERIOD, len(block) // FEWEST_TURNS) + 1):
            if start + period >= len(block) or shapes[start + period] is None:
                break
            run = Run(block, shapes, start, period)
            if run.turns >= FEWEST_TURNS and (best is None or run.length > best.length):
                best = run
        return best

    def _is_legal(self, run: Run) -> bool:
        return (
            self._variables_are_private(run)
            and self._shows_nothing_old(run)
            and _indices_are_invariant(run, self.target)
            and _fields_are_independent(run, self.target)
            and _instances_are_independent(run)
        )

    def _variables_are_private(self, run: Run) -> bool:
        inside = Counter(v for s in run.statements for v in self._mentioned(s))
        written = {name for s in run.body for name in accesses(s, self.target)[1]}
        for turn in run.variable_names(written):
            if any(name in self.flowing or self.here[name] != inside[name] for name in turn):
                return False
        return run.unwritten_are_constant(written) and not self._reads_before_writing(run)

    def _shows_nothing_old(self, run: Run) -> bool:
        """Targets that a read may leave as they are have not been written before, by another turn neither."""
        kept: set[str] = set()
        assigned: set[str] = set()
        for s in run.body:
            if isinstance(s, ir.Assign):
                assigned |= accesses(s, self.target)[1]
            elif not self._is_in_range(s):
                kept |= accesses(s, self.target)[1] - assigned
        names = [name for turn in run.variable_names(kept) for name in turn]
        blocks = {b for name in names for b in self.mentioning[name]}
        return not names or (len(set(names)) == len(names) and self.exclusive.at_most_one(blocks))

    def _is_in_range(self, s: ir.Statement) -> bool:
        """Can the index of the call not be out of range?"""
        assert isinstance(s, ir.CallExtern)
        assert isinstance(s.instance, ir.ExternInstance)
        index, size = s.expr(self.target.index_argument[s.name]), int(s.instance.arguments[0])
        if isinstance(index, ir.Constant):
            return 0 <= index.value < size
        return size >= 1 << min(ir.width_of(index.type), 64)

    def _reads_before_writing(self, run: Run) -> bool:
        """Would a turn see what the one before it left?"""
        written: set[str] = set()
        read_first: set[str] = set()
        for statement in run.body:
            reads, writes = accesses(statement, self.target)
            read_first |= reads - written
            written |= writes
        return bool(written & read_first)


def accesses(statement: ir.Statement, target: Target) -> tuple[set[str], set[str]]:
    """(variables read, variables written) by an assignment or extern call."""
    if isinstance(statement, ir.Assign):
        written = {statement.target.name} if isinstance(statement.target, ir.Variable) else set()
        return set(walk.variables_in(statement.value)), written
    assert isinstance(statement, ir.CallExtern)
    outs = target.outs(statement.name)
    reads: set[str] = set()
    writes: set[str] = set()
    for i, argument in enumerate(statement.arguments):
        if i in outs and isinstance(argument, ir.Variable):
            writes.add(argument.name)
        elif isinstance(argument, tuple):
            reads.update(v for item in argument for v in walk.variables_in(item))
        elif not isinstance(argument, ir.Text):
            reads.update(walk.variables_in(argument))
    return reads, writes


def _indices_are_invariant(run: Run, target: Target) -> bool:
    """An index reads no field at all, and no variable of the turn."""
    written = {name for s in run.body for name in accesses(s, target)[1]}
    for statement, position, expr, _ in run.leaves():
        is_index = isinstance(statement, ir.CallExtern) and position == target.index_argument[statement.name]
        if is_index and (isinstance(expr, ir.FieldRef) or (isinstance(expr, ir.Variable) and expr.name in written)):
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Use:
    """The bits of a header that one field of the body touches over all turns."""

    header: str
    offset: int
    stride: int
    width: int
    written: bool

    def end(self, turns: int) -> int:
        return self.offset + (turns - 1) * self.stride + self.width


def _fields_are_independent(run: Run, target: Target) -> bool:
    uses = []
    for statement, position, expr, stride in run.leaves():
        if isinstance(expr, ir.FieldRef):
            width = expr.field.width_bits
            if stride and (stride < width or stride % 8):
                return False
            outs = (0,) if isinstance(statement, ir.Assign) else target.outs(_name(statement))
            assert isinstance(expr.header, ir.Header)
            uses.append(_Use(expr.header.name, expr.field.offset_bits, stride, width, position in outs))
    for one in uses:
        if one.written and not one.stride:
            return False
        for other in uses:
            if not one.written or one.header != other.header:
                continue
            same = (one.offset, one.stride, one.width) == (other.offset, other.stride, other.width)
            apart = one.end(run.turns) <= other.offset or other.end(run.turns) <= one.offset
            if not same and not apart:
                return False
    return True


def _name(statement: ir.Statement) -> str:
    assert isinstance(statement, ir.CallExtern)
    return statement.name


def _instances_are_independent(run: Run) -> bool:
    """Families of instances are the same or have none in common."""
    families = run.families()
    if any(step != 1 for _, step in families):
        return False
    starts = sorted({first for first, _ in families})
    return all(b - a >= run.turns for a, b in pairwise(starts))
