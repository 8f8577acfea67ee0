"""Names as people write them: a control-plane name whole, or its end behind a dot; else what exists is listed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Protocol, TypeVar

from emulator.harness.errors import WrongTest

MOST_LISTED = 24


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def find(what: str, text: str, candidates: Iterable[N]) -> N:
    """The candidate of that name, else the only one that ends with ``.text``. Raises `WrongTest`."""
    every = {c.name: c for c in candidates}
    if text in every:
        return every[text]
    found = [c for name, c in every.items() if name.endswith("." + text)]
    if len(found) == 1:
        return found[0]
    if found:
        raise WrongTest(f"{what} {text!r} may be {' or '.join(c.name for c in found)}: write more of the name")
    raise WrongTest(unknown(what, text, every))


def unknown(what: str, text: str, names: Iterable[str]) -> str:
    """The message for a name that is not there; ``what`` is a kind, or a kind of something: ``key of table t``."""
    kind, _, owner = what.partition(" of ")
    absent = f"{owner} has no {kind} {text!r}" if owner else f"there is no {what} {text!r}"
    known = list(names)
    if not known:
        return f"{absent}: it has none" if owner else f"{absent}: the program has none"
    near = _nearest(text, known)
    guess = f" Did you mean {near!r}?" if near else ""
    rest = f" and {len(known) - MOST_LISTED} more" if len(known) > MOST_LISTED else ""
    return f"{absent}.{guess} There are: {', '.join(known[:MOST_LISTED])}{rest}"


def _nearest(text: str, known: list[str]) -> str | None:
    """Candidates by whole names, then by their last parts, then the only one that has the text in it."""
    by_end = {name.rpartition(".")[2].lower(): name for name in reversed(known)}
    for candidates in ({name.lower(): name for name in known}, by_end):
        for asked in (text.lower(), text.rpartition(".")[2].lower()):
            if close := difflib.get_close_matches(asked, list(candidates), 1, 0.6):
                return candidates[close[0]]
    holding = [name for name in known if text.lower() in name.lower()]
    return holding[0] if len(holding) == 1 else None
