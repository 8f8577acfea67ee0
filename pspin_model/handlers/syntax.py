"""What a handler or helper may be written in: the part of Python that the cores' machine code has words for.

Loops, decisions, arithmetic, calls of functions by their names. Whatever else there is, is refused with its line; so is
a call that does not hand on the core it runs on. Which functions may be called is looked up when the handler is first
used (`allowed`), as they may be defined after it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from pspin_model.handlers.errors import refused, told
from pspin_model.handlers.names import Names, dotted

REFUSED: dict[type[ast.AST], str] = {
    ast.ListComp: "comprehensions in a handler; write a loop",
    ast.SetComp: "comprehensions in a handler; write a loop",
    ast.DictComp: "comprehensions in a handler; write a loop",
    ast.GeneratorExp: "generators in a handler; write a loop",
    ast.Yield: "generators in a handler; write a loop",
    ast.YieldFrom: "generators in a handler; write a loop",
    ast.Await: "await in a handler; it waits in the calls of pspin_model.handlers",
    ast.AsyncFor: "async in a handler",
    ast.AsyncWith: "async in a handler",
    ast.AsyncFunctionDef: "functions within a handler; make it a helper beside it",
    ast.FunctionDef: "functions within a handler; make it a helper beside it",
    ast.Lambda: "functions within a handler; make it a helper beside it",
    ast.ClassDef: "classes within a handler",
    ast.Try: "try in a handler; an error ends it",
    ast.TryStar: "try in a handler; an error ends it",
    ast.With: "with in a handler; call lock and unlock",
    ast.Match: "match in a handler; write if and elif",
    ast.NamedExpr: "':=' in a handler; assign before",
    ast.JoinedStr: "f-strings in a handler; errors take constant texts and numbers",
    ast.Starred: "arguments or targets with a star in a handler; write them out",
    ast.Global: "global in a handler; globals are constants to it, its memory is scratchpad and handler_memory",
    ast.Nonlocal: "nonlocal in a handler; what is around it is constant to it",
    ast.Import: "import in a handler; import above it",
    ast.ImportFrom: "import in a handler; import above it",
    ast.Delete: "del in a handler; it has no memory to give back",
    ast.Dict: "dicts in a handler; use an array or a tuple",
    ast.Set: "sets in a handler; use an array or a tuple",
    ast.List: "lists in a handler; use an array or a tuple",
}
LISTS = ("array", "asarray")
"""Functions of numpy that a list may be given to."""

UNCHECKED = ("flat", "ctypes", "data", "base")
"""Attributes of views that lead around the checks of bounds."""
METHODS = (
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "conjugate", "copy", "cumprod", "cumsum",
    "dot", "fill", "flatten", "item", "max", "mean", "min", "nonzero", "prod", "ravel", "reshape", "sort", "std", "sum",
    "take", "transpose", "var", "view",
)  # fmt: skip
"""Of views and numbers, that are checked and end."""


@dataclass(frozen=True, slots=True)
class Use:
    """Something from outside that a function reads or calls."""

    path: tuple[str, ...]
    line: int
    called: bool
    on_core: bool
    """Whether the first argument of the call is the core."""
    loop: bool
    """Whether a loop goes over what is called."""

    def __str__(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Uses:
    """What a function needs from outside."""

    names: tuple[Use, ...]
    counts: bool
    """Whether what the decorator puts into it counts or charges, and so needs the core it runs on."""
    rebound: int | None
    """The line in which its first argument gets another value."""


def uses(definition: ast.FunctionDef, core: str, names: Names) -> Uses:
    """What a function uses from outside. Raises HandlerError for what no handler can have."""
    found = _Syntax(core, names)
    for each in (*definition.args.defaults, *definition.args.kw_defaults):
        if each is not None:
            found.visit(each)
    if definition.args.vararg or definition.args.kwarg or definition.args.kwonlyargs:
        raise refused(definition, "only plain arguments: none with a star, or behind one")
    for statement in definition.body:
        found.visit(statement)
    return Uses(tuple(found.uses), False, found.rebound)


class _Syntax(ast.NodeVisitor):
    def __init__(self, core: str, names: Names) -> None:
        self._core, self._names = core, names
        self.uses: list[Use] = []
        self.rebound: int | None = None

    def generic_visit(self, node: ast.AST) -> None:
        if type(node) in REFUSED:
            raise refused(node, f"'{told(node)}': no {REFUSED[type(node)]}")
        super().generic_visit(node)

    # --- names and what is behind a dot ------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        if node.id == self._core and not isinstance(node.ctx, ast.Load):
            self.rebound = node.lineno
        self._use(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._use(node):
            return
        if node.attr in UNCHECKED or node.attr.startswith("_"):
            raise refused(node, f"no bounds are checked in '.{node.attr}': use an index or a slice")
        self.visit(node.value)

    def _use(
        self, node: ast.Name | ast.Attribute, *, called: bool = False, core: bool = False, loop: bool = False
    ) -> bool:
        """Note what begins with a name from outside; whether it does."""
        path = dotted(node)
        if path is None or path[0] in self._names.own:
            return False
        self.uses.append(Use(path, node.lineno, called, core, loop))
        return True

    # --- calls -------------------------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> None:
        self._call(node, loop=False)

    def _call(self, node: ast.Call, loop: bool) -> None:
        called = node.func
        core = bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id == self._core
        if isinstance(called, ast.Attribute) and not self._use(called, called=True, core=core, loop=loop):
            if called.attr in UNCHECKED or called.attr not in METHODS:
                raise refused(node, f"'{told(node)}': handlers call no '.{called.attr}' of views")
            self.visit(called.value)
        elif isinstance(called, ast.Name) and not self._use(called, called=True, core=core, loop=loop):
            raise refused(node, f"'{told(node)}': {called.id} is a variable; functions are called by their own names")
        elif not isinstance(called, ast.Name | ast.Attribute):
            raise refused(node, f"'{told(node)}': functions are called by their own names")
        lists = dotted(called) is not None and (dotted(called) or ("",))[-1] in LISTS
        for place, each in enumerate([*node.args, *(keyword.value for keyword in node.keywords)]):
            if lists and place == 0 and isinstance(each, ast.List):
                for element in each.elts:
                    self.visit(element)
            elif loop and isinstance(each, ast.Call):  # enumerate(zip(a, b))
                self._call(each, loop=True)
            else:
                self.visit(each)

    # --- statements --------------------------------------------------------------------------------------------------

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.target)
        if isinstance(node.iter, ast.Call):
            self._call(node.iter, loop=True)
        else:
            self.visit(node.iter)
        for statement in [*node.body, *node.orelse]:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._target(target)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._target(node.target)
        if isinstance(node.op, ast.MatMult):
            raise refused(node, f"'{told(node)}': no '@=' in a handler")
        self.generic_visit(node)

    def _target(self, node: ast.expr) -> None:
        if isinstance(node, ast.List):
            raise refused(node, f"'{told(node)}': no {REFUSED[ast.List]}")
        if isinstance(node, ast.Attribute) and node.attr in ("shape", "strides", "real", "imag", "T", "dtype"):
            raise refused(node, f"'{told(node)}' is not to be written")

    def visit_Raise(self, node: ast.Raise) -> None:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        given = node.exc.args if isinstance(node.exc, ast.Call) else []
        plain = isinstance(raised, ast.Name | ast.Attribute) and self._use(raised, called=True)
        if not plain or node.cause is not None or (isinstance(node.exc, ast.Call) and node.exc.keywords):
            raise refused(node, f"'{told(node)}': raise an error by its name, from nothing")
        self._texts(given)

    def visit_Assert(self, node: ast.Assert) -> None:
        self.visit(node.test)
        self._texts([node.msg] if node.msg else [])

    def _texts(self, given: list[ast.expr]) -> None:
        """What may be constant texts."""
        for each in given:
            if not isinstance(each, ast.Constant):
                self.visit(each)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):  # a text says something
            self.visit(node.value)

    # --- texts -------------------------------------------------------------------------------------------------------

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        if not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)):  # the name of a field
            self.visit(node.slice)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str | bytes):
            raise refused(node, f"{node.value!r}: no texts in a handler, but the names of fields and those of errors")
