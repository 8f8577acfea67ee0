"""Every kind of call with every kind of trouble: what the troubled rank does, and what all ranks must be told."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.generators.collective_programs import Letter, Step

SIZE, TROUBLED = 3, 1
TIMEOUT_S, BOUND_S = 2.0, 20.0
AT_ONCE = 4
"""Cases under way at a time."""
LARGE = 1_000_000
"""Elements of a call in whose middle a rank ends."""


@dataclass(frozen=True, slots=True)
class Case:
    """What the ranks do."""

    trouble: str
    """``killed``, ``left`` or ``absent``; else what the ranks disagree on."""
    step: Step
    wrong: Step
    """What the troubled rank does."""

    @property
    def name(self) -> str:
        return f"{self.trouble}.{self.step.call}{self.step.operator and '.'}{self.step.operator}"

    @property
    def times_out(self) -> bool:
        """Whether nothing but a time-out can tell: where a call waits for a message that nobody sends."""
        return self.trouble in ("absent", "tag", "operation", "root") or (self.from_any and self.trouble == "left")

    @property
    def from_any(self) -> bool:
        """A receive takes any source: nobody knows which rank it waits for."""
        return any(letter.from_any for letter in self.step.letters)


def step(call: str, operator: str = "", counts: tuple[int, ...] = (40,), dtype: str = "int32") -> Step:
    return Step(call, 0, 1, dtype=dtype, operator=operator, counts=counts)


LETTERS = (Letter(1, 0, 5, 40, False), Letter(1, 2, 5, 40, False))
"""From the troubled rank to the others."""
STEPS = (
    step("all_reduce", "SUM"),
    step("all_reduce", "BXOR"),
    step("all_reduce_coalesced", "MAX", (40, 3)),
    step("all_reduce_sparse"),
    step("reduce", "SUM"),
    step("reduce", "PRODUCT"),
    step("reduce_scatter", "SUM", (40, 0, 41)),
    step("reduce_scatter_single", "SUM"),
    step("broadcast"),
    step("all_gather", counts=(40, 0, 41)),
    step("all_gather_single"),
    step("gather"),
    step("scatter"),
    step("all_to_all", counts=(40,) * 9),
    step("all_to_all_single", counts=(40,) * 9),
    step("barrier", counts=()),
    replace(step("messages"), letters=LETTERS),
    replace(step("messages", "any"), letters=tuple(replace(letter, from_any=True) for letter in LETTERS)),
)


def larger(one: Step) -> Step:
    """The same call with a million elements: the rank ends in its middle."""
    if one.call == "all_reduce_sparse":
        return replace(one, counts=(4000,))  # slow to make
    counts = tuple(LARGE // len(one.counts) for _ in one.counts)
    return replace(one, counts=counts, letters=tuple(replace(letter, count=LARGE) for letter in one.letters))


def longer(one: Step) -> Step:
    letters = tuple(replace(letter, count=letter.count + 1) for letter in one.letters)
    return replace(one, counts=tuple(count + 1 for count in one.counts), letters=letters)


def disagreements(one: Step) -> list[tuple[str, Step]]:
    """What a rank can do otherwise than the others."""
    other = step("broadcast") if one.call != "broadcast" else step("all_reduce", "SUM")
    found = [("operation", other)]
    if one.call != "barrier":
        found += [("shape", longer(one)), ("dtype", replace(one, dtype="int16"))]
    if one.operator in ("SUM", "PRODUCT", "BXOR", "MAX"):
        found.append(("operator", replace(one, operator="BOR" if one.operator in ("PRODUCT", "BXOR") else "MIN")))
    if one.call in ("reduce", "broadcast", "gather", "scatter"):
        found.append(("root", replace(one, root=TROUBLED)))
    if one.call == "messages":
        found.append(("tag", replace(one, letters=tuple(replace(letter, tag=6) for letter in one.letters))))
    return found


def cases() -> dict[str, Case]:
    made = []
    for one in STEPS:
        made += [Case(trouble, one, wrong) for trouble, wrong in disagreements(one)]
        if one.call != "scatter":  # nobody waits for a rank that only receives
            made += [Case("absent", one, one)]
        made += [Case(trouble, larger(one), larger(one)) for trouble in ("killed", "left")]
    return {case.name: case for case in made}


CASES = cases()
