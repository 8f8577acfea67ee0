"""Late ranks: wait for them, fail, or let sums proceed without them (PROTOCOL.md, section 6.7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hostagent.protocol.operation import Operation, OperationKind
from hostagent.torch_backend.plans import Plan
from hostagent.torch_backend.tensors import dtype_name, span
from hostagent.transport.channel import Channel

COUNT = "contributions"
"""Name of the operation that counts them, in messages."""


@dataclass(frozen=True, slots=True)
class Stragglers:
    """What a rank that waits does about late ones after a bound."""

    bound_s: float
    proceeds: bool
    """Sums go on without them; otherwise the job fails."""

    @property
    def look_s(self) -> float:
        """Time between two looks."""
        return min(0.25, max(0.005, self.bound_s / 4))

    def look(self, channel: Channel, number: int) -> Exception | None:
        """Act if the bound has passed; the job's failure, where that is the act."""
        if not channel.overdue(self.bound_s):
            return None
        if not self.proceeds:
            return channel.expire(number, self.bound_s)
        channel.proceed(self.bound_s)
        return None


def may_be_missed(plan: Plan) -> bool:
    """Whether late ranks can be left out: of sums in host memory, and where nothing follows."""
    sums = all(operation.kind is OperationKind.SUM for operation in plan.operations)
    return bool(plan.operations) and sums and plan.transfer is None and plan.then is None


def counted(plan: Plan, ranks: int) -> Plan:
    """The plan, preceded by a count of the ranks that contribute data; averages are divided by that count."""
    mine, total = torch.ones(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    count = Operation(
        *(COUNT, OperationKind.SUM, dtype_name(mine), mine.element_size(), 1),
        input=span(mine),
        output=span(total),
        unit=1 + len(plan.operations),
    )
    averaged = any(operation.average for operation in plan.operations)
    is_integer = averaged and not (plan.outputs[0].is_floating_point() or plan.outputs[0].is_complex())
    if is_integer:  # the quotient of a smaller number of ranks does not follow from the truncated one
        plan.operations = [replace(operation, average=False) for operation in plan.operations]
    if averaged:
        plan.local.append(_average(plan.outputs[0], total, ranks, is_integer))
    plan.operations = [count, *plan.operations]
    plan.memory += [mine, total]
    plan.contributions = total
    return plan


def _average(output: Tensor, total: Tensor, ranks: int, is_sum: bool) -> Callable[[], object]:
    """``output`` has the sum, or that divided by all ranks."""

    def calculate() -> object:
        present = int(total[0])
        if is_sum:
            return output.copy_(torch.div(output, present, rounding_mode="trunc"))
        if present == ranks:
            return None
        wide = torch.complex128 if output.is_complex() else torch.float64
        return output.copy_(output.to(wide) * (ranks / present))

    return calculate
