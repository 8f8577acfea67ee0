"""The `netsum` command finds each of its commands in the one module that has it."""

from __future__ import annotations

import typer

from hostagent.cli import app as cli
from hostagent.cli.app import ROOMS


def _registered(app: typer.Typer) -> set[str]:
    commands = {info.name or getattr(info.callback, "__name__", "") for info in app.registered_commands}
    return commands | {str(group.name) for group in app.registered_groups}


def test_every_room_registers_the_commands_it_is_listed_with(monkeypatch) -> None:
    for commands in ROOMS.values():
        app = typer.Typer()
        monkeypatch.setattr(cli, "app", app)
        cli.register_rooms(commands[0])
        assert _registered(app) == set(commands)


def test_an_unknown_command_sees_all_rooms(monkeypatch) -> None:
    app = typer.Typer()
    monkeypatch.setattr(cli, "app", app)
    cli.register_rooms("trian")
    assert _registered(app) == {name for commands in ROOMS.values() for name in commands}
