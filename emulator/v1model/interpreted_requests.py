"""Pending operations on a packet (clone, resubmit, recirculate, truncate, digest), for the interpreter.

simple_switch keeps a pending clone, resubmit or recirculate in registers of its packet object: the last call of a kind
wins, nothing happens before the block ends, and copies start without any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from emulator.p4 import ir
from emulator.p4.arithmetic import unsigned
from emulator.p4.interpreter.interpreter import Machine
from emulator.v1model.features import Features
from emulator.v1model.layout import CLONE_SESSIONS
from emulator.v1model.limits import UNCUT


@dataclass(frozen=True, slots=True)
class Requests:
    clone: tuple[int, int] | None = None
    """(session, field list)."""
    resubmit: int | None = None
    """The field list."""
    recirculate: int | None = None
    digest: tuple[str, tuple[int, ...]] | None = None
    """(name, fields as unsigned numbers), copied when digest() is called."""
    cut_bytes: int = UNCUT
    """The frame is sent no longer than this."""


def requests(m: Machine) -> Requests:
    result: Requests = m.notes["requests"]
    return result


def _request(m: Machine, **changes: Any) -> None:
    m.notes["requests"] = replace(requests(m), **changes)


def _list(m: Machine, call: ir.CallExtern) -> int:
    uses: Features = m.notes["uses"]
    return uses.list_of(call)


def clone(m: Machine, call: ir.CallExtern) -> None:
    _request(m, clone=(m.value(call.expr(1)) % CLONE_SESSIONS, _list(m, call)))


def resubmit(m: Machine, call: ir.CallExtern) -> None:
    _request(m, resubmit=_list(m, call))


def recirculate(m: Machine, call: ir.CallExtern) -> None:
    _request(m, recirculate=_list(m, call))


def truncate(m: Machine, call: ir.CallExtern) -> None:
    """The smallest of several calls counts."""
    _request(m, cut_bytes=min(requests(m).cut_bytes, m.value(call.expr(0))))


def digest(m: Machine, call: ir.CallExtern) -> None:
    name, _, data = call.arguments
    assert isinstance(name, ir.Text)
    assert isinstance(data, tuple)
    _request(m, digest=(name.text, tuple(unsigned(m.value(e), e.type) for e in data)))


EXTERNS: Mapping[str, Callable[[Machine, ir.CallExtern], None]] = {
    "clone": clone,
    "clone3": clone,
    "clone_preserving_field_list": clone,
    "resubmit": resubmit,
    "resubmit_preserving_field_list": resubmit,
    "recirculate": recirculate,
    "recirculate_preserving_field_list": recirculate,
    "truncate": truncate,
    "digest": digest,
}
