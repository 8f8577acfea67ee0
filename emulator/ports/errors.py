"""The errors of this package."""

from __future__ import annotations


class PortError(Exception):
    """A port can't be had as asked: the message names the port, the reason and what to do."""


class NotOffered(PortError):
    """No switch offers the port now; one that restarts will."""
