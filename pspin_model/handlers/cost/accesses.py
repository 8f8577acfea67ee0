"""What reads, writes, decisions and turns of loops are charged in a handler with derived costs: functions as in
`prices`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types

from pspin_model.handlers.core import charge, charge_elements
from pspin_model.handlers.cost.prices import PREFIX, cannot_price
from pspin_model.handlers.cost.remote_memory_cost import read_one, reads, write_one, writes
from pspin_model.handlers.overloads import overloaded

ACCESSES: dict[str, Any] = {}
"""Functions by the name under which a rewritten handler calls them."""
COUNTED = (types.Integer, types.Boolean)


def _access(implement: Callable[..., Any]) -> Any:
    """A function that rewritten handlers call."""
    made = ACCESSES[f"{PREFIX}{implement.__name__}"] = overloaded(implement)
    return made


def _kinds(places: Any) -> tuple[Any, ...]:
    return tuple(places.types)


def _one_place(a: Any, i: Any) -> bool:
    """Whether a[i] is an element."""
    if isinstance(i, types.BaseTuple):
        return len(_kinds(i)) == a.ndim and all(isinstance(each, types.Integer) for each in _kinds(i))
    return isinstance(i, types.Integer) and a.ndim == 1


def _part(i: Any) -> bool:
    """Whether a[i] is a view that nothing is read for."""
    places = _kinds(i) if isinstance(i, types.BaseTuple) else (i,)
    return all(isinstance(each, types.SliceType | types.Integer) for each in places)


@_access
def load(h: Any, a: Any, i: Any) -> Any:
    """``a[i]``: an element, a part (free), or a copy of those that i names."""
    if isinstance(a, types.UniTuple):
        return lambda h, a, i: a[i]
    if not isinstance(a, types.Array):
        raise cannot_price(f"an element of {a}")
    if _one_place(a, i):

        def element(h: Any, a: Any, i: Any) -> Any:
            read_one(h, a)
            return a[i]

        return element
    if _part(i):
        return lambda h, a, i: a[i]

    def copy(h: Any, a: Any, i: Any) -> Any:
        result = a[i]
        charge_elements(h, a, result.size)
        reads(h, a, result.size)
        return result

    return copy


@_access
def loaded(h: Any, a: Any) -> Any:
    """``a``, of which an element at a constant place is read next; of a tuple, that is free."""
    if isinstance(a, types.BaseTuple) or (isinstance(a, types.Array) and a.ndim > 1):
        return lambda h, a: a
    if not isinstance(a, types.Array):
        raise cannot_price(f"an element of {a}")

    def element(h: Any, a: Any) -> Any:
        read_one(h, a)
        return a

    return element


@_access
def store(h: Any, v: Any, a: Any, i: Any) -> Any:
    """``a[i] = v``."""
    if not isinstance(a, types.Array):
        raise cannot_price(f"a write into {a}")
    if _one_place(a, i):

        def element(h: Any, v: Any, a: Any, i: Any) -> None:
            charge(h, alu=1)
            write_one(h, a)
            a[i] = v

        return element
    if isinstance(i, types.Array):

        def chosen(h: Any, v: Any, a: Any, i: Any) -> None:
            charge_elements(h, a, i.size)
            reads(h, v, i.size)
            writes(h, a, i.size)
            a[i] = v

        return chosen

    def part(h: Any, v: Any, a: Any, i: Any) -> None:
        charge_elements(h, a, a[i].size)
        reads(h, v, a[i].size)
        writes(h, a, a[i].size)
        a[i] = v

    return part


def _decision(text: str, test: Any) -> None:
    if not isinstance(test, (*COUNTED, types.Float, types.NoneType, types.Optional)):
        raise cannot_price(f"{text} {test}")


@_access
def decide(h: Any, test: Any) -> Any:
    """A branch that is taken where the test fails."""
    _decision("a decision by", test)

    def implement(h: Any, test: Any) -> Any:
        if test:
            charge(h, branch=1)
        else:
            charge(h, branch_taken=1)
        return test

    return implement


@_access
def decide_not(h: Any, test: Any) -> Any:
    """A branch that is taken where the test holds."""
    _decision("a decision by", test)

    def implement(h: Any, test: Any) -> Any:
        if test:
            charge(h, branch_taken=1)
        else:
            charge(h, branch=1)
        return test

    return implement


@_access
def each_turn(h: Any, over: Any) -> Any:
    """A turn of a loop over a view."""
    if isinstance(over, types.UniTuple | types.RangeType):
        return lambda h, over: None
    if not isinstance(over, types.Array):
        raise cannot_price(f"a loop over {over}")
    return lambda h, over: read_one(h, over)


@_access
def to_integer(h: Any, x: Any) -> Any:
    """``x``, which is made another integer next."""
    if isinstance(x, types.Float):
        return _and_charge_real
    if isinstance(x, COUNTED):

        def extend(h: Any, x: Any) -> Any:
            charge(h, alu=1)
            return x

        return extend
    raise cannot_price(f"a number made of {x}")


@_access
def to_real(h: Any, x: Any) -> Any:
    """``x``, which is made a float next."""
    if isinstance(x, (*COUNTED, types.Float)):
        return _and_charge_real
    raise cannot_price(f"a number made of {x}")


def _and_charge_real(h: Any, x: Any) -> Any:
    charge(h, fp=1)
    return x
