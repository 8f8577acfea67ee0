"""Arguments on their way in and out of functions, actions, controls and parsers (section 6.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.lower.effects import reads
from emulator.p4.lower.places import PlaceLowering, SlicePlace
from emulator.p4.lower.storage import HeaderParts, Parts, Value, is_static, roots

WRITTEN = ("out", "inout")


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
        return self.bound.parameter.direction in WRITTEN

    def written_roots(self) -> set[str]:
        place = self.place.base if isinstance(self.place, SlicePlace) else self.place
        return set(roots(place)) if self.is_written and place is not None else set()


class ArgumentLowering(PlaceLowering):
    def pass_arguments(
        self,
        names: Sequence[Any],
        arguments: Sequence[r.Bound],
        *,
        by_reference: bool,
        span: ir.Span | None,
        constants: bool = True,
    ) -> Passing:
        """Evaluate arguments in order, and make what the parameters stand for.

        With ``by_reference`` an argument whose storage nothing else of the call touches stands for the parameter
        itself: copying in and out could not be told apart, as callees see no storage but their parameters.
        With ``constants`` a constant argument stands for its parameter, too. ``names`` are those of fresh storage, or
        storage that is there already.
        """
        evaluated = self.evaluate(arguments)
        counts: dict[str, int] = {}
        for argument in evaluated:
            for name in argument.written_roots():
                counts[name] = counts.get(name, 0) + 1
        passing = Passing([], [])
        pending: list[tuple[Value, Value]] = []
        made_invalid: list[Value] = []
        copied: list[tuple[int, Value | SlicePlace, Value]] = []
        for name, argument in zip(names, evaluated, strict=True):
            if self._is_direct(argument, counts, by_reference=by_reference, constants=constants):
                passing.storage.append(argument.place if argument.is_written else argument.value)
                if argument.bound.parameter.direction == "out":
                    made_invalid.append(argument.place)
                continue
            storage = self.allocate(name, self.type(argument.bound.parameter.type)) if isinstance(name, str) else name
            passing.storage.append(storage)
            if argument.value is not None:
                pending.append((storage, argument.value))
            else:
                made_invalid.append(storage)
            if argument.place is not None:
                copied.append((argument.bound.position, self.fixed(argument.place, None), storage))
        for storage, value in pending:
            self.store(storage, value, span)
        for place in made_invalid:
            self.invalidate(place)
        passing.copy_out = [(place, storage) for _, place, storage in sorted(copied, key=lambda entry: entry[0])]
        return passing

    def evaluate(self, arguments: Sequence[r.Bound]) -> list[Evaluated]:
        """In the order they were written; in the order of the parameters."""
        done: list[Evaluated] = []
        for bound in sorted(arguments, key=lambda b: b.position):
            before = len(self.out)
            done.append(self._evaluated(bound))
            if len(self.out) != before and len(done) > 1:
                self._keep(done[:-1], before)
        return sorted(done, key=lambda e: next(i for i, b in enumerate(arguments) if b is e.bound))

    def _evaluated(self, bound: r.Bound) -> Evaluated:
        if bound.value is None:
            return Evaluated(bound, None, None)
        if bound.parameter.direction not in WRITTEN:
            return Evaluated(bound, None, self.value(bound.value))
        place = self.place(bound.value)
        return Evaluated(bound, place, self.read(place) if bound.parameter.direction == "inout" else None)

    def _keep(self, arguments: list[Evaluated], position: int) -> None:
        """What the statements from ``position`` on change is saved before them."""
        later = self.out[position:]
        names = self.effects.written(later)
        del self.out[position:]
        for argument in arguments:
            if argument.place is not None:
                argument.place = self.fixed(argument.place, names)
            if argument.value is not None and reads(argument.value, names):
                argument.value, argument.is_saved = self.saved(argument.value), True
        self.out.extend(later)

    def _is_direct(self, argument: Evaluated, counts: dict[str, int], *, by_reference: bool, constants: bool) -> bool:
        """Whether the argument itself can stand for the parameter."""
        value, type_ = argument.value, self.type(argument.bound.parameter.type)
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

    def copy_out(self, passing: Passing, span: ir.Span | None) -> ir.Block:
        outer, self.out = self.out, []
        for place, storage in passing.copy_out:
            self.write(place, storage, span)
        found, self.out = self.out, outer
        return tuple(found)


def is_constant(value: Value) -> bool:
    if isinstance(value, Parts | HeaderParts):
        return all(map(is_constant, value.items))
    return isinstance(value, ir.Constant | ir.Text)
