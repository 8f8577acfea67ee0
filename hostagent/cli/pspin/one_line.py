"""A user's mistake is one line on standard error, ``netsum pspin COMMAND: ..``, and status 2."""

from __future__ import annotations

from typing import Any, NoReturn

import typer
from typer.core import TyperCommand

UsageError: Any = typer.BadParameter.__base__
"""Of options and arguments that cannot be read; typer has no public name for it."""


class Command(TyperCommand):
    """Commands only raise: what they, their options and the model refuse becomes the line."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the command line."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except UsageError as error:
            self._refuse(error.format_message())

    def invoke(self, ctx: Any) -> Any:
        """Run."""
        try:
            return super().invoke(ctx)
        except MemoryError as error:
            self._refuse(f"this computer's memory does not hold the simulation: {error}")
        except Exception as error:
            if not isinstance(error, _mistakes()):
                raise
            self._refuse(str(error))

    def _refuse(self, why: str) -> NoReturn:
        typer.echo(f"netsum pspin {self.name}: {why}", err=True)
        raise typer.Exit(2) from None


def _mistakes() -> tuple[type[Exception], ...]:
    from pspin_model.flare.elements import ElementError
    from pspin_model.handlers import HandlerError
    from pspin_model.machine.config import ConfigError
    from pspin_model.machine.machine import MachineError
    from pspin_model.riscv.toolchain import ToolchainError
    from pspin_model.riscv.twins import TwinError

    return ConfigError, ElementError, HandlerError, MachineError, ToolchainError, TwinError
