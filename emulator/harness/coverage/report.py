"""Coverage as text."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.harness.coverage.items import Coverage, Item, ProgramCoverage, Sort
from emulator.harness.walk.text import line_of, shown_path

MOST_NAMED = 12
"""Most names of each sort of thing that was not exercised; the page has all."""


def coverage_lines(coverage: Coverage) -> Iterator[str]:
    """Report for the terminal."""
    if not coverage.programs:
        yield "no test ran a P4 program through p4_switch or p4_network"
    for program in coverage.programs.values():
        path, _, defines = program.title.partition(" ")
        yield f"{shown_path(path)} {defines}".strip()
        for sort in Sort:
            yield from _sort_lines(program, sort)


def _sort_lines(program: ProgramCoverage, sort: Sort) -> Iterator[str]:
    done, every = program.share(sort)
    if not every:
        return
    yield f"  {sort.value:<19} {done:4d} of {every:<4d} {percent(done, every)}"
    missing = [i for i in program.of(sort) if not i.count]
    if sort is Sort.LINE:
        yield from (f"      never: {shown_path(file)}:{text}" for file, text in _line_ranges(missing))
        return
    for item in missing[:MOST_NAMED]:
        source = f"   {line_of(item.file, item.line)}" if sort is Sort.BRANCH else ""
        yield f"      never: {shown_path(item.file)}:{item.line}  {item.label}{source}"
    if len(missing) > MOST_NAMED:
        yield f"      and {len(missing) - MOST_NAMED} more"


def percent(done: int, every: int) -> str:
    """Rounded down: 100 % means all."""
    return f"{100 * done // every if every else 100:3d} %"


def _line_ranges(items: list[Item]) -> Iterator[tuple[str, str]]:
    """``12-14, 20`` for each file."""
    by_file: dict[str, list[int]] = {}
    for item in items:
        by_file.setdefault(item.file, []).append(item.line)
    for file, lines in by_file.items():
        ranges: list[list[int]] = []
        for line in sorted(set(lines)):
            if ranges and line == ranges[-1][1] + 1:
                ranges[-1][1] = line
            else:
                ranges.append([line, line])
        yield file, ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)
