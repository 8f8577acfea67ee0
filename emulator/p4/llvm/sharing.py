"""Actions with one copy of their code for all callers.

An action's code is where its table is applied, so that LLVM sees both. Where many tables run the same long actions
that would multiply the program's size; then such an action's code is written once for each control, at its end. A place
that runs it leaves its number in a slot and branches there; the code's end switches back by that number. (A function
would be simpler, but the packet's variables couldn't stay in registers.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.llvm.bits import I32, constant
from emulator.p4.llvm.context import CodeGen, SharedAction

MOST_REPEATED_STATEMENTS = 2_000
"""Statements that a program may have more by repeating actions than by sharing them: LLVM's half second or so."""
SHORTEST_SHARED = 6
"""Statements; shorter actions are about as long as the branches there and back."""


def shared_actions(program: ir.Program) -> frozenset[str]:
    """Names of the actions to write once: none, unless repeating them would make the program much longer."""
    places = Counter(_applied_actions(program))
    sizes = {a.name: sum(1 for _ in walk.statements(a.body)) for a in program.actions}
    long = {a.name for a in program.actions if sizes[a.name] >= SHORTEST_SHARED and _can_move(a)}
    repeated = sum((count - 1) * sizes[name] for name, count in places.items() if name in long)
    return frozenset(long) if repeated > MOST_REPEATED_STATEMENTS else frozenset()


def _applied_actions(program: ir.Program) -> Iterator[str]:
    """The action of every branch of every place that applies a table."""
    actions = {t.name: [r.action for r in t.actions] for t in program.tables}
    for block in walk.root_blocks(program):
        for statement in walk.statements(block):
            if isinstance(statement, ir.ApplyTable):
                yield from actions[statement.table]


def _can_move(action: ir.Action) -> bool:
    """Nothing in it depends on the context of the call: on loops (with counters numbered by depth) or, for
    ``exit``, on the cleanups of regions."""
    return not any(isinstance(s, ir.Exit | ir.Loop) for s in walk.statements(action.body))


def run(cg: CodeGen, action: ir.Action) -> None:
    """Branch to the action's code; what is emitted next follows it."""
    shared = cg.shared.get(action.name)
    if shared is None:
        shared = cg.shared[action.name] = SharedAction(action, cg.new_block(f"shared.{action.name}"))
    cg.b.store(constant(len(shared.back), 32), cg.storage.slot(_place(action), I32))
    cg.b.branch(shared.start)
    following = cg.new_block("back")
    shared.back.append(following)
    cg.b.position_at_end(following)
    cg.storage.owned = set()


def finish(cg: CodeGen) -> None:
    """Write the code of the actions that were used."""
    for shared in cg.shared.values():
        cg.b.position_at_end(shared.start)
        cg.storage.owned = set()
        cg.region(shared.action.body)
        if cg.b.block.is_terminated:
            continue
        node = cg.b.switch(cg.b.load(cg.storage.slot(_place(shared.action), I32), typ=I32), shared.back[0])
        for number, following in enumerate(shared.back[1:], 1):
            node.add_case(constant(number, 32), following)
    cg.shared = {}


def _place(action: ir.Action) -> str:
    return f"$place.{action.name}"
