"""What the demo measured, and the checks that decide whether it passed. Pure data: no files but those it is given."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hostagent.protocol.window import default_max_window

FIRST_STEPS = 20
"""Steps with equal losses: later ones drift apart by rounding alone, as two gloo runs with other rings do."""
LOSS_TOLERANCE = 1e-4
ACCURACY_TOLERANCE = 0.01
ACCURACY_GOAL = 0.97
WIDTH_BYTES = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}
LEAST_EXPONENT_GROUP, LARGEST_EXPONENT_GROUP = 64, 256
"""Chunks with their exponents in one frame, otherwise a window: hostagent/protocol/PROTOCOL.md, Order of chunks."""
ONE_ROUND_FRAMES = 4
"""Largest number of frames of a sum in one round (PROTOCOL.md, section 8.9)."""
RANGE_BITS = {"float32": 128 + 149, "float16": 16 + 24, "bfloat16": 128 + 133}
"""Bits from the least bit of the smallest number to the highest of the largest (section 8.8, formats)."""


@dataclass(frozen=True, slots=True)
class Training:
    """One run of the training job, from the journal that its rank 0 wrote."""

    backend: str
    losses: list[float]
    """Mean over ranks, one a step."""
    step_s: list[float]
    accuracy: float
    parameters: int

    @property
    def median_step_ms(self) -> float:
        return 1e3 * statistics.median(self.step_s)

    @classmethod
    def read(cls, backend: str, journal: Path) -> Training:
        """Raises ValueError when the journal has no closing line: the run did not finish."""
        lines = [json.loads(line) for line in journal.read_text().splitlines()]
        if not lines or "accuracy" not in lines[-1]:
            raise ValueError(f"the {backend} run did not finish: {journal} has no closing line")
        steps, last = lines[:-1], lines[-1]
        return cls(
            backend,
            [line["loss"] for line in steps],
            [line["step_s"] for line in steps],
            last["accuracy"],
            last["parameters"],
        )


@dataclass(frozen=True, slots=True)
class Operations:
    """Like operations of one rank, counted: what the tensors imply."""

    collective: str
    operator: str
    dtype: str
    elements: int
    calls: int

    def chunks(self, lanes: int, ranks: int) -> int:
        """Frames a rank owes the switch for these calls: data chunks, and exponents for sums of floats.

        Counted here from PROTOCOL.md (Lane encodings), not by the code that sends them.
        """
        if self.operator == "BARRIER":
            return self.calls
        per_chunk, passes = lanes, 1
        if self.operator == "RAW":
            per_chunk = 4 * lanes // WIDTH_BYTES[self.dtype]
        elif self.dtype == "int64":
            per_chunk = lanes // 3 if self.operator == "SUM" else lanes
            passes = 1 if self.operator == "SUM" else 2
        data = -(-self.elements // per_chunk)
        floats = self.operator == "SUM" and self.dtype in RANGE_BITS
        if floats:
            limbs = -(-RANGE_BITS[self.dtype] // (31 - (ranks - 1).bit_length()))
            in_one_round = lanes // min(ranks, limbs + 1)  # elements of a frame without exponents
            if self.elements <= ONE_ROUND_FRAMES * in_one_round:
                return self.calls * -(-self.elements // in_one_round)
        group = min(lanes, LARGEST_EXPONENT_GROUP, max(LEAST_EXPONENT_GROUP, default_max_window(ranks)))
        exponents = -(-data // group) if floats else 0
        return self.calls * (passes * data + exponents)


@dataclass(frozen=True, slots=True)
class Port:
    """One port of the switch, counted by the switch."""

    number: int
    name: str
    frames_in: int
    bytes_in: int
    frames_out: int
    bytes_out: int
    drops: int


@dataclass(frozen=True, slots=True)
class Network:
    """What the switch, its P4 program and the ranks counted."""

    lanes: int
    ports: list[Port]
    verdicts: dict[str, int]
    """The P4 program's counters, by verdict."""
    drops: dict[str, int]
    ranks: list[dict[str, int]]
    """Each rank's transport counters."""
    operations: list[list[Operations]]
    """Operations by rank."""


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    netsum: Training
    gloo: Training
    network: Network
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def checks(self) -> list[Check]:
        return [self._accuracy_goal(), self._losses(), self._accuracies(), self._gradients(), self._contributions()]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    def loss_differences(self) -> list[float]:
        """Relative, one a step."""
        pairs = zip(self.netsum.losses, self.gloo.losses, strict=False)
        return [abs(a - b) / max(abs(b), 1e-30) for a, b in pairs]

    def _accuracy_goal(self) -> Check:
        reached = self.netsum.accuracy
        return Check(
            "the model learns", reached >= ACCURACY_GOAL, f"test accuracy {reached:.1%}, goal {ACCURACY_GOAL:.0%}"
        )

    def _losses(self) -> Check:
        worst = max(self.loss_differences()[:FIRST_STEPS])
        detail = f"first {FIRST_STEPS} losses within {worst:.1e} of gloo's, bound {LOSS_TOLERANCE:.0e}"
        return Check("same losses as gloo", worst <= LOSS_TOLERANCE, detail)

    def _accuracies(self) -> Check:
        gap = abs(self.netsum.accuracy - self.gloo.accuracy)
        detail = f"{self.netsum.accuracy:.1%} and {self.gloo.accuracy:.1%}, {gap * 100:.2f} points apart"
        return Check("same accuracy as gloo", gap <= ACCURACY_TOLERANCE, detail)

    def _gradients(self) -> Check:
        """DDP's buckets hold every gradient once a step, and the script sums one loss a step."""
        steps = len(self.netsum.losses)
        implied = steps * (self.netsum.parameters + 1)
        reduced = [
            sum(
                o.elements * o.calls
                for o in rank
                if (o.collective, o.operator, o.dtype) == ("all_reduce", "SUM", "float32")
            )
            for rank in self.network.operations
        ]
        good = bool(reduced) and all(elements == implied for elements in reduced)
        detail = f"{steps} steps x ({self.netsum.parameters:,} gradients + 1 loss) = {implied:,} floats on each rank"
        return Check(
            "every gradient was handed to netsum", good, detail if good else f"{detail}; handed over: {reduced}"
        )

    def _contributions(self) -> Check:
        lanes = self.network.lanes
        implied = sum(o.chunks(lanes, len(self.network.operations)) for rank in self.network.operations for o in rank)
        accepted = self.network.verdicts.get("accepted", 0) + self.network.verdicts.get("accepted_no_data", 0)
        payload = accepted * lanes * 4
        detail = f"{accepted:,} contributions accepted x {lanes * 4:,} B = {payload:,} B; the tensors imply {implied:,}"
        return Check("every gradient passed through the switch", accepted == implied > 0, detail)

    def as_json(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "checks": [asdict(check) for check in self.checks],
            "trainings": [
                asdict(training) | {"median_step_ms": training.median_step_ms} for training in (self.netsum, self.gloo)
            ],
            "network": asdict(self.network),
            "machine": self.machine,
        }
