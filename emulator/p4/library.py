"""Finding programs: as a path, else among those that ship with netsum."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = (_PACKAGE / "p4src", _PACKAGE.parent / "p4src")
"""Folders of the shipped programs, in a wheel and in a checkout."""


def examples_folder() -> Path:
    """The files that READMEs use as examples."""
    return next(folder for folder in _SHIPPED if folder.is_dir()) / "examples"


class ProgramNotFound(Exception):
    """No such program; the text names the ones that ship."""


def shipped_programs() -> tuple[str, ...]:
    """Names that `find_program` knows besides paths."""
    return tuple(sorted({p.name for folder in _SHIPPED if folder.is_dir() for p in folder.glob("*.p4")}))


def find_program(name: str) -> str:
    """Path of a program: ``name`` itself when there is such a file, else the shipped one of that name."""
    if Path(name).is_file():
        return name
    if "/" not in name:
        for folder in _SHIPPED:
            for candidate in (folder / name, folder / f"{name}.p4"):
                if candidate.is_file():
                    return str(candidate)
    if Path(name).is_dir():
        raise ProgramNotFound(f"{name!r} is a folder: name a P4 program in it")
    known = ", ".join(shipped_programs()) or "none"
    raise ProgramNotFound(f"there is no P4 program {name!r}, here or among those that ship ({known})")
