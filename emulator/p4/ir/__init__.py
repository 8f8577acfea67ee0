"""The typed IR: what every pass, the interpreter and the LLVM engine agree on.

The front end resolves names, types, generics, sub-controls, functions and directions; what is left here is small:
scalars, headers, statements and a few kinds of block. The IR knows the P4 language and nothing of an architecture:
externs stay calls (`CallExtern`) that the architecture implements for both engines.

Rules every producer keeps (``emulator.p4.ir.verify`` checks them after each pass):

* Types are erased to ``Bits`` and ``Bool``; enums without a representation and errors are ``Bits(32)`` numbered in
  declaration order; structs and tuples are flattened into scalar variables whose names are dotted paths.
* Every variable starts a packet as zero (that is what bmv2 does with uninitialised scalars), every header invalid.
* Expressions have no side effects. The front end hoists calls into temporaries, left to right (P4_16 section 6.7).
* Widths are explicit: both operands of an arithmetic operator have the same type; literals are already cast.
* Nodes are frozen and compare by value; spans do not take part in comparison.

Section numbers in this file refer to the P4_16 language specification 1.2.5.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.p4.ir.blocks import (
        VARIANT,
        Action,
        ActionCall,
        Between,
        Control,
        Goto,
        KeySet,
        Masked,
        Parser,
        Program,
        Select,
        SelectCase,
        State,
        Table,
        TableAction,
        TableEntry,
        TableKey,
        ValueSet,
        ValueSetField,
        control_plane_action,
    )
    from emulator.p4.ir.expressions import (
        Binary,
        BinaryOp,
        Cast,
        Concat,
        Constant,
        Expr,
        FieldRef,
        FieldRun,
        Header,
        HeaderField,
        HeaderRef,
        HeaderStack,
        HeaderType,
        IsValid,
        LaneField,
        Mux,
        PacketLength,
        Place,
        Slice,
        StackAt,
        StackLast,
        StackLastIndex,
        StackNext,
        Unary,
        UnaryOp,
        Variable,
    )
    from emulator.p4.ir.statements import (
        LOOP_LIMIT,
        Advance,
        ApplyTable,
        Argument,
        Assign,
        Block,
        Break,
        CallExtern,
        Continue,
        CopyHeader,
        CopyNext,
        Emit,
        Exit,
        ExternInstance,
        Extract,
        If,
        LaneInstances,
        Lookahead,
        Loop,
        PopFront,
        PushFront,
        Region,
        Repeat,
        Return,
        SetValidity,
        Statement,
        Switch,
        SwitchCase,
        Text,
        Verify,
    )
    from emulator.p4.ir.types import (
        BOOL,
        INDEX,
        ActionScope,
        Annotation,
        Bits,
        Bool,
        Scalar,
        Span,
        Type,
        VarBits,
        width_of,
    )

__all__ = [
    "BOOL",
    "INDEX",
    "LOOP_LIMIT",
    "VARIANT",
    "Action",
    "ActionCall",
    "ActionScope",
    "Advance",
    "Annotation",
    "ApplyTable",
    "Argument",
    "Assign",
    "Between",
    "Binary",
    "BinaryOp",
    "Bits",
    "Block",
    "Bool",
    "Break",
    "CallExtern",
    "Cast",
    "Concat",
    "Constant",
    "Continue",
    "Control",
    "CopyHeader",
    "CopyNext",
    "Emit",
    "Exit",
    "Expr",
    "ExternInstance",
    "Extract",
    "FieldRef",
    "FieldRun",
    "Goto",
    "Header",
    "HeaderField",
    "HeaderRef",
    "HeaderStack",
    "HeaderType",
    "If",
    "IsValid",
    "KeySet",
    "LaneField",
    "LaneInstances",
    "Lookahead",
    "Loop",
    "Masked",
    "Mux",
    "PacketLength",
    "Parser",
    "Place",
    "PopFront",
    "Program",
    "PushFront",
    "Region",
    "Repeat",
    "Return",
    "Scalar",
    "Select",
    "SelectCase",
    "SetValidity",
    "Slice",
    "Span",
    "StackAt",
    "StackLast",
    "StackLastIndex",
    "StackNext",
    "State",
    "Statement",
    "Switch",
    "SwitchCase",
    "Table",
    "TableAction",
    "TableEntry",
    "TableKey",
    "Text",
    "Type",
    "Unary",
    "UnaryOp",
    "ValueSet",
    "ValueSetField",
    "VarBits",
    "Variable",
    "Verify",
    "control_plane_action",
    "width_of",
]


def __getattr__(name: str) -> Any:
    """Nodes are imported when they are first used: a switch with programs from the cache uses hardly any."""
    if name in __all__:
        for module in ("types", "expressions", "statements", "blocks"):
            defined = vars(import_module(f"{__name__}.{module}"))
            globals().update({each: defined[each] for each in __all__ if each in defined})
            if name in globals():
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
