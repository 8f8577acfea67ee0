"""What the front end must know of an architecture: pure data, so that ``p4`` knows no architecture itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PACKET_IN = "packet_in"
PACKET_OUT = "packet_out"


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
    table_properties: Mapping[str, str]
    """Properties beyond the language's own, to the extern that their value must be an instance of."""
    function_blocks: Mapping[str, frozenset[str]]
    """Extern functions that only some blocks may call: function to package parameters."""
    defines: Mapping[str, str]
    """Macros that the target's compiler defines."""
