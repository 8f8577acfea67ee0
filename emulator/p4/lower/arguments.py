"""Arguments on their way in and out of functions, actions, controls and parsers (section 6.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.lower import evaluation, places, storage, values
from emulator.p4.lower.context import Context
from emulator.p4.lower.evaluation import reads
from emulator.p4.lower.places import SlicePlace
from emulator.p4.lower.shapes import Value, is_constant, is_static, roots

_WRITTEN = ("out", "inout")


@dataclass(slots=True)
class Passing:
    """How arguments reach parameters: what each parameter stands for, and what happens afterwards."""

    storage: list[Value]
    copy_out: list[tuple[Value | SlicePlace, Value]]
    """(argument's place, parameter's storage), in the order of copying."""


@dataclass(slots=True)
class Evaluated:
    """An argument: the place an out or inout one is copied back to, and the value that goes in."""

    bound: r.Bound
    place: Value | SlicePlace | None
    value: Value | None
    is_saved: bool = False
    """Its value was copied already, before a later argument changed it."""

    @property
    def is_written(self) -> bool:
        return self.bound.parameter.direction in _WRITTEN

    def written_roots(self) -> set[str]:
        place = self.place.base if isinstance(self.place, SlicePlace) else self.place
        return set(roots(place)) if self.is_written and place is not None else set()


def pass_in(
    cx: Context,
    names: Sequence[Any],
    arguments: Sequence[r.Bound],
    *,
    by_reference: bool,
    span: ir.Span | None,
    constants: bool = True,
) -> Passing:
    """Evaluate arguments in order, and make what the parameters stand for.

    With ``by_reference`` an argument whose storage nothing else of the call touches stands for the parameter
    itself: copying in and out would make no difference, as callees see no storage but their parameters.
    With ``constants`` a constant argument stands for its parameter, too. ``names`` are those of fresh storage, or
    storage that is there already.
    """
    evaluated = evaluate(cx, arguments)
    counts: dict[str, int] = {}
    for argument in evaluated:
        for name in argument.written_roots():
            counts[name] = counts.get(name, 0) + 1
    passing = Passing([], [])
    pending: list[tuple[Value, Value]] = []
    made_invalid: list[Value] = []
    copied: list[tuple[int, Value | SlicePlace, Value]] = []
    for name, argument in zip(names, evaluated, strict=True):
        if _is_direct(cx, argument, counts, by_reference=by_reference, constants=constants):
            passing.storage.append(argument.place if argument.is_written else argument.value)
            if argument.bound.parameter.direction == "out":
                made_invalid.append(argument.place)
            continue
        made = storage.allocate(cx, name, cx.type(argument.bound.parameter.type)) if isinstance(name, str) else name
        passing.storage.append(made)
        if argument.value is not None:
            pending.append((made, argument.value))
        else:
            made_invalid.append(made)
        if argument.place is not None:
            copied.append((argument.bound.position, places.fixed(cx, argument.place, None), made))
    for made, value in pending:
        values.store(cx, made, value, span)
    for place in made_invalid:
        values.invalidate(cx, place)
    passing.copy_out = [(place, made) for _, place, made in sorted(copied, key=lambda entry: entry[0])]
    return passing


def copy_out(cx: Context, passing: Passing, span: ir.Span | None) -> ir.Block:
    outer, cx.out = cx.out, []
    for place, parameter in passing.copy_out:
        places.write(cx, place, parameter, span)
    result, cx.out = cx.out, outer
    return tuple(result)


def evaluate(cx: Context, arguments: Sequence[r.Bound]) -> list[Evaluated]:
    """Evaluated in the order in which they were written; returned in the order of the parameters."""
    done: list[Evaluated] = []
    for bound in sorted(arguments, key=lambda b: b.position):
        before = len(cx.out)
        done.append(_evaluated(cx, bound))
        if len(cx.out) != before and len(done) > 1:
            _keep(cx, done[:-1], before)
    return sorted(done, key=lambda e: next(i for i, b in enumerate(arguments) if b is e.bound))


def _evaluated(cx: Context, bound: r.Bound) -> Evaluated:
    if bound.value is None:
        return Evaluated(bound, None, None)
    if bound.parameter.direction not in _WRITTEN:
        return Evaluated(bound, None, cx.value(bound.value))
    place = places.place_of(cx, bound.value)
    return Evaluated(bound, place, places.read(cx, place) if bound.parameter.direction == "inout" else None)


def _keep(cx: Context, arguments: list[Evaluated], position: int) -> None:
    """What the statements from ``position`` on change is saved before them."""
    later = cx.out[position:]
    names = evaluation.written(cx, later)
    del cx.out[position:]
    for argument in arguments:
        if argument.place is not None:
            argument.place = places.fixed(cx, argument.place, names)
        if argument.value is not None and reads(argument.value, names):
            argument.value, argument.is_saved = evaluation.saved(cx, argument.value), True
    cx.out.extend(later)


def _is_direct(
    cx: Context, argument: Evaluated, counts: dict[str, int], *, by_reference: bool, constants: bool
) -> bool:
    """Whether the argument itself can stand for the parameter."""
    value, type_ = argument.value, cx.type(argument.bound.parameter.type)
    if isinstance(type_, t.ExternType | t.BlockType) or type_ in (t.STRING, t.INT):
        return True
    if not argument.is_written:
        if constants and is_constant(value):
            return True
        return by_reference and is_static(value) and not set(roots(value)) & counts.keys()
    place = argument.place
    if not by_reference or argument.is_saved or place is None or isinstance(place, SlicePlace):
        return False
    return is_static(place) and all(counts[root] == 1 for root in argument.written_roots())
