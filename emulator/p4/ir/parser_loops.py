"""Loops of parser states that a packet never leaves, found without running the parser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from emulator.p4 import ir
from emulator.p4.ir import walk

ENDING = (ir.Extract, ir.Advance, ir.Lookahead, ir.Verify, ir.CallExtern, ir.Exit, ir.Return)
"""Statements that may end the parser."""


def endless_loops(parser: ir.Parser) -> Iterator[tuple[tuple[str, ...], str]]:
    """The states of each loop without an end, in the parser's order, and a warning about it."""
    following = {state.name: next_states(state) for state in parser.states}
    bodies = {state.name: tuple(walk.statements(state.body)) for state in parser.states}
    reachable = _reachable("start", following)
    moving = {name for name in reachable if any(isinstance(s, ir.Extract | ir.Advance) for s in bodies[name])}
    closed: set[str] = set()
    for loop in _components(following, reachable - moving):
        is_closed = all(name in loop for state in loop for name in following[state])
        if is_closed and not any(isinstance(s, ENDING) for state in loop for s in bodies[state]):
            closed |= loop
            yield _described(
                following, loop, "a packet never leaves {}: nothing is extracted there and no way leads out"
            )
    reads = {state.name: set(_select_reads(state)) for state in parser.states}
    readers = Counter(variable for names in reads.values() for variable in names)

    def is_still(statement: ir.Statement, state: str) -> bool:
        """The same in each turn: of a lookahead, where no other state reads what it writes."""
        if isinstance(statement, ir.Lookahead):
            names = [variable.name for variable, _ in statement.targets]
            return all(readers[name] == (name in reads[state]) for name in names)
        return isinstance(statement, ir.Verify)

    still = {name for name in reachable - closed if all(is_still(s, name) for s in bodies[name])}
    for loop in _components(following, still):
        yield _described(following, loop, "a packet that comes back to {} never leaves: nothing changes in this loop")


def _described(following: Mapping[str, tuple[str, ...]], loop: set[str], text: str) -> tuple[tuple[str, ...], str]:
    names = tuple(name for name in following if name in loop)
    states = f"state {names[0]}" if len(names) == 1 else f"states {', '.join(names)}"
    return names, f"{text.format(states)}; it ends with error.ParserTimeout here, and never on bmv2"


def next_states(state: ir.State) -> tuple[str, ...]:
    """Where the state may lead; a select without a match is a way to ``accept``."""
    transition = state.transition
    if isinstance(transition, ir.Goto):
        return (transition.next_state,)
    names = dict.fromkeys(case.next_state for case in transition.cases)
    last = transition.cases[-1] if transition.cases else None
    is_total = last is not None and last.value_set is None and all(_matches_all(k) for k in last.keysets)
    return tuple(names) if is_total else (*names, "accept")


def _select_reads(state: ir.State) -> Iterator[str]:
    if isinstance(state.transition, ir.Select):
        for key in state.transition.keys:
            yield from walk.variables_in(key)


def _matches_all(keyset: ir.KeySet) -> bool:
    return isinstance(keyset, ir.Masked) and keyset.mask == 0


def _reachable(start: str, following: Mapping[str, tuple[str, ...]]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        for name in following.get(waiting.pop(), ()):
            if name in following and name not in seen:
                seen.add(name)
                waiting.append(name)
    return seen


def _components(following: Mapping[str, tuple[str, ...]], inside: set[str]) -> Iterator[set[str]]:
    """Strongly connected components of these states that have a loop (R. E. Tarjan, SIAM J. Comput. 1, 1972)."""
    edges = {name: [n for n in following[name] if n in inside] for name in following if name in inside}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            name, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(edges[other])))
                    break
                if other in on_stack:
                    low[name] = min(low[name], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    component: set[str] = set()
                    while name not in component:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.add(member)
                    if len(component) > 1 or name in edges[name]:
                        yield component
