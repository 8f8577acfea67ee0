"""Costs derived from a handler's own source: each operation is charged by its kind and by the types it works on.

The rewriting replaces an operation by a call that charges it and does it: additions and the like by `binary_*`, what an
``if`` or a loop decides by a charge of its branches. Whole-array operations are charged by element. Calls of the
machine (`pspin_model.handlers`) charge themselves; constants and slices cost nothing.
"""

from __future__ import annotations

import ast
from typing import Any

from numba.core import types
from numba.extending import overload

from pspin_model.handlers.core import charge, charge_elements

PREFIX = "_netsum_"

OPERATORS = {
    ast.Add: ("add", "+"), ast.Sub: ("sub", "-"), ast.Mult: ("mul", "*"), ast.Div: ("div", "/"),
    ast.FloorDiv: ("floordiv", "//"), ast.Mod: ("mod", "%"), ast.LShift: ("lshift", "<<"),
    ast.RShift: ("rshift", ">>"), ast.BitAnd: ("and", "&"), ast.BitOr: ("or", "|"), ast.BitXor: ("xor", "^"),
}  # fmt: skip
DIVISIONS = ("div", "floordiv", "mod")


def _price(name: str, *operands: Any) -> str:
    if any(isinstance(each, types.Array) for each in operands):
        array = next(index for index, each in enumerate(operands) if isinstance(each, types.Array))
        return f"charge_elements(h, {'ab'[array]}, {'ab'[array]}.size)"
    if any(isinstance(each, types.Float) for each in operands):
        return "charge(h, div=1)" if name in DIVISIONS else "charge(h, fp=1)"
    if name in DIVISIONS:
        return "charge(h, div=1)"
    return "charge(h, mul=1)" if name == "mul" else "charge(h, alu=1)"


def _make(name: str, sign: str) -> Any:
    namespace: dict[str, Any] = {"charge": charge, "charge_elements": charge_elements}

    def stand_in(h: Any, a: Any, b: Any) -> Any:
        raise NotImplementedError

    stand_in.__name__ = f"binary_{name}"

    @overload(stand_in, strict=False)
    def implement(h: Any, a: Any, b: Any) -> Any:
        text = f"def impl(h, a, b):\n    {_price(name, a, b)}\n    return a {sign} b\n"
        made: dict[str, Any] = {}
        exec(text, namespace, made)
        return made["impl"]

    return stand_in


def load(h: Any, a: Any, i: Any) -> Any:
    """An element of a view; a slice of it costs nothing."""
    raise NotImplementedError


@overload(load, strict=False)
def _load(h: Any, a: Any, i: Any) -> Any:
    if isinstance(i, types.Integer):

        def element(h: Any, a: Any, i: Any) -> Any:
            charge(h, load=1, load_use=1, alu=1)
            return a[i]

        return element
    return lambda h, a, i: a[i]


def update(h: Any, a: Any) -> Any:
    """What an in-place operation on ``a`` costs: by element for a view."""
    raise NotImplementedError


@overload(update, strict=False)
def _update(h: Any, a: Any) -> Any:
    if isinstance(a, types.Array):
        return lambda h, a: charge_elements(h, a, a.size)
    if isinstance(a, types.Float):
        return lambda h, a: charge(h, fp=1)
    return lambda h, a: charge(h, alu=1)


NAMES: dict[str, Any] = {f"{PREFIX}{name}": _make(name, sign) for name, sign in OPERATORS.values()}
NAMES |= {f"{PREFIX}load": load, f"{PREFIX}update": update, f"{PREFIX}charge": charge}


class _Costs(ast.NodeTransformer):
    def __init__(self, core: str) -> None:
        self.core = core

    def _call(self, name: str, *arguments: ast.expr) -> ast.Call:
        function = ast.Name(f"{PREFIX}{name}", ast.Load())
        return ast.Call(function, [ast.Name(self.core, ast.Load()), *arguments], [])

    def _charge(self, **counts: int) -> ast.Expr:
        call = self._call("charge")
        call.keywords = [ast.keyword(name, ast.Constant(count)) for name, count in counts.items()]
        return ast.Expr(call)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        known = OPERATORS.get(type(node.op))
        if known is None or (isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)):
            return node
        return ast.copy_location(self._call(known[0], node.left, node.right), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice | ast.Tuple):
            return ast.copy_location(self._call("load", node.value, node.slice), node)
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        stores = sum(isinstance(target, ast.Subscript) for target in node.targets)
        return [self._charge(store=stores, alu=stores), node] if stores else node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if isinstance(node.target, ast.Subscript):
            return [self._charge(load=1, load_use=1, alu=2, store=1), node]
        if isinstance(node.target, ast.Name):
            return [ast.Expr(self._call("update", ast.Name(node.target.id, ast.Load()))), node]
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, self._charge(alu=1, branch=1))
        node.orelse.insert(0, self._charge(alu=1, branch_taken=1))
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, self._charge(alu=1, branch_taken=1))
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, self._charge(alu=1, branch_taken=1))
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        self.generic_visit(node)
        return [self._charge(jump=1), node]


def derive(definition: ast.FunctionDef, core: str) -> dict[str, Any]:
    """Charge every operation of a function, in place; returns the names its new source uses."""
    costs = _Costs(core)
    body: list[ast.stmt] = []
    for statement in definition.body:
        made = costs.visit(statement)
        body += made if isinstance(made, list) else [made]
    definition.body = [*body, costs._charge(jump=1)]
    return NAMES
