"""The services that launchers start, from the words that launchers write: reading those with typer would take each of
them half a second of CPU, and every run waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

MARK = "--die-with-parent"
"""Launchers say so, people seldom."""

_SWITCH = {"--port": "ports", "--p4runtime": "grpc_server_addr", "--longest-frame": "longest_frame_bytes"}
_AGGREGATOR = {"--port": "ports", "--lanes": "lanes", "--slots": "slots", "--listen": "listen"}
_CONTROLLER = {
    "--port": "ports",
    "--aggregator": "aggregator",
    "--program": "program",
    "-D": "defines",
    "--listen": "listen",
    "--max-window": "max_window",
    "--state": "state",
}
_LISTS = ("ports", "defines")
_NUMBERS = ("lanes", "slots", "max_window", "longest_frame_bytes")


def run_started(words: Sequence[str]) -> int | None:
    """Run the service to its end; its exit status. None for whatever is not written as launchers write it."""
    known: dict[str, tuple[Mapping[str, str], Callable[..., int]]] = {
        "switch": (_SWITCH, _switch),
        "aggregator": (_AGGREGATOR, _aggregator),
        "controller": (_CONTROLLER, _controller),
    }
    if MARK not in words or words[0] not in known:
        return None
    names, run = known[words[0]]
    try:
        return run(**_options(iter(words[1:]), names))
    except _NotPlain:
        return None


class _NotPlain(Exception):
    """It takes typer to understand this, or to refuse it."""


def _options(words: Iterator[str], names: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"die_with_parent": True}
    for word in words:
        if word == MARK:
            continue
        if word in names:
            name, value = names[word], next(words, "-")
        else:
            name, value = "core", word
        if (word.startswith("-") and word not in names) or (name in found and name not in _LISTS):
            raise _NotPlain
        if name in _LISTS:
            found[name] = (*found.get(name, ()), value)
        elif name in _NUMBERS:
            if not value.isdecimal():
                raise _NotPlain
            found[name] = int(value)
        else:
            found[name] = value
    return found


def _switch(**options: Any) -> int:
    if "core" in options:
        raise _NotPlain
    from emulator.p4runtime.process import SwitchOptions, run_switch

    return run_switch(SwitchOptions(**options))


def _aggregator(**options: Any) -> int:
    if "core" not in options:
        raise _NotPlain
    from hostagent.cli.aggregators.process import AggregatorOptions, run_aggregator

    return run_aggregator(AggregatorOptions(**options))


def _controller(
    program: str | None = None, defines: tuple[str, ...] = (), state: str | None = None, **options: Any
) -> int:
    if "core" in options or "aggregator" not in options:
        raise _NotPlain
    from hostagent.cli.programs import load_program
    from hostagent.controller.process import ControllerOptions, run_controller

    loaded = load_program(program, defines)
    if loaded is None:
        return 1
    return run_controller(ControllerOptions(program=loaded, state=Path(state) if state else None, **options))
