"""Coverage as one HTML page that needs nothing else: figures, what was never exercised, the source with its counts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from emulator.harness.coverage.items import Coverage, Item, ProgramCoverage, Sort
from emulator.harness.coverage.report import percent
from emulator.harness.walk.text import line_of, shown_path

STYLE = (Path(__file__).parent / "page.css").read_text()


def coverage_page(coverage: Coverage) -> str:
    """The whole page."""
    programs = list(coverage.programs.values())
    body = "".join(part for number, p in enumerate(programs) for part in _program(p, number))
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>P4 coverage</title>"
        f"<meta name='viewport' content='width=device-width'><style>{STYLE}</style></head><body>"
        f"<h1>P4 coverage</h1>{body or '<p>No test ran a P4 program.</p>'}</body></html>\n"
    )


def _program(program: ProgramCoverage, number: int) -> Iterator[str]:
    path, _, defines = program.title.partition(" ")
    yield f"<section><h2>{escape(shown_path(path))} <small>{escape(defines)}</small></h2><table class='figures'>"
    for sort in Sort:
        done, every = program.share(sort)
        if every:
            share = 100 * done // every
            yield (
                f"<tr><td><a href='#{_anchor(number, sort)}'>{sort.value}</a></td><td class='n'>{done} of {every}</td>"
                f"<td class='n'>{percent(done, every)}</td><td><span class='bar'><i style='width:{share}%'></i></span>"
                "</td></tr>"
            )
    yield "</table>"
    for sort in Sort:
        if sort is not Sort.LINE:
            yield from _list(program, number, sort)
    for file in program.files:
        yield from _source(program, number, file)
    yield "</section>"


def _anchor(number: int, sort: Sort) -> str:
    return f"p{number}-{sort.name.lower()}"


def _list(program: ProgramCoverage, number: int, sort: Sort) -> Iterator[str]:
    items = program.of(sort)
    if not items:
        return
    yield f"<h3 id='{_anchor(number, sort)}'>{sort.value}</h3><table class='list'>"
    for item in items:
        kind = "hit" if item.count else "never"
        source = f" <code>{escape(line_of(item.file, item.line))}</code>" if sort is Sort.BRANCH else ""
        place = f"<a href='#{_line_id(number, program, item)}'>{escape(shown_path(item.file))}:{item.line}</a>"
        count = f"{item.count}&times;" if item.count else "never"
        yield f"<tr class='{kind}'><td class='n'>{count}</td><td>{escape(item.label)}{source}</td><td>{place}</td></tr>"
    yield "</table>"


def _line_id(number: int, program: ProgramCoverage, item: Item) -> str:
    file = program.files.index(item.file) if item.file in program.files else 0
    return f"p{number}-f{file}-{item.line}"


# --- The source -----------------------------------------------------------------------------------------------------


def _source(program: ProgramCoverage, number: int, file: str) -> Iterator[str]:
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    by_line: dict[int, list[Item]] = {}
    for item in program.items.values():
        if item.file == file:
            by_line.setdefault(item.line, []).append(item)
    anchor = f" id='{_anchor(number, Sort.LINE)}'" if file == program.files[0] else ""
    yield f"<h3{anchor}>{escape(shown_path(file))}</h3><table class='source'>"
    file_number = program.files.index(file)
    for line, content in enumerate(text.rstrip("\n").split("\n"), 1):
        yield _line(f"p{number}-f{file_number}-{line}", line, content, by_line.get(line, []))
    yield "</table>"


def _line(anchor: str, number: int, content: str, items: list[Item]) -> str:
    counts = [i.count for i in items if i.sort is Sort.LINE]
    others = sorted((i for i in items if i.sort is not Sort.LINE), key=lambda i: (i.count > 0, i.sort.name, i.label))
    kind = _kind(counts, others)
    count = f"{max(counts)}" if counts else ""
    notes = "".join(_note(i) for i in others)
    return (
        f"<tr id='{anchor}' class='{kind}'><td class='n'>{number}</td><td class='n c'>{count}</td>"
        f"<td><pre>{escape(content) or ' '}</pre></td><td class='notes'>{notes}</td></tr>"
    )


def _kind(counts: list[int], others: list[Item]) -> str:
    """Class of a line: all of it was exercised, some, none; empty where there is nothing to exercise."""
    if not counts and not others:
        return ""
    exercised = [i.count > 0 for i in others] + [count > 0 for count in counts]
    if counts and not max(counts):
        return "never"
    return "hit" if all(exercised) else "some" if any(exercised) else "never"


def _note(item: Item) -> str:
    """Text in the margin: branches and transitions of the line, how often."""
    label = item.label.partition(" (column")[0] if item.sort is Sort.BRANCH else item.label
    count = f"{item.count}&times;" if item.count else "never"
    return f"<span class='{'hit' if item.count else 'never'}'>{escape(label)} {count}</span>"
