"""Costs derived from a handler's own source: each operation is charged by its kind and by the types it works on.

The rewriting replaces an operation by a function that charges and does it (`prices`, `accesses`). Calls of the
machine (`pspin_model.handlers`) and helpers charge themselves; constants, names, shapes, slices and views cost nothing.
Everything else is refused, so that nothing is done at no charge.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable
from typing import Any

import numpy as np

from emulator.native.deferred import Deferred
from pspin_model.handlers.check.guards import (
    ARANGE,
    GONE_OVER,
    HAVING,
    INSIDE,
    ROOM,
    TURN,
    Words,
    calls,
    index_value,
    sliced,
    variable,
)  # fmt: skip
from pspin_model.handlers.check.subset import NOTHING, Charging, Names
from pspin_model.handlers.check.words import DIVISIONS
from pspin_model.handlers.core import charge_all
from pspin_model.handlers.cost import prices
from pspin_model.handlers.cost.accesses import ACCESSES
from pspin_model.handlers.cost.prices import FUNCTIONS, METHODS, PREFIX, SELF
from pspin_model.handlers.errors import HandlerError, refused, source_of
from pspin_model.machine.costs import CLASSES

SHAPE = ("size", "shape", "itemsize", "ndim", "nbytes", "dtype", "strides", "T")
"""Attributes of a view that a handler knows."""
VIEWS = ("view", "reshape")
FREE = (len, slice, np.empty, np.empty_like)
WITH_DTYPE = (np.zeros, np.ones, np.full)
COUNTERS = (GONE_OVER, ROOM)
"""Calls that count turns, of what is their second argument."""


def derive(definition: ast.FunctionDef, core: str, names: Names, integers: Words) -> dict[str, Any]:
    """Charge every operation of a function, in place; returns the names its new source uses. ``integers`` gives
    constants the machine's types. Raises HandlerError."""
    costs = _Costs(core, names, integers)
    documented = ast.get_docstring(definition, clean=False) is not None
    body = costs.statements(definition.body[1:] if documented else definition.body)
    definition.body = [*body, costs.charge(jump=1)]
    return {**ACCESSES, **prices.PRICED, f"{PREFIX}charge": charge_all}


def _cannot_price(node: ast.AST) -> HandlerError:
    return refused(node, f"cannot price '{source_of(node)}'; {SELF}")


class _Costs(ast.NodeTransformer):
    """Statements become lists of statements, expressions expressions."""

    def __init__(self, core: str, names: Names, integers: Words) -> None:
        self.core, self._integers = core, integers
        self._own = names.own
        self._known = names.known
        self._count = 0

    def _constant(self, node: ast.AST) -> bool:
        """Whether the compiler computes an expression: of numbers, and not of whole arrays."""
        return not any(
            isinstance(each, ast.Call)
            or (isinstance(each, ast.Name) and each.id in self._own)
            or _holds_array(self._known(each))
            for each in ast.walk(node)
        )

    def _temporary(self) -> str:
        self._count += 1
        return f"{PREFIX}value{self._count}"

    # --- pieces of source ------------------------------------------------------------------------------------------

    def _call(self, name: str, *arguments: ast.expr) -> ast.Call:
        return ast.Call(variable(name), [variable(self.core), *arguments], [])

    def _access(self, name: str, *arguments: ast.expr) -> ast.Call:
        return self._call(f"{PREFIX}{name}", *arguments)

    def charge(self, **counts: int) -> ast.Expr:
        """A statement that charges instructions."""
        return ast.Expr(self._call(f"{PREFIX}charge", *(ast.Constant(counts.get(name, 0)) for name in CLASSES)))

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """A block, charged."""
        made: list[ast.stmt] = []
        for statement in body:
            if _counts_a_turn(statement):
                made.append(statement)
                continue
            for each in _listed(self.visit(statement)):
                made.append(ast.copy_location(each, statement))
        return made

    def generic_visit(self, node: ast.AST) -> ast.AST:
        raise _cannot_price(node)

    # --- expressions -----------------------------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and self._constant(node):
            return node
        return super().visit(node)

    def _expression(self, node: ast.expr) -> ast.expr:
        charged: ast.expr = self.visit(node)
        return charged

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return node

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        node.elts = [self.visit(each) for each in node.elts]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr not in SHAPE:
            raise _cannot_price(node)
        node.value = self.visit(node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        operator = type(node.op).__name__
        left, right = self.visit(node.left), node.right
        if operator == "Pow":
            if not isinstance(right, ast.Constant) or not isinstance(right.value, int) or not 2 <= right.value <= 64:
                raise _cannot_price(node)
            return self._call(prices.power(right.value), left)
        if operator == "MatMult":
            name = prices.priced("matmul", 2, prices.INNER, prices.inner)
            return self._call(name, left, self.visit(right))
        operands = [self._integers.operand(left), self._integers.operand(self.visit(right))]
        place = self._integers.line(node) if operator in DIVISIONS else []
        return self._call(prices.binary(operator), *operands, *place)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.UAdd):
            return self._expression(node.operand)
        return self._call(prices.unary(type(node.op).__name__), self.visit(node.operand))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) > 1:
            return self._chain(node)
        operator, left, right = type(node.ops[0]).__name__, self.visit(node.left), self.visit(node.comparators[0])
        if operator in ("Is", "IsNot"):
            return ast.Compare(left, node.ops, [right])
        if operator not in prices.BINARY:
            raise _cannot_price(node)
        return self._call(prices.binary(operator), left, right)

    def _chain(self, node: ast.Compare) -> ast.AST:
        """``a < b < c`` as ``a < b and b < c``, where b may be read twice; one operation else, where c may be read in
        vain."""
        operands = [node.left, *node.comparators]
        operators = [type(each).__name__ for each in node.ops]
        if all(map(_simple, operands[1:-1])):
            pairs = zip(operands, node.ops, operands[1:], strict=False)
            parts: list[ast.expr] = [ast.copy_location(ast.Compare(x, [op], [y]), node) for x, op, y in pairs]
            return self._expression(ast.copy_location(ast.BoolOp(ast.And(), parts), node))
        if len(operands) != 3 or not _simple(operands[2]) or not set(operators) <= set(prices.BINARY):
            raise _cannot_price(node)
        return self._call(prices.between(*operators), *map(self.visit, operands))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        way = "decide" if isinstance(node.op, ast.And) else "decide_not"
        *before, last = [self.visit(each) for each in node.values]
        node.values = [*(self._access(way, each) for each in before), last]
        return node

    def _test(self, node: ast.expr, way: str = "decide") -> ast.expr:
        """What decides a branch."""
        if self._constant(node):
            return node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._test(node.operand, "decide_not" if way == "decide" else "decide")
            return node
        if isinstance(node, ast.BoolOp):
            inner = "decide" if isinstance(node.op, ast.And) else "decide_not"
            *before, last = node.values
            node.values = [*(self._test(each, inner) for each in before), self._test(last, way)]
            return node
        return self._access(way, self.visit(node))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self._test(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        whole, place = self.visit(node.value), node.slice
        if not sliced(place) and self._constant(place) and not isinstance(place, ast.Tuple):
            return ast.Subscript(self._access("loaded", whole), place, ast.Load())
        return self._access("load", whole, self._place(place))

    def _place(self, node: ast.expr) -> ast.expr:
        """An index as a value."""
        if isinstance(node, ast.Slice):
            bounds = (node.lower, node.upper, node.step)
            node.lower, node.upper, node.step = (each and self._expression(each) for each in bounds)
            return index_value(node)
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._place(each) for each in node.elts], ast.Load())
        return self._expression(node)

    # --- calls -----------------------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if calls(node, *COUNTERS):
            node.args[1] = self.visit(node.args[1])
            return node
        if calls(node, INSIDE, HAVING):
            node.args[:2] = [self.visit(each) for each in node.args[:2]]
            return node
        if calls(node, ARANGE):
            arguments = [self.visit(each) for each in node.args[1:]]
            return self._call(prices.priced("np.arange", 4, "arange(h, x0, x1, x2, x3)", prices.made), *arguments)
        called = self._known(node.func)
        of_array = isinstance(node.func, ast.Attribute) and isinstance(self._known(node.func.value), np.ndarray)
        if called is NOTHING or of_array:
            return self._method(node)
        if any(isinstance(each, ast.Starred) for each in node.args) or any(not each.arg for each in node.keywords):
            raise _cannot_price(node)
        if _charges_itself(called) or any(called is each for each in FREE):
            node.args = [self.visit(each) for each in node.args]
            for keyword in node.keywords:
                keyword.value = self.visit(keyword.value)
            return node
        if isinstance(called, type) and issubclass(called, int | float | np.number | np.bool_):
            return self._conversion(node, called)
        arguments = [self.visit(each) for each in node.args]
        if any(called is each for each in WITH_DTYPE) and [each.arg for each in node.keywords] == ["dtype"]:
            arguments.append(node.keywords.pop().value)
        known = FUNCTIONS.get(called) if isinstance(called, Hashable) and not node.keywords else None
        if known is None or len(arguments) not in known[2]:
            raise _cannot_price(node)
        label, price, _ = known
        operands = ", ".join(f"x{place}" for place in range(len(arguments)))
        does = prices.INNER if price is prices.inner else f"{label}({operands})"
        if isinstance(called, np.ufunc) and len(arguments) > called.nin:
            does = f"into{called.nin}({label}, {operands})"
        return self._call(prices.priced(label, len(arguments), does, price), *arguments)

    def _conversion(self, node: ast.Call, called: type) -> ast.AST:
        if len(node.args) != 1 or node.keywords:
            raise _cannot_price(node)
        if not self._constant(node.args[0]):
            way = "to_real" if issubclass(called, float | np.floating) else "to_integer"
            node.args = [self._access(way, self.visit(node.args[0]))]
        return node

    def _method(self, node: ast.Call) -> ast.AST:
        wrong = _cannot_price(node)
        if not isinstance(node.func, ast.Attribute) or any(isinstance(each, ast.Starred) for each in node.args):
            raise wrong
        name, whole = node.func.attr, node.func.value
        if self._known(whole) is not NOTHING and not isinstance(self._known(whole), np.ndarray):
            raise wrong
        whole, arguments = self.visit(whole), [self.visit(each) for each in node.args]
        if name in VIEWS and not node.keywords:
            return ast.Call(ast.Attribute(whole, name, ast.Load()), arguments, [])
        if name not in METHODS or node.keywords or len(arguments) not in METHODS[name][1]:
            raise wrong
        operands = ", ".join(f"x{place + 1}" for place in range(len(arguments)))
        made = prices.priced(f".{name}", 1 + len(arguments), f"x0.{name}({operands})", METHODS[name][0])
        return self._call(made, whole, *arguments)

    # --- statements ------------------------------------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        node.value = self.visit(node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return self._assign(node.targets[0], value)
        name = self._temporary()
        made: list[ast.stmt] = [_assigned(name, value)]
        for target in node.targets:
            made += self._assign(target, variable(name))
        return made

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        return [] if node.value is None else self._assign(node.target, self.visit(node.value))

    def _assign(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            return [ast.Assign([target], value)]
        if isinstance(target, ast.Subscript):
            place = self._place(target.slice)
            return [ast.Expr(self._access("store", value, self.visit(target.value), place))]
        if not isinstance(target, ast.Tuple) or any(isinstance(each, ast.Starred) for each in target.elts):
            raise _cannot_price(target)
        names = [self._temporary() for _ in target.elts]
        made: list[ast.stmt] = [
            ast.Assign([ast.Tuple([ast.Name(each, ast.Store()) for each in names], ast.Store())], value)
        ]
        for each, name in zip(target.elts, names, strict=True):
            made += self._assign(each, variable(name))
        return made

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        operator, value = type(node.op).__name__, self._temporary()
        if operator not in prices.BINARY or not isinstance(node.target, ast.Name | ast.Subscript):
            raise _cannot_price(node)
        keep = _assigned(value, self._integers.operand(self.visit(node.value)))
        if isinstance(node.target, ast.Name):
            cost = self._call(prices.update(operator), variable(node.target.id), variable(value))
            return [keep, ast.Expr(cost), ast.AugAssign(node.target, node.op, variable(value))]
        whole, place, old = self._temporary(), self._temporary(), self._temporary()
        return [
            _assigned(whole, self.visit(node.target.value)),
            _assigned(place, self._place(node.target.slice)),
            _assigned(old, self._access("load", variable(whole), variable(place))),
            keep,
            ast.Expr(self._call(prices.in_place(operator), *map(variable, (old, value, whole, place)))),
        ]

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self._test(node.test)
        node.body, node.orelse = self.statements(node.body), self.statements(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test = self._test(node.test, "decide_not")
        head = [self.charge(jump=1)] if isinstance(node.test, ast.Constant) else []
        node.body, node.orelse = [*head, *self.statements(node.body)], self.statements(node.orelse)
        return node

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        head: list[ast.stmt] = [self.charge(alu=1, branch_taken=1)]
        before: list[ast.stmt] = []
        over = node.iter
        inner = over.args[1] if isinstance(over, ast.Call) and calls(over, GONE_OVER) else over
        if isinstance(inner, ast.Call) and self._known(inner.func) is range:
            inner.args = [self.visit(each) for each in inner.args]
        else:
            node.iter = self._over(over, before, head)
        if not isinstance(node.target, ast.Name):
            name = self._temporary()
            head += self._assign(node.target, variable(name))
            node.target = ast.Name(name, ast.Store())
        node.body, node.orelse = [*head, *self.statements(node.body)], self.statements(node.orelse)
        return [*before, node]

    def _over(self, node: ast.expr, before: list[ast.stmt], head: list[ast.stmt]) -> ast.expr:
        """What a loop goes over: each view is kept ``before`` it, and read in its ``head``."""
        called = self._known(node.func) if isinstance(node, ast.Call) else NOTHING
        if isinstance(node, ast.Call) and any(called is each for each in (enumerate, zip)) and not node.keywords:
            several = len(node.args) if called is zip else 1
            given = [self._over(each, before, head) for each in node.args[:several]]
            node.args = [*given, *(self.visit(each) for each in node.args[several:])]
            if called is enumerate:
                head.append(self.charge(alu=1))
            return node
        name = self._temporary()
        before.append(_assigned(name, self.visit(node)))
        head.append(ast.Expr(self._access("each_turn", variable(name))))
        return variable(name)

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        node.value = None if node.value is None else self.visit(node.value)
        return [self.charge(jump=1), node]

    def visit_Break(self, node: ast.Break) -> list[ast.stmt]:
        return [self.charge(jump=1), node]

    def visit_Continue(self, node: ast.Continue) -> list[ast.stmt]:
        return [self.charge(jump=1), node]

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.test = self._test(node.test)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return node

    def visit_Pass(self, node: ast.Pass) -> ast.AST:
        return node


def _simple(node: ast.expr) -> bool:
    """Whether an expression may be read twice, or without use."""
    return isinstance(node, ast.Name | ast.Constant) or (isinstance(node, ast.Attribute) and _simple(node.value))


def _counts_a_turn(node: ast.stmt) -> bool:
    """Whether a statement is the count of a while loop's turns."""
    return (isinstance(node, ast.Expr) and calls(node.value, TURN)) or (
        isinstance(node, ast.If) and calls(node.test, TURN)
    )


def _charges_itself(called: Any) -> bool:
    """Whether it is a helper, or a call of the machine."""
    if isinstance(called, Charging):
        return True
    return isinstance(called, Deferred) and str(getattr(called, "__module__", "")).startswith("pspin_model.handlers.")


def _holds_array(value: Any) -> bool:
    """Whether something is an array, or a tuple with one."""
    return isinstance(value, np.ndarray) or (isinstance(value, tuple) and any(map(_holds_array, value)))


def _assigned(name: str, value: ast.expr) -> ast.Assign:
    """What gives a variable its value."""
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _listed(made: Any) -> list[Any]:
    """What a visit returns: one statement, or several."""
    return made if isinstance(made, list) else [made]
