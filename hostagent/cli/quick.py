"""``netsum compile`` for a program that was compiled before: parsing options with typer would take longer than that."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from hostagent.cli.compiled import parse_defines, print_summary

_LISTS = {"-D": "defines", "--define": "defines", "-I": "includes", "--include": "includes"}
_FLAGS = {"--json": "as_json", "--strict-bmv2": "strict_bmv2"}


@dataclass(slots=True)
class _Options:
    program: str = ""
    defines: list[str] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    p4info: str | None = None
    as_json: bool = False
    strict_bmv2: bool = False


def answer_from_cache(arguments: Sequence[str]) -> int | None:
    """The exit status of ``compile`` with plain options and an unchanged program; None for everything else."""
    options = _plain_options(arguments[1:]) if arguments[:1] == ["compile"] else None
    if options is None:
        return None
    started = time.perf_counter()
    from emulator.v1model.command import run_warm

    return run_warm(
        options.program,
        p4info=options.p4info,
        defines=parse_defines(options.defines),
        include_paths=options.includes,
        strict_bmv2=options.strict_bmv2,
        report=lambda s: print_summary(options.program, s, time.perf_counter() - started, options.as_json),
    )


def _plain_options(arguments: Sequence[str]) -> _Options | None:
    """The options, each in its plain form; None where it takes more to understand them."""
    options, rest = _Options(), list(arguments)
    while rest:
        word = rest.pop(0)
        if word in _FLAGS:
            setattr(options, _FLAGS[word], True)
        elif word in _LISTS and rest:
            getattr(options, _LISTS[word]).append(rest.pop(0))
        elif word == "--p4info" and rest:
            options.p4info = rest.pop(0)
        elif word.startswith("-") or options.program:
            return None
        else:
            options.program = word
    return options if options.program else None
