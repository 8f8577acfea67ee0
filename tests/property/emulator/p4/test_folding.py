"""Random expressions twice: on numbers from the packet, and on the same numbers as literals, which the compiler folds.

The front end's arithmetic on constants and the engines' on values must agree, as must the typing of both.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.programs.run import Case, ask

WIDTHS = (1, 7, 8, 16, 31, 32, 33, 64)
RESULT_WIDTHS = (1, 7, 8, 16, 31, 32)


@dataclass(frozen=True)
class Kind:
    width: int
    is_signed: bool

    def __str__(self) -> str:
        return f"{'int' if self.is_signed else 'bit'}<{self.width}>"


class Maker:
    """Expressions of a kind; each as (over variables, over literals)."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.given = {name: self.random.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, self.random.getrandbits(32)))
                      for name in "abcd"}  # fmt: skip

    def make(self, kind: Kind, depth: int) -> tuple[str, str]:
        if depth == 0:
            return self.leaf(kind)
        makers: list[Callable[..., tuple[str, str]]] = [self.leaf, self.unary, *[self.binary] * 3]
        makers += [self.shift, self.cast, self.mux]
        if not kind.is_signed:
            makers += [self.slice, self.concat]
        maker = self.random.choice(makers)
        return maker(kind) if maker == self.leaf else maker(kind, depth - 1)

    def leaf(self, kind: Kind) -> tuple[str, str]:
        if self.random.random() < 0.4:
            text = self.literal(self.random.getrandbits(kind.width), kind)
            return text, text
        name = self.random.choice("abcd")
        bits = Kind(kind.width, False)
        value = self.given[name] & ((1 << kind.width) - 1)
        variable = f"({bits}){name}"
        return (f"({kind})({variable})" if kind.is_signed else variable), self.literal(value, kind)

    @staticmethod
    def literal(value: int, kind: Kind) -> str:
        return f"({kind}){kind.width}w{value}" if kind.is_signed else f"{kind.width}w{value}"

    def joined(self, template: str, *parts: tuple[str, str]) -> tuple[str, str]:
        return template.format(*(p[0] for p in parts)), template.format(*(p[1] for p in parts))

    def unary(self, kind: Kind, depth: int) -> tuple[str, str]:
        return self.joined(f"({self.random.choice('-~+')}({{}}))", self.make(kind, depth))

    def binary(self, kind: Kind, depth: int) -> tuple[str, str]:
        operators = ["+", "-", "*", "&", "|", "^", "|+|", "|-|"]
        if not kind.is_signed:
            operators += ["/", "%"]
        operator = self.random.choice(operators)
        template = f"(({{}}) {operator} ({{}}))" if operator not in "/%" else f"(({{}}) {operator} (({{}}) | 1))"
        return self.joined(template, self.make(kind, depth), self.make(kind, depth))

    def shift(self, kind: Kind, depth: int) -> tuple[str, str]:
        operator = self.random.choice(("<<", ">>"))
        if self.random.random() < 0.5:
            amount = str(self.random.choice((0, 1, kind.width - 1, kind.width, kind.width + 3)))
            return self.joined(f"(({{}}) {operator} {amount})", self.make(kind, depth))
        amount_kind = Kind(self.random.choice((1, 7, 8)), False)
        return self.joined(f"(({{}}) {operator} ({{}}))", self.make(kind, depth), self.make(amount_kind, depth))

    def cast(self, kind: Kind, depth: int) -> tuple[str, str]:
        if self.random.random() < 0.3:
            inner = self.make(Kind(kind.width, not kind.is_signed), depth)
        else:
            inner = self.make(Kind(self.random.choice(WIDTHS), kind.is_signed), depth)
        return self.joined(f"({kind})({{}})", inner)

    def mux(self, kind: Kind, depth: int) -> tuple[str, str]:
        compared = Kind(self.random.choice(WIDTHS), self.random.random() < 0.5)
        operator = self.random.choice(("==", "!=", "<", "<=", ">", ">="))
        parts = [self.make(compared, depth), self.make(compared, depth), self.make(kind, depth), self.make(kind, depth)]
        return self.joined(f"((({{}}) {operator} ({{}})) ? ({{}}) : ({{}}))", *parts)

    def slice(self, kind: Kind, depth: int) -> tuple[str, str]:
        low = self.random.randrange(4)
        base = Kind(kind.width + low + self.random.randrange(4), self.random.random() < 0.5)
        bounds = f"{low + kind.width - 1}:{low}" if self.random.random() < 0.5 else f"{low} +: {kind.width}"
        return self.joined(f"(({{}})[{bounds}])", self.make(base, depth))

    def concat(self, kind: Kind, depth: int) -> tuple[str, str]:
        if kind.width == 1:
            return self.make(kind, depth)
        left = self.random.randrange(1, kind.width)
        parts = (
            self.make(Kind(left, False), depth),
            self.make(Kind(kind.width - left, self.random.random() < 0.5), depth),
        )
        return self.joined("(({}) ++ ({}))", *parts)


@pytest.mark.parametrize("seed", range(12))
def test_folded_as_computed(seed: int) -> None:
    maker = Maker(seed)
    kinds = [Kind(maker.random.choice(RESULT_WIDTHS), maker.random.random() < 0.5) for _ in range(4)]
    pairs = [maker.make(kind, 4) for kind in kinds]
    given = tuple(maker.given.values())
    found = []
    for which in (0, 1):
        lines = [
            f"{name} = (bit<32>)(bit<{kind.width}>)({pair[which]});"
            for name, kind, pair in zip("pqrs", kinds, pairs, strict=True)
        ]
        apply = "\n".join(lines)
        found.append(ask(Case("", apply, given, ())))
    assert found[0] == found[1], "\n".join(a for a, _ in pairs)
