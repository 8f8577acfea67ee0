"""`@handler` and `@helper`: Python functions that become handlers' machine code.

Every turn of a ``while`` loop is counted, and the length of every ``range`` that a loop goes over, so that a handler
that never returns is ended with an error instead of stopping the simulation. With ``cost="derived"`` each operation of
the function is charged as well (`cost.derive`).
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Literal, overload

import numba

from pspin_model.handlers.check.subset import Charging, objection
from pspin_model.handlers.code_cache import compiled
from pspin_model.handlers.errors import HandlerError as HandlerError
from pspin_model.handlers.errors import while_compiling
from pspin_model.handlers.overloads import CHECKED
from pspin_model.handlers.rewrite import rewritten
from pspin_model.machine.machine import HandlerCode

Cost = Literal["declared", "derived"]

UNKNOWN_CODE_BYTES = 128
"""Size taken for a handler that declares none: what a short one has."""


class Handler(HandlerCode):
    """A handler, compiled when a context first uses it."""

    def __init__(self, function: Callable[..., Any], cost: Cost, code_bytes: int | None) -> None:
        if not isinstance(function, FunctionType):
            raise HandlerError(f"a handler is made of a function, not of {function!r}")
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self.code_bytes = UNKNOWN_CODE_BYTES if code_bytes is None else code_bytes
        if function.__code__.co_argcount != 1:
            raise HandlerError(f"handler {self.name} must take one argument, the core it runs on")
        self._compiled: Any = compiled(*rewritten(function, derived=cost == "derived"), **CHECKED)

    def __repr__(self) -> str:
        return f"<handler {self.name}>"

    def code(self) -> int:
        """Address of its machine code: numba's own convention for a function of one int64."""
        signature = (numba.types.int64,)
        if isinstance(self._compiled, Charging) and (reason := objection(self._compiled)):
            raise HandlerError(f"{self.name}{reason}")
        try:
            self._compiled.compile(signature)
        except Exception as error:  # numba's own are of any kind
            raise while_compiling(self._compiled.py_func, error) from None
        found = self._compiled.overloads[signature]
        if found.signature.return_type != numba.types.none:
            raise HandlerError(f"handler {self.name} returns {found.signature.return_type}; a handler returns nothing")
        return int(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))


@overload
def handler(function: Callable[..., Any]) -> Handler: ...
@overload
def handler(
    function: None = None, *, cost: Cost = "declared", code_bytes: int | None = None
) -> Callable[[Callable[..., Any]], Handler]: ...


def handler(
    function: Callable[..., Any] | None = None, *, cost: Cost = "declared", code_bytes: int | None = None
) -> Handler | Callable[[Callable[..., Any]], Handler]:
    """Make a function of one argument a handler.

    ``code_bytes`` is the size of its code on the machine, for the instruction cache.
    """
    if cost not in ("declared", "derived"):
        raise HandlerError(f"cost must be 'declared' or 'derived', not {cost!r}")
    if function is not None:
        return Handler(function, cost, code_bytes)
    return lambda inner: Handler(inner, cost, code_bytes)


def helper(function: Callable[..., Any] | None = None, *, cost: Cost = "declared") -> Any:
    """Make a function one that handlers call; its first argument is the core."""
    if function is None:
        return lambda inner: helper(inner, cost=cost)
    if not isinstance(function, FunctionType):
        raise HandlerError(f"a helper is made of a function, not of {function!r}")
    return compiled(*rewritten(function, derived=cost == "derived", is_helper=True), **CHECKED)
