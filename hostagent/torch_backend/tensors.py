"""Which tensors and reductions netsum takes, and how a tensor becomes one run of memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from hostagent.protocol.operation import OperationKind, Span
from hostagent.torch_backend.device.accelerator import accelerator_of
from hostagent.torch_backend.errors import RefusedError

OTHER_GROUP = "make a gloo group for such calls (dist.new_group(backend='gloo'))"

HALF_FLOATS = (torch.float16, torch.bfloat16)
SMALL_FLOATS = (torch.float32, *HALF_FLOATS)
FLOATS = (*SMALL_FLOATS, torch.float64)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
COMPLEX = (torch.complex64, torch.complex128, torch.complex32)

_NETWORK = {
    "SUM": OperationKind.SUM,
    "AVG": OperationKind.SUM,
    "PREMUL_SUM": OperationKind.SUM,
    "MIN": OperationKind.MIN,
    "MAX": OperationKind.MAX,
}
"""What an aggregator calculates."""

_NETWORK_OF_BOOL = {
    "SUM": OperationKind.MAX,
    "MAX": OperationKind.MAX,
    "BOR": OperationKind.MAX,
    "PRODUCT": OperationKind.MIN,
    "MIN": OperationKind.MIN,
    "BAND": OperationKind.MIN,
}
"""Of truth values: SUM is true where any is, as PyTorch reads what gloo adds."""

_LOCAL: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "PRODUCT": Tensor.mul_,
    "BAND": Tensor.bitwise_and_,
    "BOR": Tensor.bitwise_or_,
    "BXOR": Tensor.bitwise_xor_,
}
"""What the ranks calculate themselves, once they have exchanged their elements."""

_DTYPES = {
    "SUM": (*FLOATS, *INTEGERS, *COMPLEX, torch.bool),
    "AVG": (*FLOATS, *INTEGERS, *COMPLEX),
    "PREMUL_SUM": (*FLOATS, *COMPLEX),
    "MIN": (*FLOATS, *INTEGERS, torch.bool),
    "MAX": (*FLOATS, *INTEGERS, torch.bool),
    "PRODUCT": (*FLOATS, *INTEGERS, *COMPLEX, torch.bool),
    "BAND": (*INTEGERS, torch.bool),
    "BOR": (*INTEGERS, torch.bool),
    "BXOR": (*INTEGERS, torch.bool),
}
"""Element types by reduction."""

_OPERATOR_NAMES = {operator: name for name, operator in dist.ReduceOp.RedOpType.__members__.items()}
"""An operator's own ``name`` takes longer than all else about it."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """How an operation combines the ranks' numbers."""

    name: str
    """As torch names it."""
    exact: bool = False
    """Sums of floats are rounded once, from the exact sum (PROTOCOL.md, section 8.8)."""
    packed: bool = False
    """Sums of 16-bit floats take half the frames, with half the bits (section 8.10)."""
    factor: float | Tensor | None = None
    """Of PREMUL_SUM: what each rank multiplies its numbers by before they are added."""
    on_device: bool = True
    """Large sums of floats on a GPU are quantized there."""

    @property
    def average(self) -> bool:
        """Whether the sum is divided by the number of ranks."""
        return self.name == "AVG"

    def kind_for(self, dtype: torch.dtype) -> OperationKind | None:
        """What the network does for it with elements of a type; None: it moves them, and the ranks calculate."""
        return (_NETWORK_OF_BOOL if dtype is torch.bool else _NETWORK).get(self.name)

    def sums_in_blocks(self, dtype: torch.dtype) -> bool:
        """Whether it is a sum in block floating point (PROTOCOL.md, sections 8.1 and 8.10)."""
        return dtype in SMALL_FLOATS and not self.exact and self.kind_for(dtype) is OperationKind.SUM

    def packs(self, dtype: torch.dtype) -> bool:
        """Whether two elements share a lane."""
        return self.packed and dtype in HALF_FLOATS and self.kind_for(dtype) is OperationKind.SUM

    def scaled(self, tensor: Tensor) -> Tensor:
        """What a rank adds of a tensor: itself, or with PREMUL_SUM its product with the factor, in its own type."""
        if self.factor is None:
            return tensor
        return (tensor.detach() * self.factor).to(tensor.dtype)

    def combine(self, target: Tensor, parts: Sequence[Tensor]) -> None:
        """Calculate here, in the order of the ranks, so that the bits are the same on all of them."""
        held = parts[0].clone()
        for part in parts[1:]:
            _LOCAL[self.name](held, part)
        target.copy_(held.view(target.shape))


def dtype_name(tensor: Tensor) -> str:
    """``float32`` for torch.float32."""
    return _name_of(tensor.dtype)


@functools.cache
def _name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def check_movable(tensor: Tensor, collective: str) -> None:
    """Refuse what cannot be read or written as plain memory, of the CPU or a GPU."""
    if tensor.layout is not torch.strided:
        raise RefusedError(
            f"netsum's {collective} takes dense tensors, not {tensor.layout}: call .to_dense() first, or {OTHER_GROUP}"
        )
    if not tensor.is_cpu and accelerator_of(tensor) is None:
        raise RefusedError(
            f"netsum's {collective} takes tensors of the CPU and of CUDA, this one is on {tensor.device}: "
            "move it with .cpu() first"
        )
    if tensor.is_quantized:
        raise RefusedError(f"netsum's {collective} does not take quantized tensors: call .dequantize() first")


def check_reducible(tensor: Tensor, reduction: Reduction, collective: str) -> None:
    """Refuse a type for which the reduction means nothing, or that nobody calculates with."""
    check_movable(tensor, collective)
    dtype, dtypes = tensor.dtype, _DTYPES[reduction.name]
    if dtype in dtypes:
        return
    if dtype in COMPLEX and reduction.name in ("MIN", "MAX"):
        advice = "complex numbers have no order"
    else:
        advice = "convert it first"
    names = ", ".join(str(each).removeprefix("torch.") for each in dtypes)
    raise RefusedError(
        f"netsum's {collective} does not support {reduction.name} of {dtype_name(tensor)}: {advice}. "
        f"{reduction.name} takes {names}"
    )


def parse_reduction(
    reduce_op: Any, collective: str, exact: bool = False, packed: bool = False, on_device: bool = True
) -> Reduction:
    """The reduction that torch's ``opts.reduceOp`` asks for."""
    operator = getattr(reduce_op, "op", reduce_op)
    name = _OPERATOR_NAMES.get(operator) or str(operator)
    if name not in _DTYPES:
        raise RefusedError(f"netsum's {collective} does not support {name}. It reduces with {', '.join(_DTYPES)}")
    if name != "PREMUL_SUM":
        return _reduction_of(name, exact, packed, on_device)
    factor = reduce_op.__getstate__()[1]
    return Reduction(name, exact, packed, factor, on_device)


@functools.cache
def _reduction_of(name: str, exact: bool, packed: bool, on_device: bool) -> Reduction:
    return Reduction(name, exact, packed, on_device=on_device)


def readable(tensor: Tensor) -> Tensor:
    """The tensor's elements in order in one run of memory: itself where it already is, else a copy."""
    return tensor.detach() if is_flat(tensor) else tensor.detach().resolve_conj().resolve_neg().contiguous()


def is_plain(tensor: Tensor) -> bool:
    """Whether the network can read and write the tensor's memory."""
    return is_flat(tensor) and accelerator_of(tensor) is None


def check_writable(tensor: Tensor) -> None:
    """RefusedError where elements of a result would share memory, before anything is sent."""
    if torch._debug_has_internal_overlap(tensor) == 1:
        raise RefusedError("netsum: elements of the output share memory, as after expand(): clone() the tensor first")


def is_flat(tensor: Tensor) -> bool:
    """Whether the tensor's elements are in order in one run of memory, as they are."""
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
