"""Rewriting of a handler's source that inserts the guards of `runtime`.

Loops, sizes of new arrays and work on whole arrays are counted, operands that are written into a view and indices are
checked, integers are kept in the machine's words (`words`), and `charge` gets all its counts.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from pspin_model.handlers.check import indices, runtime, words
from pspin_model.handlers.check.subset import NOTHING, Charging, Names
from pspin_model.handlers.core import charge, charge_all, turn
from pspin_model.handlers.errors import refused, source_of

TURN, GONE_OVER, ROOM, ARANGE = "_netsum_turn", "_netsum_gone_over", "_netsum_room", "_netsum_arange"
CHARGE, FITS, WORKED = "_netsum_charge", "_netsum_fits", "_netsum_worked"
INTO = {1: "_netsum_into1", 2: "_netsum_into2"}
INSIDE, HAVING = "_netsum_inside", "_netsum_having"
NAMES: dict[str, Any] = {
    TURN: turn,
    GONE_OVER: runtime.gone_over,
    ROOM: runtime.room,
    ARANGE: runtime.arange,
    CHARGE: charge_all,
    FITS: runtime.fits,
    WORKED: runtime.worked,
    INTO[1]: runtime.into1,
    INTO[2]: runtime.into2,
    INSIDE: indices.inside,
    HAVING: indices.having,
}
"""What a rewritten function calls, by the names under which it does."""
SIZED = ("zeros", "ones", "empty", "full")
"""Functions of numpy whose first argument is a shape."""
COUNTS = tuple(inspect.signature(charge).parameters)[1:]
"""Arguments of `charge` behind the core."""


def calls(node: ast.AST, *names: str) -> bool:
    """Whether an expression is a call of what has one of these names."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def variable(name: str) -> ast.Name:
    """An expression that reads a variable."""
    return ast.Name(name, ast.Load())


def sliced(index: ast.expr) -> bool:
    """Whether there is a slice in an index."""
    return any(isinstance(each, ast.Slice) for each in ast.walk(index))


def index_value(node: ast.expr) -> ast.expr:
    """An index as an expression that can be assigned to a variable: slices as calls of ``slice``."""
    if isinstance(node, ast.Tuple):
        return ast.Tuple([index_value(each) for each in node.elts], ast.Load())
    if not isinstance(node, ast.Slice):
        return node
    parts = [node.lower, node.upper, *([node.step] if node.step else [])]
    return ast.Call(variable("slice"), [each or ast.Constant(None) for each in parts], [])


def read(target: ast.expr) -> ast.expr:
    """An expression that reads what ``target`` writes."""
    return ast.parse(ast.unparse(target), mode="eval").body


class _Pass(ast.NodeTransformer):
    """One rewriting of a function; ``count`` says how often it changed something."""

    def __init__(self, core: str, names: Names) -> None:
        self._core, self._known = core, names.known
        self.count = 0

    def _call(self, name: str, *arguments: ast.expr) -> ast.Call:
        self.count += 1
        return ast.Call(variable(name), [variable(self._core), *arguments], [])


class Counted(_Pass):
    """Has every loop of a function count: a while loop at each turn, and another way out where it may have none, as the
    compiler requires it; a for loop before its first, all at once, so that it stays as fast."""

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        call = self._call(TURN)
        counted: ast.stmt = ast.Expr(call)
        if isinstance(node.test, ast.Constant):
            counted = ast.If(call, [ast.Raise(ast.Name("RuntimeError", ast.Load()))], [])
        node.body.insert(0, ast.copy_location(counted, node))
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = self._over(node.iter)
        return node

    def _over(self, node: ast.expr) -> ast.expr:
        """What a loop goes over, counted; of several views, each."""
        called = self._known(node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and called in (enumerate, zip):
            several = len(node.args) if called is zip else min(len(node.args), 1)
            node.args = [*map(self._over, node.args[:several]), *node.args[several:]]
            return node
        if calls(node, GONE_OVER):
            return node
        return ast.copy_location(self._call(GONE_OVER, node), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = self._known(node.func)
        if any(called is each for each in (sum, min, max)) and len(node.args) == 1:
            node.args = [self._over(node.args[0])]
        elif called is np.arange:
            return self._arange(node)
        elif any(called is getattr(np, name) for name in SIZED):
            self._sized(node)
        return node

    def _sized(self, node: ast.Call) -> None:
        if node.args:
            node.args[0] = self._call(ROOM, node.args[0])
            return
        for keyword in node.keywords:
            if keyword.arg == "shape":
                keyword.value = self._call(ROOM, keyword.value)

    def _arange(self, node: ast.Call) -> ast.AST:
        given = dict(zip(("start", "stop", "step", "dtype"), node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in given:
                raise refused(node, f"'{source_of(node)}' are ambiguous")
            given[keyword.arg] = keyword.value
        if "start" not in given:
            raise refused(node, f"'{source_of(node)}': give the first number as the first argument")
        order = [given.get(name, ast.Constant(None)) for name in ("start", "stop", "step", "dtype")]
        return ast.copy_location(self._call(ARANGE, *order), node)


class Worked(_Pass):
    """Counts what loops do with arrays: operands and results of arithmetic and numpy's functions, what they write."""

    def __init__(self, core: str, names: Names, everywhere: bool) -> None:
        """``everywhere``: in loops or not, as in helpers."""
        super().__init__(core, names)
        self._depth, self._within = int(everywhere), False

    def _counted(self, node: ast.expr) -> ast.expr:
        plain = isinstance(node, ast.Constant | ast.Tuple | ast.List)
        if calls(node, WORKED) or plain or self._known(node) is not NOTHING:
            return node
        return ast.copy_location(self._call(WORKED, node), node)

    def _inside(self, body: list[ast.stmt]) -> list[ast.stmt]:
        self._depth += 1
        made: list[ast.stmt] = []
        for each in body:
            done: Any = self.visit(each)
            made += done if isinstance(done, list) else [done]
        self._depth -= 1
        return made

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self.visit(node.iter)
        node.body, node.orelse = self._inside(node.body), self._inside(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self._depth += 1
        node.test = self.visit(node.test)
        self._depth -= 1
        node.body, node.orelse = self._inside(node.body), self._inside(node.orelse)
        return node

    def _outermost(self, node: Any) -> ast.AST:
        """Arithmetic counts once: the compiler makes one loop of it."""
        within, self._within = self._within, True
        self.generic_visit(node)
        self._within = within
        plain = isinstance(node, ast.Compare) and any(isinstance(each, ast.Is | ast.IsNot) for each in node.ops)
        return self._counted(node) if self._depth and not within and not plain else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return self._outermost(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return node if isinstance(node.operand, ast.Constant) else self._outermost(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return self._outermost(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        within, self._within = self._within, False
        self.generic_visit(node)
        self._within = within
        if not self._depth:
            return node
        called = self._known(node.func)
        if calls(node, *INTO.values()):
            node.args[-1] = self._counted(node.args[-1])
        elif isinstance(node.func, ast.Attribute) and called is NOTHING:
            node.func.value = self._counted(node.func.value)
        elif isinstance(called, np.ufunc) or str(getattr(called, "__module__", "")).startswith("numpy"):
            node.args[:1] = [self._counted(each) for each in node.args[:1]]
            return self._counted(node) if not isinstance(called, type) else node
        elif isinstance(called, Charging):
            node.args[1:] = [self._counted(each) for each in node.args[1:]]
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        return [*(each for target in node.targets for each in self._written(target)), node]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        fitted = node.value
        if isinstance(fitted, ast.Call) and calls(fitted, FITS):
            fitted.args[0] = self._counted(fitted.args[0]) if self._depth else fitted.args[0]
            return node
        if self._depth and isinstance(node.target, ast.Name):
            return [ast.copy_location(ast.Expr(self._counted(variable(node.target.id))), node), node]
        return [*self._written(node.target), node]

    def _written(self, target: ast.expr) -> list[ast.stmt]:
        """A count of a part that is written."""
        part = isinstance(target, ast.Subscript) and sliced(target.slice)
        if not self._depth or not part or any(isinstance(each, ast.Call) for each in ast.walk(target)):
            return []
        return [ast.copy_location(ast.Expr(self._counted(read(target))), target)]


class Fitting(_Pass):
    """``a += fits(a, b)`` for ``a += b``, and ``into2(np.add, a, b, c)`` for ``np.add(a, b, c)``."""

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if isinstance(node.value, ast.Constant):
            return node
        self.count += 1
        before: list[ast.stmt] = []
        target = node.target
        if isinstance(target, ast.Subscript) and any(isinstance(e, ast.Call) for e in ast.walk(target)):
            whole, place = f"{FITS}_whole{self.count}", f"{FITS}_place{self.count}"
            before = [
                ast.Assign([ast.Name(whole, ast.Store())], target.value),
                ast.Assign([ast.Name(place, ast.Store())], index_value(target.slice)),
            ]
            node.target = target = ast.Subscript(variable(whole), variable(place), ast.Store())
        node.value = ast.Call(variable(FITS), [read(target), node.value], [])
        return [*(ast.copy_location(each, node) for each in before), node]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = self._known(node.func)
        if not isinstance(called, np.ufunc) or called.nin not in INTO:
            return node
        if node.keywords:
            raise refused(node, f"'{source_of(node)}': write where the result goes as the last argument")
        if len(node.args) == called.nin + 1:
            self.count += 1
            return ast.copy_location(ast.Call(variable(INTO[called.nin]), [node.func, *node.args], []), node)
        return node


class Charges(_Pass):
    """`charge_all` for every call of `charge`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if self._known(node.func) is not charge or not node.keywords:
            return node
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        rest = COUNTS[len(node.args) - 1 :]
        if set(given) <= set(rest):  # else it is wrong, and the compiler says how
            self.count += 1
            counts = [*node.args, *(given.get(name, ast.Constant(0)) for name in rest)]
            return ast.copy_location(ast.Call(variable(CHARGE), counts, []), node)
        return node


class Indices(_Pass):
    """``a[inside(a, i, place)]`` for ``a[i]``, and ``having(a, 0, place)[0]`` for ``a[0]``, as the compiler wants to
    see constants that are indices of tuples. Where both are more than names the compiler's own check remains alone."""

    def __init__(self, core: str, names: Names, place: Callable[[int], str]) -> None:
        """``place``: file and line of a line of the function, from its first."""
        super().__init__(core, names)
        self._place = place

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        index = node.slice
        constant = isinstance(index, ast.Constant) or (
            isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant)
        )
        if sliced(index) or (isinstance(index, ast.Constant) and not isinstance(index.value, int)):
            return node
        line = ast.Constant(self._place(node.lineno) if hasattr(node, "lineno") else "")
        if constant:
            node.value = ast.Call(variable(HAVING), [node.value, index, line], [])
        elif isinstance(node.value, ast.Name):
            node.slice = ast.Call(variable(INSIDE), [variable(node.value.id), index, line], [])
        else:
            return node
        self.count += 1
        return node


class Words(_Pass):
    """Functions of `words` for operations on numbers. What they make of other operands is Python's and numpy's."""

    def __init__(self, core: str, names: Names, place: Callable[[int], str]) -> None:
        super().__init__(core, names)
        self._place, self._own = place, names.own
        self.constants: dict[str, Any] = {}
        """What operations have as operands in place of the source's constants, by name."""

    def constant(self, node: ast.expr) -> int | None:
        """The integer that an expression of constants comes to."""
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.BinOp | ast.UnaryOp):
            parts = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
            compute: Any = words.CONSTANT.get(type(node.op).__name__)
            values = [self.constant(each) for each in parts]
            try:
                return None if compute is None or None in values else compute(*values)
            except (ValueError, ArithmeticError):  # of a count below zero, or by zero: the compiler's to say
                return None
        known = self._known(node) if isinstance(node, ast.Name | ast.Attribute) else None
        return known if type(known) is int else None

    def operand(self, node: ast.expr) -> ast.expr:
        """An operand: a constant as the machine's type of it."""
        value = self.constant(node)
        if value is None or not isinstance(typed := words.constant_word(value), np.integer):
            return node
        name = f"{words.PREFIX}{typed.dtype.name}_{value}".replace("-", "minus")
        self.constants[name] = typed
        return ast.copy_location(variable(name), node)

    def line(self, node: ast.AST) -> list[ast.expr]:
        """The operand that names the line of a division."""
        return [ast.Constant(self._place(getattr(node, "lineno", 1)))]

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if self.constant(node) is not None:
            return node
        self.generic_visit(node)
        name = type(node.op).__name__
        if name == "Pow" and (exponent := self.constant(node.right)) is not None and abs(exponent) <= words.MOST_POWER:
            return self._word(node, words.power(exponent), node.left)
        if name not in words.OPERATORS or (
            self.constant(node.left) is not None and self.constant(node.right) is not None
        ):
            return node
        place = self.line(node) if name in words.DIVISIONS else []
        return self._word(node, words.PREFIX + name, self.operand(node.left), self.operand(node.right), *place)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if self.constant(node) is not None:
            return node
        self.generic_visit(node)
        name = type(node.op).__name__
        return self._word(node, words.PREFIX + name, node.operand) if name in words.SIGNS else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        name = type(node.op).__name__
        if not isinstance(node.target, ast.Name) or name not in words.OPERATORS:
            return node
        place = self.line(node) if name in words.DIVISIONS else []
        called = f"{words.PREFIX}i{name}"
        value = self._word(node, called, variable(node.target.id), self.operand(node.value), *place)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def _word(self, node: ast.AST, name: str, *arguments: ast.expr) -> ast.expr:
        self.count += 1
        return ast.copy_location(ast.Call(variable(name), list(arguments), []), node)
