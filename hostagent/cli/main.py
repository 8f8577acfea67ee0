"""The ``netsum`` command's door: what the cache can answer is answered before anything large is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the ``netsum`` script."""
    if sys.argv[1:2] == ["compile"]:
        from hostagent.cli.quick import answer_from_cache

        status = answer_from_cache(sys.argv[1:])
        if status is not None:
            sys.exit(status)
    from hostagent.cli.app import run_app

    run_app()


if __name__ == "__main__":
    main()
