"""Which tensors and reductions netsum takes, and how a tensor becomes one run of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hostagent.protocol.operation import OperationKind, Span
from hostagent.torch_backend.errors import RefusedError

OTHER_GROUP = "make a gloo group for such calls (dist.new_group(backend='gloo'))"

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
NAMED_DTYPES = ", ".join(str(dtype).removeprefix("torch.") for dtype in FLOATS + INTEGERS)

_REDUCTIONS = {
    "SUM": (OperationKind.SUM, False),
    "AVG": (OperationKind.SUM, True),
    "MIN": (OperationKind.MIN, False),
    "MAX": (OperationKind.MAX, False),
}

_ADVICE = {
    torch.float64: "its 64-bit floats do not fit the network's 32-bit lanes yet; convert it first (tensor.float())",
    torch.bool: "convert it first (tensor.to(torch.int32))",
}


@dataclass(frozen=True, slots=True)
class Reduction:
    """How an operation combines the ranks' numbers."""

    kind: OperationKind
    average: bool


def dtype_name(tensor: Tensor) -> str:
    """``float32`` for torch.float32."""
    return str(tensor.dtype).removeprefix("torch.")


def check_movable(tensor: Tensor, collective: str) -> None:
    """Refuse what cannot be read or written as plain CPU memory."""
    if tensor.layout is not torch.strided:
        raise RefusedError(
            f"netsum's {collective} takes dense tensors, not {tensor.layout}: call .to_dense() first, or {OTHER_GROUP}"
        )
    if tensor.device.type != "cpu":
        raise RefusedError(
            f"netsum's {collective} takes CPU tensors so far, this one is on {tensor.device}: "
            "move it with .cpu() first, or use the nccl backend for tensors on a GPU"
        )
    if tensor.is_quantized:
        raise RefusedError(f"netsum's {collective} does not take quantized tensors: call .dequantize() first")


def check_reducible(tensor: Tensor, reduction: Reduction, collective: str) -> None:
    """Refuse a type that the network cannot add or compare."""
    check_movable(tensor, collective)
    dtype, operation = tensor.dtype, "AVG" if reduction.average else reduction.kind.name
    if tensor.is_complex():
        advice = "reduce torch.view_as_real(tensor) instead"
    elif dtype in FLOATS or dtype in INTEGERS:
        return
    else:
        advice = _ADVICE.get(dtype, "convert it first")
    raise RefusedError(
        f"netsum's {collective} does not support {operation} of {dtype_name(tensor)}: {advice}, or {OTHER_GROUP}. "
        f"It reduces {NAMED_DTYPES}"
    )


def parse_reduction(reduce_op: object, collective: str) -> Reduction:
    """The reduction that torch's ``opts.reduceOp`` asks for; refuses by name what is not additive or a comparison."""
    name = str(getattr(getattr(reduce_op, "op", reduce_op), "name", reduce_op))
    if name not in _REDUCTIONS:
        raise RefusedError(
            f"netsum's {collective} does not support {name}: the network adds and compares (SUM, AVG, MIN and MAX). "
            f"For {name} {OTHER_GROUP}"
        )
    return Reduction(*_REDUCTIONS[name])


def readable(tensor: Tensor) -> Tensor:
    """The tensor's elements in order in one run of memory: itself where it already is, else a copy."""
    return tensor.detach().resolve_conj().resolve_neg().contiguous()


def is_plain(tensor: Tensor) -> bool:
    """Whether results can be written straight into the tensor's memory."""
    return tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg()


def adjacent(tensors: Sequence[Tensor]) -> bool:
    """Whether the tensors are adjacent in memory, each plain, as from ``torch.chunk`` of a flat buffer."""
    end = tensors[0].data_ptr()
    for tensor in tensors:
        if not is_plain(tensor) or tensor.data_ptr() != end:
            return False
        end += tensor.numel() * tensor.element_size()
    return True


def span(tensor: Tensor, first: int = 0) -> Span:
    """A contiguous tensor as elements ``first`` and on of an operation's virtual tensor."""
    return Span(tensor.data_ptr(), first, tensor.numel())
