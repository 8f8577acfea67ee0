"""A picture of how fast a plan is: its bandwidth at other sizes than that which it was made for, beside rings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from emulator.network.messages.simulate import simulate
from emulator.network.schedule.parts import ScheduleError
from emulator.network.schedule.schedule import Schedule
from hostagent.planner.synthesis.inputs import Machine
from hostagent.planner.synthesis.ordering import Message
from hostagent.planner.synthesis.synthesize import Plan, as_schedule, in_switches, rings

FACTORS = tuple(4**power for power in range(-5, 6))
"""Of the plan's size, to a thousandth and a thousandfold."""


def draw(machine: Machine, plan: Plan, path: Path) -> None:
    """Bytes that all ranks give, by the time of the whole (algorithm bandwidth), over the bytes of a rank. Raises
    ScheduleError where the file cannot be written."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    problem, size = plan.problem, plan.problem.piece_bytes * plan.problem.split
    apart = [Message((piece,), each.edge) for each in plan.messages for piece in each.pieces]

    def resized(messages: list[Message]) -> Callable[[int], Schedule | None]:
        def made(size_bytes: int) -> Schedule | None:
            scaled = replace(problem, piece_bytes=size_bytes // problem.split)
            return as_schedule(scaled, messages, plan.collective, "resized")

        return made

    lines: list[tuple[str, str, Callable[[int], Schedule | None]]] = [
        ("plan", "o-", resized(list(plan.messages))),
        ("plan, a message for each piece", "s--", resized(apart)),
        ("rings", "^-", lambda size_bytes: rings(machine, plan.collective, size_bytes)),
        ("summed in switches", "d-", lambda size_bytes: in_switches(machine, plan.collective, size_bytes)),
    ]
    least = 4 * problem.split * machine.nics
    sizes = sorted({max(least, round(size * factor) // least * least) for factor in FACTORS})
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, style, make in lines if len(apart) > len(plan.messages) else (lines[0], *lines[2:]):
        made = [(each, _speed(make(each), each * problem.ranks)) for each in sizes]
        if found := [(each, speed) for each, speed in made if speed is not None]:
            axes.plot(*zip(*found, strict=True), style, label=name, markersize=4)
    axes.axvline(size, color="gray", linewidth=0.8, linestyle=":", label=f"made for {size:,} bytes")
    axes.set(xscale="log", yscale="log", xlabel="bytes of a chunk", ylabel="GB/s, of the chunks of all ranks")
    axes.set_title(f"{plan.schedule.name}: {plan.elapsed_ns / 1e3:,.2f} us, at least {plan.bound_ns / 1e3:,.2f} us")
    axes.grid(alpha=0.3)
    axes.legend()
    try:
        figure.savefig(path, dpi=110)
    except (OSError, ValueError) as error:
        raise ScheduleError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _speed(schedule: Schedule | None, size_bytes: int) -> float | None:
    """GB/s; None: there is no schedule, or its messages are too large to be simulated."""
    try:
        return None if schedule is None else size_bytes / simulate(schedule).elapsed_ns
    except ScheduleError:
        return None
