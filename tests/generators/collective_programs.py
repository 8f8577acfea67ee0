"""Programs of collectives and messages on a few ranks, drawn from a seed.

A program is one list of steps. Each rank carries out those of its groups in that order, and waits for each at once or
later; so every step can end once its ranks have come to it, and no program deadlocks. What the tensors hold follows
from a step's seed (``tests.oracles.collectives``), so that every rank knows what it must receive.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

FLOATS = ("float32", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
COMPLEX = ("complex64", "complex128")
DTYPES = (*FLOATS, "float64", *INTEGERS, *COMPLEX, "bool")
OPERATORS = {
    "SUM": DTYPES,
    "AVG": (*FLOATS, "float64", *INTEGERS, *COMPLEX),
    "PREMUL_SUM": (*FLOATS, "float64", *COMPLEX),
    "MIN": (*FLOATS, "float64", *INTEGERS, "bool"),
    "MAX": (*FLOATS, "float64", *INTEGERS, "bool"),
    "PRODUCT": DTYPES,
    "BAND": (*INTEGERS, "bool"),
    "BOR": (*INTEGERS, "bool"),
    "BXOR": (*INTEGERS, "bool"),
}
"""Element types by operator, as the table in ``hostagent/torch_backend/README.md``."""
SUMS = ("SUM", "AVG", "PREMUL_SUM")

REDUCTIONS = ("all_reduce", "all_reduce_coalesced", "reduce", "reduce_scatter", "reduce_scatter_single")
MOVES = ("broadcast", "all_gather", "all_gather_single", "gather", "scatter", "all_to_all", "all_to_all_single")
CALLS = (*REDUCTIONS, *REDUCTIONS, "all_reduce", "all_reduce", *MOVES, "all_reduce_sparse", "barrier", "messages")
MOST_RANKS = 5
MOST_EXACT = 120
"""Elements of a sum that the oracle calculates in fractions."""
LAYOUTS = ("plain", "plain", "plain", "strided", "transposed")


@dataclass(frozen=True, slots=True)
class Group:
    """A process group of a program: the ranks of the program in it, and whether its sums of floats are exact."""

    members: tuple[int, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Letter:
    """A message of a step; ranks are those of the group."""

    source: int
    destination: int
    tag: int
    count: int
    from_any: bool
    """Its receive takes any source; so do all receives of this destination and tag, with the same count."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call of all members of a group, or the messages between them."""

    call: str
    group: int
    seed: int
    dtype: str = "float32"
    operator: str = ""
    root: int = 0
    counts: tuple[int, ...] = ()
    """Elements: of each tensor, of each rank's tensor, or of the tensor from rank i to rank j at i * size + j."""
    layout: str = "plain"
    letters: tuple[Letter, ...] = ()

    def describe(self) -> str:
        words = (self.call, self.operator, self.dtype, self.layout, f"root {self.root}", str(self.counts))
        return " ".join(word for word in words if word) + "".join(f"\n      {letter}" for letter in self.letters)


@dataclass(frozen=True, slots=True)
class Program:
    """What all ranks do."""

    seed: int
    ranks: int
    groups: tuple[Group, ...]
    steps: tuple[Step, ...]

    def describe(self) -> str:
        lines = [f"program {self.seed} of {self.ranks} ranks"]
        lines += [f"  group {number}: {group}" for number, group in enumerate(self.groups)]
        lines += [f"  step {number}, group {step.group}: {step.describe()}" for number, step in enumerate(self.steps)]
        return "\n".join(lines)


def draw(seed: int) -> Program:
    """A program of 2 to 5 ranks, 1 to 3 groups and up to 12 steps."""
    rng = random.Random(f"program {seed}")
    ranks = rng.choice((2, 2, 3, 3, 4, 5))
    groups = [Group(tuple(range(ranks)), rng.random() < 0.25)]
    for _ in range(rng.choice((0, 0, 1, 2))):
        members = tuple(sorted(rng.sample(range(ranks), rng.randint(2, ranks))))
        groups.append(Group(members, rng.random() < 0.25))
    largest = rng.choice((8, 100, 600, 4000))
    steps = [draw_step(rng, index, groups, largest) for index in range(rng.choice((1, 3, 6, 12)))]
    return Program(seed, ranks, tuple(groups), tuple(steps))


def draw_step(rng: random.Random, index: int, groups: list[Group], largest: int) -> Step:
    number = rng.randrange(len(groups))
    size = len(groups[number].members)
    step = Step(rng.choice(CALLS), number, rng.getrandbits(32), root=rng.randrange(size), layout=rng.choice(LAYOUTS))
    if step.call == "barrier":
        return step
    if step.call in REDUCTIONS:
        operator = rng.choice((*OPERATORS, "SUM", "SUM"))
        step = replace(step, operator=operator, dtype=rng.choice(OPERATORS[operator]))
        is_exact = groups[number].exact or step.dtype in ("float64", "complex128")
        if operator in SUMS and step.dtype not in INTEGERS and is_exact:
            largest = min(largest, MOST_EXACT)
    elif step.call == "all_reduce_sparse":
        step = replace(step, operator="SUM", dtype=rng.choice((*FLOATS, "float64", "int64", "int32")))
        largest = min(largest, 200)
    else:
        step = replace(step, dtype=rng.choice(DTYPES))
    if step.call == "messages":
        return replace(step, letters=tuple(draw_letters(rng, index, size, largest)), layout="plain")
    return replace(step, counts=draw_counts(rng, step.call, size, largest))


def draw_counts(rng: random.Random, call: str, size: int, largest: int) -> tuple[int, ...]:
    tensors = {
        "all_reduce_coalesced": rng.randint(1, 4),
        "all_gather": size,
        "reduce_scatter": size,
        "all_to_all": size * size,
        "all_to_all_single": size * size,
    }.get(call, 1)
    if tensors == size and rng.random() < 0.5:
        return (draw_count(rng, largest // size),) * size
    return tuple(draw_count(rng, largest // tensors) for _ in range(tensors))


def draw_count(rng: random.Random, largest: int) -> int:
    return rng.choice((0, 1, rng.randint(0, largest), rng.randint(0, largest), largest))


def draw_letters(rng: random.Random, index: int, size: int, largest: int) -> list[Letter]:
    """Some messages, in the order in which each rank sends its own. Tags for any source are used in one step only:
    which receive takes which message is then up to the network, within MPI's rules."""
    modes: dict[tuple[int, int], tuple[bool, int]] = {}
    letters = []
    for _ in range(rng.choice((1, 2, 5, 12))):
        source, destination, kind = rng.randrange(size), rng.randrange(size), rng.randrange(3)
        place = (destination, kind)
        if place not in modes:
            modes[place] = rng.random() < 0.3, draw_count(rng, largest)
        from_any, count = modes[place]
        count = count if from_any else draw_count(rng, largest)
        letters.append(Letter(source, destination, 1000 * (index + 1) + kind if from_any else kind, count, from_any))
    return letters
