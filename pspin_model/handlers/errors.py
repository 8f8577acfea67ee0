"""Why a function cannot be a handler, in one line: its name, the place in its source, and what to write instead."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import FunctionType
from typing import Any

from numba.core.ir import Loc

AT = re.compile(r" at (\S+) \((\d+)\)|File \"([^\"]+)\", line (\d+)")
"""Where numba says that something is."""
SIGNATURE = re.compile(r"^>>> (.*)$", re.MULTILINE)
NOISE = ("Failed in", "During:", "File ", "There are", "- Of which", "Overload of", "With argument", "No match")


class HandlerError(TypeError):
    """A function that cannot be a handler. Says why."""

    line: int | None = None
    """Line in the function's source, counted from its first; None where it is unknown."""


def refused(node: ast.AST, why: str) -> HandlerError:
    """The error for a piece of source."""
    error = HandlerError(why)
    error.line = getattr(node, "lineno", None)
    return error


def source_of(node: ast.AST) -> str:
    """The first line of a piece of source, as it was written."""
    return getattr(node, "source_text", "") or ast.unparse(node).splitlines()[0]


def place_in(function: Any, line: int) -> str:
    """File and line of a line of a function's source, from its first, in parentheses."""
    return _place(function.__code__.co_filename, function.__code__.co_firstlineno - 1 + line)


def placed(function: Any, error: HandlerError) -> HandlerError:
    """The error of a function, with its name and the line in its file."""
    line = "" if error.line is None else place_in(function, error.line)
    return HandlerError(f"{function.__name__}{line}: {error}")


def while_compiling(function: FunctionType, error: Exception) -> HandlerError:
    """An error that came up in the compiler about a function, in one line."""
    file = function.__code__.co_filename
    line = _line_of(error, file)
    if isinstance(error, HandlerError):  # of ours, raised where the compiler looked at a piece of source
        return HandlerError(f"{function.__name__}{_place(file, line)}: {error}")
    places = [int(match[2] or match[4]) for match in AT.finditer(str(error)) if _same(match[1] or match[3], file)]
    line = places[0] if places else line
    kind = "" if type(error).__module__.startswith("numba") else f"numba gives up, {type(error).__name__}: "
    return HandlerError(f"{function.__name__}{_place(file, line)} does not compile: {kind}{_cause(str(error))}")


def _place(file: str, line: int | None) -> str:
    return "" if line is None else f" ({Path(file).name}:{line})"


def _line_of(error: BaseException, file: str) -> int | None:
    """The line of a file that the compiler was at, from what it kept in its frames."""
    found, step = None, error.__traceback__
    while step is not None:
        place = getattr(step.tb_frame.f_locals.get("self"), "__dict__", {}).get("loc")
        if isinstance(place, Loc) and place.filename == file:
            found = int(place.line)
        step = step.tb_next
    return found


def _same(path: str, file: str) -> bool:
    return Path(path).name == Path(file).name


def _cause(text: str) -> str:
    """The first of numba's lines that says something."""
    lines = [line.strip() for line in text.splitlines()]
    messages = [line for line in lines if line and not line.startswith(NOISE)]
    first = messages[0] if messages else "numba cannot say why"
    if first.startswith("No implementation of") and (found := SIGNATURE.search("\n".join(lines))):
        return f"there is no {found[1]}"
    if first.startswith("Cannot bind") and "due to" in first:
        return first.split("due to", 1)[1].strip(' ".')
    return first
