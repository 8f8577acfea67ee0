"""The door of the ``netsum`` command itself."""

from __future__ import annotations

from importlib.metadata import version

from typer.testing import CliRunner

from hostagent.cli.app import app


def test_the_version_is_the_packages() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"netsum {version('netsum')}\n")


def test_an_unknown_command_is_refused() -> None:
    assert CliRunner().invoke(app, ["no-such-command"]).exit_code == 2
