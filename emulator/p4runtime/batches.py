"""The updates of one Write, in the three atomicities (P4Runtime, "Batch Atomicity")."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from emulator.native.gc_pause import gc_paused
from emulator.p4runtime.entities import registry
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.view import Change, Undo, View, run_change
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import ControlError

CONTINUE_ON_ERROR, ROLLBACK_ON_ERROR, DATAPLANE_ATOMIC = (
    p4runtime_pb2.WriteRequest.Atomicity.Value(name)
    for name in ("CONTINUE_ON_ERROR", "ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC")
)

STEP_NS = 1_000_000
"""Packets wait at most about this long for a batch that is not DATAPLANE_ATOMIC."""
STEP_PAUSE_S = 20e-6
"""Pause between two steps: long enough for the data plane's thread to resume."""

MANY = 64
"""Updates that are worth pausing the garbage collector for."""


Outcomes = list[RequestError | None]
"""Error of each update, None where it succeeded."""


def write_batch(view: View, updates: Sequence[Any], atomicity: int) -> Outcomes:
    """Raises INVALID_ARGUMENT for an unknown atomicity."""
    if atomicity not in (CONTINUE_ON_ERROR, ROLLBACK_ON_ERROR, DATAPLANE_ATOMIC):
        raise invalid(f"atomicity {atomicity} is not known")
    with gc_paused() if len(updates) >= MANY else nullcontext():
        return _write(view, [_prepare(view, update) for update in updates], atomicity)


def _write(view: View, changes: list[Change | RequestError], atomicity: int) -> Outcomes:
    if atomicity == CONTINUE_ON_ERROR:
        return _run_all(view, changes)
    if any(isinstance(change, RequestError) for change in changes):
        return _aborted([change if isinstance(change, RequestError) else None for change in changes])
    return _run_all_or_none(view, changes, in_steps=atomicity == ROLLBACK_ON_ERROR)


def _prepare(view: View, update: Any) -> Change | RequestError:
    try:
        if view.translator is not None:
            update = type(update)(type=update.type, entity=view.translator.request(update.entity))
        return registry.prepare_write(view, update)
    except RequestError as error:
        return error


def _aborted(errors: Outcomes) -> Outcomes:
    """ABORTED for the updates that did not fail."""
    reason = "another update of the batch failed, so this one was not carried out"
    return [error or RequestError(Code.ABORTED, reason) for error in errors]


def _run_all(view: View, changes: list[Change | RequestError]) -> Outcomes:
    outcomes: Outcomes = []
    while len(outcomes) < len(changes):
        if outcomes:
            time.sleep(STEP_PAUSE_S)
        with view.access():
            step = _Step(view)
            while len(outcomes) < len(changes) and not step.is_over():
                outcomes.append(_outcome(changes[len(outcomes)]))
    return outcomes


class _Step:
    """The part of a batch that is carried out between two batches of packets: all of it while no packet waits."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._end_ns = time.monotonic_ns() + STEP_NS

    def is_over(self) -> bool:
        now_ns = time.monotonic_ns()
        if now_ns < self._end_ns:
            return False
        self._end_ns = now_ns + STEP_NS
        return self._view.packets_wait()


def _outcome(change: Change | RequestError) -> RequestError | None:
    if isinstance(change, RequestError):
        return change
    try:
        change.run()
    except ControlError as error:
        return RequestError(Code(int(error.code)), error.message)
    except RequestError as error:
        return error
    return None


def _run_all_or_none(view: View, changes: list[Any], *, in_steps: bool) -> Outcomes:
    undo: list[Undo] = []
    while len(undo) < len(changes):
        if undo:
            time.sleep(STEP_PAUSE_S)
        with view.access():
            step = _Step(view)
            while len(undo) < len(changes) and not (in_steps and step.is_over()):
                number = len(undo)
                error = _step(changes[number], undo)
                if error is not None:
                    for take_back in reversed(undo):
                        take_back()
                    return _aborted([error if i == number else None for i in range(len(changes))])
    return [None] * len(changes)


def _step(change: Change, undo: list[Undo]) -> RequestError | None:
    try:
        take_back = change.remember()
        run_change(change)
    except ControlError as error:
        return RequestError(Code(int(error.code)), error.message)
    except RequestError as error:
        return error
    undo.append(take_back)
    return None
