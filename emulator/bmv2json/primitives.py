"""The primitives of actions by name. Jumps are in ``actions``: they are control flow."""

from __future__ import annotations

from emulator.bmv2json.context import Context
from emulator.bmv2json.document import Node
from emulator.bmv2json.primitives_externs import EXTERN_PRIMITIVES
from emulator.bmv2json.primitives_headers import HEADER_PRIMITIVES

PRIMITIVES = {**HEADER_PRIMITIVES, **EXTERN_PRIMITIVES}


def run(cx: Context, node: Node) -> None:
    """One primitive: ``{op, parameters}``."""
    op = node["op"].text()
    primitive = PRIMITIVES.get(op)
    if primitive is None:
        node["op"].fail(f"primitive {op!r} is not known")
    counts, append = primitive
    parameters = node.list("parameters")
    if len(parameters) not in counts:
        expected = " or ".join(map(str, counts))
        node.fail(f"{op} takes {expected} parameters, not {len(parameters)}")
    append(cx, parameters, node)
