"""The one error of this package."""

from __future__ import annotations


class PortError(Exception):
    """A port can't be had as asked: the message names the port, the reason and what to do."""
