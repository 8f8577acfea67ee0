"""Lines that stay whole where several ranks share a pipe."""

import sys


def say(line: str) -> None:
    """One write for the line and its end: unbuffered, `print` makes two, and another rank's line comes between."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
