"""The ``netsum`` command's door: what needs no typer, a third of a second of CPU, is done without it."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the ``netsum`` script."""
    if sys.argv[1:2] == ["compile"]:
        from hostagent.cli.quick import answer_from_cache

        status = answer_from_cache(sys.argv[1:])
        if status is not None:
            sys.exit(status)
    if "--die-with-parent" in sys.argv[1:]:
        from hostagent.cli.started import run_started

        status = run_started(sys.argv[1:])
        if status is not None:
            sys.exit(status)
    from hostagent.cli.app import run_app

    run_app()


if __name__ == "__main__":
    main()
