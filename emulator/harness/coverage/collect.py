"""Collection of coverage: from walks to counts."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.harness.coverage.items import Coverage, ProgramCoverage, Sort
from emulator.harness.coverage.universe import (
    action_label,
    branch_label,
    entry_label,
    everything,
    know,
    know_transition,
    title_of,
)
from emulator.harness.virtual import Source
from emulator.harness.walk.events import Kind, Walk
from emulator.harness.walk.traced_switch import entry_text
from emulator.p4 import ir
from emulator.switch.tables.tables import Table


class Collector:
    """Counts what all walks of a process exercised."""

    def __init__(self) -> None:
        self.coverage = Coverage()
        self._places: dict[str, dict[str, ir.Span | None]] = {}
        """The place given for the entries of a table: its declaration."""

    def program(self, source: Source) -> ProgramCoverage:
        """Loaded now, so that a program without packets is reported too."""
        title = title_of(source)
        if title not in self.coverage.programs:
            compiled = source.compiled("interpreter")
            assert compiled.program is not None
            self.coverage.programs[title] = everything(source, compiled)
            self._places[title] = {t.name: t.span for t in compiled.program.tables}
        return self.coverage.programs[title]

    def watch(self, source: Source, walk: Walk) -> None:
        """Count one frame's walk."""
        coverage = self.program(source)
        state, table = "", ""
        # the lines where states, tables and their actions begin hold no statement, unless one follows on them
        for file, line in {(e.span.file, e.span.line) for e in walk.events if e.span is not None}:
            if (item := coverage.items.get((Sort.LINE, "", file, line))) is not None:
                item.count += 1
        for event in walk.events:
            if event.kind is Kind.STATE:
                state = event.text
            elif event.kind is Kind.TRANSITION:
                know_transition(coverage, state, event.key, event.span, 1)
            elif event.kind is Kind.BRANCH:
                know(coverage, Sort.BRANCH, branch_label(event.key, event.span), event.span, 1)
            elif event.kind is Kind.TABLE:
                know(coverage, Sort.ENTRY, entry_label(event.text, event.key), event.span, 1)
                table = event.text
                continue
            elif event.kind is Kind.ACTION:
                label = action_label(table, event.key) if table else event.key
                know(coverage, Sort.ACTION, label, event.span, 1)
            table = ""

    def know_entries(self, source: Source, tables: Iterable[Table]) -> None:
        """Entries that a test has put in place; those no packet hits are reported as well."""
        coverage = self.program(source)
        places = self._places[title_of(source)]
        for table in tables:
            for entry in table.entries.values():
                know(
                    coverage,
                    Sort.ENTRY,
                    entry_label(table.view.name, entry_text(table, entry)),
                    places[table.view.name],
                )
