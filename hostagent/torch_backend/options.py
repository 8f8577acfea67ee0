"""What a user may choose for a process group: how sums of floats are made, late ranks, the order of schedules."""

from __future__ import annotations

import os
from dataclasses import dataclass

from emulator.ports.units import TIME_UNITS_NS, quantity
from hostagent.torch_backend.errors import RefusedError
from hostagent.torch_backend.stragglers import Stragglers

PRECISION_VARIABLE = "NETSUM_PRECISION"
BLOCK, EXACT, PACKED = "block", "exact", "packed"
"""Block floating point, the default; correctly rounded sums; block floating point with two float16 or bfloat16 in a
lane (PROTOCOL.md, sections 8.1, 8.8 and 8.10)."""

STRAGGLERS_VARIABLE, BOUND_VARIABLE = "NETSUM_STRAGGLERS", "NETSUM_STRAGGLER_BOUND"
WAIT, FAIL, PROCEED = "wait", "fail", "proceed"
DEFAULT_BOUND = "1s"

QUANTIZER_VARIABLE = "NETSUM_QUANTIZER"
DEVICE, HOST = "device", "host"

REORDER_VARIABLE = "NETSUM_REORDER"
GIVEN, PROBE = "given", "probe"


@dataclass(frozen=True, slots=True)
class Options:
    """``pg_options`` of ``init_process_group("netsum")`` and ``new_group``; the same on every rank."""

    precision: str = ""
    """``block``, ``exact`` or ``packed``; empty: what the environment's NETSUM_PRECISION says, ``block`` where it says
    nothing."""
    quantizer: str = ""
    """Where large sums of floats on a GPU are quantized: ``device`` or ``host``; empty: what the environment's
    NETSUM_QUANTIZER says, ``device`` where it says nothing. ``host`` if only some ranks' tensors are on a GPU."""
    stragglers: str = ""
    """About ranks that come late to a collective: ``wait`` for them, until the group's time-out; ``fail`` on every rank
    after the bound; or ``proceed`` with all_reduce of SUM and AVG without them. Empty: what the environment's
    NETSUM_STRAGGLERS says, ``wait`` where it says nothing."""
    straggler_bound: str = ""
    """How long they may be late, as ``500ms``. Empty: NETSUM_STRAGGLER_BOUND, ``1s`` where it says nothing."""
    reorder: str = ""
    """Which rank of the group has which place in an allreduce that is a schedule (`hostagent.collectives.execute`): the
    ``given`` one, or that which ``probe`` finds cheapest. Nothing else of the group depends on an order. Empty: what
    the environment's NETSUM_REORDER says, ``given`` where it says nothing."""
    controller: str = ""
    """HOST:PORT of the controller of the aggregator that sums for this group; empty: the environment's
    NETSUM_CONTROLLER. A process has a port at the aggregator of each controller that its groups name."""


def precision_of(options: Options) -> str:
    """How sums of floats are made: BLOCK, EXACT or PACKED. Raises RefusedError for a precision that does not exist."""
    return _chosen("precision", options.precision, PRECISION_VARIABLE, (BLOCK, EXACT, PACKED))


def quantizes_on_device(options: Options) -> bool:
    """Whether GPUs quantize. Raises RefusedError for a place that does not exist."""
    return _chosen("quantizer", options.quantizer, QUANTIZER_VARIABLE, (DEVICE, HOST)) == DEVICE


def probes_order(options: Options) -> bool:
    """Whether schedules run in a probed order. Raises RefusedError for an order that does not exist."""
    return _chosen("reorder", options.reorder, REORDER_VARIABLE, (GIVEN, PROBE)) == PROBE


def stragglers_of(options: Options) -> Stragglers | None:
    """What is done about late ranks; None: wait. Raises RefusedError for a choice or a bound that does not exist."""
    choice = _chosen("stragglers", options.stragglers, STRAGGLERS_VARIABLE, (WAIT, FAIL, PROCEED))
    text, source = options.straggler_bound, "the option straggler_bound"
    if not text:
        text, source = os.environ.get(BOUND_VARIABLE) or DEFAULT_BOUND, BOUND_VARIABLE
    try:
        bound_ns = quantity(text, TIME_UNITS_NS)
    except ValueError as error:
        raise RefusedError(f"netsum: {source}: {error}") from None
    if bound_ns <= 0:
        raise RefusedError(f"netsum: {source} is {text!r}, must be longer than 0")
    return None if choice == WAIT else Stragglers(bound_ns / TIME_UNITS_NS["s"], choice == PROCEED)


def check_environment() -> None:
    """Raises RefusedError for a variable whose value does not exist, before any rank has read it."""
    precision_of(Options())
    quantizes_on_device(Options())
    probes_order(Options())
    stragglers_of(Options())


def _chosen(option: str, value: str, variable: str, choices: tuple[str, ...]) -> str:
    """The option's value, or the environment variable's, or the first of the choices."""
    chosen, source = value, f"the option {option}"
    if not chosen:
        chosen, source = os.environ.get(variable) or choices[0], variable
    if chosen not in choices:
        raise RefusedError(f"netsum: {source} is {chosen!r}, must be {', '.join(choices[:-1])} or {choices[-1]}")
    return chosen
