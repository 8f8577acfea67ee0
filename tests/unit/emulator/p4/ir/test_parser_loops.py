"""Which loops of parser states are found to have no end."""

from __future__ import annotations

import pytest

from emulator.p4 import ir
from emulator.p4.ir.parser_loops import endless_loops
from tests.programs.p4_programs import binary, const, header_type, ref, var

HEAD = ir.Header("hdr.h", header_type("h_t", ("x", 8)))
X, N = ref(HEAD, "x"), var("n", 8)
EXTRACT = ir.Extract(HEAD)
COUNT = ir.Assign(N, binary(ir.BinaryOp.ADD, N, const(1, 8)))
PEEK = ir.Lookahead(((N, 0),), 8)
CHECK = ir.Verify(ir.IsValid(HEAD), const(1, 32))


def goto(name: str, following: str, *body: ir.Statement) -> ir.State:
    return ir.State(name, body, ir.Goto(following))


def choose(name: str, following: str, otherwise: str | None, *body: ir.Statement, key: ir.Expr = X) -> ir.State:
    cases = [ir.SelectCase((ir.Masked(1, 0xFF),), following)]
    cases += [] if otherwise is None else [ir.SelectCase((ir.Masked(0, 0),), otherwise)]
    return ir.State(name, body, ir.Select((key,), tuple(cases)))


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([goto("start", "start")], ["a packet never leaves state start"]),
        ([goto("start", "a"), goto("a", "b", COUNT), goto("b", "a")], ["a packet never leaves states a, b"]),
        ([goto("start", "b"), choose("b", "start", "b", PEEK)], ["a packet that comes back to states start, b"]),
        ([goto("start", "b"), choose("b", "start", "b", COUNT)], ["a packet never leaves states start, b"]),
        ([choose("start", "start", "accept")], ["a packet that comes back to state start"]),
        ([choose("start", "start", None, CHECK)], ["a packet that comes back to state start"]),
        ([goto("start", "a"), choose("a", "b", "c"), goto("b", "a"), goto("c", "c")],
         ["a packet never leaves state c", "a packet that comes back to states a, b"]),
        ([goto("start", "a"), choose("a", "b", "accept", key=N), goto("b", "a", PEEK)], []),
        ([choose("start", "start", "accept", PEEK, key=N)], ["a packet that comes back to state start"]),
        ([goto("start", "a"), choose("a", "b", "accept", key=N), choose("b", "a", "accept", PEEK, key=N)], []),
        ([choose("start", "start", "accept", COUNT)], []),
        ([goto("start", "start", EXTRACT)], []),
        ([goto("start", "start", COUNT, CHECK)], []),
        ([goto("start", "a"), choose("a", "b", "accept"), goto("b", "a", ir.Advance(const(8, 32)))], []),
        ([goto("start", "accept"), goto("a", "a")], []),
    ],
)  # fmt: skip
def test_loops(states: list[ir.State], expected: list[str]) -> None:
    found = list(endless_loops(ir.Parser("P", tuple(states))))
    assert len(found) == len(expected)
    for (names, message), start in zip(found, expected, strict=True):
        assert message.startswith(start)
        assert set(names) <= {state.name for state in states}


def test_many_states_in_a_row() -> None:
    names = [f"s{i}" for i in range(5000)]
    states = [goto("start", "s0"), *(goto(a, b) for a, b in zip(names, [*names[1:], "s0"], strict=True))]
    ((loop, _),) = endless_loops(ir.Parser("P", tuple(states)))
    assert loop == tuple(names)
