"""How a group lists its commands in its help."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

LONGEST = 400
"""Characters of a summary, more than any has: the next line takes what does not fit."""


class Group(TyperGroup):
    """Every command's summary whole, where typer's would cut it at the line's end."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the section of commands."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(LONGEST))
            for name, command in commands
            if command is not None and not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
