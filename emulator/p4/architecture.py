"""What the front end must know of an architecture: pure data, so that ``p4`` knows no architecture itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

PACKET_IN = "packet_in"
PACKET_OUT = "packet_out"


class CallForm(Enum):
    """What a call's arguments become on their way to the engines."""

    NAMED = 0
    """The control-plane name of the data's type first, then the arguments, the data as one list."""
    FORMATTED = 1
    """The text, in which each ``{}`` stands for one scalar, and the scalars as one list."""
    PLACED = 2
    """The call's place, ``file:line:column``, last."""


@dataclass(frozen=True)
class Architecture:
    name: str
    """As P4Info's ``pkg_info.arch`` says it."""
    include_folders: tuple[str, ...]
    """Folders of the architecture's own include files; core.p4's is added to them."""
    package: str
    """Name of the package type that ``main`` instantiates."""
    blocks: Mapping[str, tuple[str, ...]]
    """For each package parameter, what its block's parameters stand for: `PACKET_IN`, `PACKET_OUT`, or the root of the
    names that their storage has in the IR."""
    functions: frozenset[str]
    """Extern functions that both engines implement."""
    methods: frozenset[str]
    """Methods of extern objects, as ``register.read``; the constructor's support follows from any method."""
    externs: frozenset[str]
    """Extern objects that may be instantiated."""
    match_kinds: frozenset[str]
    table_properties: Mapping[str, tuple[str, ...]]
    """Properties beyond the language's own, to the externs that their value may be an instance of."""
    table_flags: frozenset[str]
    """Properties beyond the language's own that are true or false."""
    function_blocks: Mapping[str, frozenset[str]]
    """Extern functions that only some blocks may call: function to package parameters. ``clone(I2E)`` stands for the
    calls whose enum argument is that member."""
    call_forms: Mapping[str, CallForm]
    """Extern functions whose arguments take another form."""
    conditional_outs: frozenset[str]
    """Externs that leave their ``out`` argument as it is where another argument is out of range."""
    setters: Mapping[str, tuple[str, Mapping[str, int]]]
    """Extern functions that only assign constants to fields of their argument: function to those fields, and the root
    that stands for the argument where a deprecated overload has none. They are lowered to these assignments."""
    field_lists: tuple[str, str]
    """The annotation that numbers the metadata that copies keep, and the root of that metadata."""
    former_members: Mapping[str, str]
    """``type.member`` that earlier versions had, to what a program does instead."""
    any_case_is_last: bool
    """A select's case of all-zero masks is tried after the others, and the last of several counts."""
    defines: Mapping[str, str]
    """Macros that the target's compiler defines."""
