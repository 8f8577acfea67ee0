"""The door of the ``netsum`` command itself."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import typer
from typer.testing import CliRunner

from hostagent.cli.app import app, register_rooms


def test_the_version_is_the_packages() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"netsum {version('netsum')}\n")


def test_an_unknown_command_is_refused() -> None:
    assert CliRunner().invoke(app, ["no-such-command"]).exit_code == 2


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_helps_fit_a_terminal_with_every_option_whole_and_an_example() -> None:
    register_rooms(None)
    told = dict(commands(typer.main.get_command(app)))
    assert {("run",), ("pspin", "sweep"), ("bench", "all")} <= told.keys()
    for path, command in told.items():
        text = CliRunner().invoke(app, [*path, "--help"], terminal_width=80).output
        head, _, listed = text.partition("\nOptions:")
        assert f"netsum {' '.join(path)}" in head.partition("Example")[2], path
        for option in command.params:
            assert option.hidden or all(name in listed for name in option.opts if name[0] == "-"), (path, option.opts)
        assert max(map(len, listed.partition("Lines of a test")[0].split("\n"))) <= 80, path
