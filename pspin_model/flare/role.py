"""A switch's part in a tree of switches, for a run that is set up on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Role:
    """What the manager tells a switch beside the reduction and its children."""

    number: int = 0
    """Its own among its parent's children."""
    is_root: bool = True
    address: int = 0
    """Its own among all members of the tree."""
    most_fragments: int = 1
    """Of a sparse block, from a child."""
    kept: int = 0
    """Packets of a sparse block that it keeps, so that it can send them again; 0: a lost one is gone."""
    pause_cycles: int = 0
    """In which it asks for a block, or sends its packets up again, a bounded number of times, however often it is
    asked (`requests`)."""
