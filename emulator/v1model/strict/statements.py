"""Statements and expressions that bmv2 has no primitive for, or has only in some places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.v1model.strict.base import StrictReporter, argument, is_known

_UNKNOWN = frozenset(("clone3", "resubmit", "recirculate", "Checksum16.get"))
"""Deprecated; v1model.p4 declares them, bmv2's compiler has no converter for them."""
_ONLY_IN = {"resubmit_preserving_field_list": "ig", "recirculate_preserving_field_list": "eg"}
_CLONES = frozenset(("clone", "clone_preserving_field_list"))
_CLONE_BLOCKS = {0: ("I2E", "ig"), 1: ("E2E", "eg")}
_LISTS = frozenset((
    "hash", "verify_checksum", "update_checksum", "verify_checksum_with_payload", "update_checksum_with_payload",
))  # fmt: skip
MAX_SHIFT = 256
MAX_SHIFT_BITS = 8
_NAMES = {"ig": "the ingress control", "eg": "the egress control"}


def check_statements(reporter: StrictReporter) -> None:
    constants = reporter.constant_variables()
    for block, is_action, node in reporter.code():
        if isinstance(node, r.ExternCall):
            for text in _call_faults(node, block):
                reporter.refuse(node, text)
        elif isinstance(node, r.Binary) and node.op in ("<<", ">>"):
            _check_shift(reporter, node, node.right, constants)
        elif isinstance(node, r.Binary) and node.op in ("/", "%") and not is_known(node.right, constants):
            reporter.refuse(node, f"the right operand of {node.op!r} must be known at compile time")
        elif isinstance(node, r.Binary) and node.op == "++" and _is_signed(node.left, node.right):
            reporter.refuse(node, "'++' has bit<W> operands only")
        elif isinstance(node, r.Switch) and is_action:
            reporter.refuse(node, "a switch is not allowed in an action")
        elif isinstance(node, r.Switch) and node.value.type is t.ERROR:
            reporter.refuse(node, "a switch on a value of type error")
        elif isinstance(node, r.Declare) and _is_in_itself(node.symbol.type):
            reporter.refuse(node, f"{node.symbol.type}: a generic type cannot be its own type argument")
        elif isinstance(node, r.ForIn):
            reporter.refuse(node, "a loop over a range or list is not supported")
        elif isinstance(node, r.For) and not is_action:
            reporter.refuse(node, "a loop is only allowed in an action")


def _is_signed(*operands: r.Expr) -> bool:
    return any(isinstance(o.type, t.BitsType) and o.type.is_signed for o in operands)


def _is_in_itself(type_: t.Type) -> bool:
    """Whether a generic struct is, at any depth, an argument of the same generic struct."""

    def mentions(part: t.Type, generic: object) -> bool:
        if not isinstance(part, t.StructLike):
            return False
        return part.declaration is generic or any(mentions(a, generic) for a in part.arguments)

    if not isinstance(type_, t.StructLike):
        return False
    return any(mentions(a, type_.declaration) or _is_in_itself(a) for a in type_.arguments)


def _check_shift(reporter: StrictReporter, node: Any, amount: r.Expr, constants: frozenset[r.Symbol]) -> None:
    if is_known(amount, constants):
        if isinstance(amount, r.Literal) and amount.value > MAX_SHIFT:
            reporter.refuse(node, f"a shift by more than {MAX_SHIFT} bits")
        return
    base = t.unwrapped(amount.type)
    if isinstance(base, t.BitsType) and base.width > MAX_SHIFT_BITS:
        reporter.refuse(node, f"a shift's amount has at most {MAX_SHIFT_BITS} bits, not {base.width}")


def _call_faults(call: r.ExternCall, block: str) -> Iterator[str]:
    if call.name in _UNKNOWN or (call.name == "mark_to_drop" and not call.arguments):
        yield f"{call.name}() is deprecated and not known to it"
    only = _ONLY_IN.get(call.name)
    if only is not None and block != only:
        yield f"{call.name}() can only be called in {_NAMES[only]}"
    if call.name in _CLONES:
        type_ = argument(call, "type")
        if isinstance(type_, r.Literal) and type_.value in _CLONE_BLOCKS:
            name, where = _CLONE_BLOCKS[type_.value]
            if block != where:
                yield f"{call.name}({name}) can only be called in {_NAMES[where]}"
    if call.name in _LISTS:
        data = argument(call, "data")
        if data is not None and t.is_scalar(data.type):
            yield f"{call.name}()'s data must be a list, struct or tuple, not {data.type}"
        algorithm = argument(call, "algo")
        if algorithm is not None and not is_known(algorithm):
            yield f"{call.name}()'s algorithm must be a constant"
    index = argument(call, "index")
    if call.name.endswith("preserving_field_list") and index is not None and not is_known(index):
        yield f"{call.name}()'s index must be a constant"
