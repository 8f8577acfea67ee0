"""What p4c's bmv2 back end refuses although the program is right: ``netsum compile --strict-bmv2``.

The switch itself takes such programs; the check is for those who will hand them to p4c later.
"""

from __future__ import annotations

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.errors import Diagnostics
from emulator.p4.frontend import Stages
from emulator.v1model.strict.base import StrictReporter
from emulator.v1model.strict.blocks import check_blocks
from emulator.v1model.strict.flow import check_flow
from emulator.v1model.strict.statements import check_statements
from emulator.v1model.strict.storage import check_storage
from emulator.v1model.strict.tables import check_tables


def check_strict(stages: Stages, diagnostics: Diagnostics) -> None:
    """Report (kind TARGET) whatever p4c-bm2-ss would refuse in a program that came through the stage ``lower``."""
    reporter = StrictReporter(stages, diagnostics)
    _check_names(reporter)
    if reporter.program.main is None:
        reporter.refuse(len(reporter.tokens.kinds) - 1, "there is no instance called 'main'")
        return
    for check in (check_storage, check_blocks, check_statements, check_tables, check_flow):
        check(reporter)


def _check_names(reporter: StrictReporter) -> None:
    for declared in reporter.program.declarations:
        symbol = declared.declaration if isinstance(declared, t.BlockType) else None
        if isinstance(symbol, r.BlockSymbol) and symbol.hides_block_type:
            reporter.refuse(symbol.at, f"{symbol.name!r} is also the name of a {symbol.kind} type")
