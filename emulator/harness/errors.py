"""What goes wrong in a test: the program did otherwise, the test is mistaken, the target can't."""

from __future__ import annotations


class HarnessError(Exception):
    """Any error of a test; the text says where to look. Its traceback ends at the test's line."""


class ExpectationFailed(HarnessError, AssertionError):
    """The program did something else than the test expects."""


class WrongTest(HarnessError):
    """The test names what the program does not have, or gives values that do not fit."""


class NotSupported(HarnessError):
    """Request that this target does not support; the plugin skips the test with this reason."""
