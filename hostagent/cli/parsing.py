"""How a command declares its options, and how its command line is read.

A command is a function with a parameter for each of its options:

    @command(argument("controller", metavar="HOST:PORT", nargs="?", help=...), AS_JSON)
    def status(controller: str | None = None, *, as_json: bool = False) -> int:
        '''Show what a controller knows.      <- its help: description, then the example

        Example:
          netsum status 127.0.0.1:50100
        '''

Its defaults are the function's, and only what the command line contains is passed; the result is the exit status.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

WIDTH = 80
"""Columns of a help text, whatever the terminal has."""
USAGE_STATUS = 2
"""Exit status of a command line that is wrong."""

Main = Callable[..., int]


class UsageError(Exception):
    """The command line is wrong; the text says what to write."""

    def __init__(self, text: str, option: str = "") -> None:
        super().__init__(f"{option}: {text}" if option else text)


@dataclass(frozen=True, slots=True)
class Option:
    """What `argparse.ArgumentParser.add_argument` is given."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def is_argument(self) -> bool:
        """It has a place on the command line rather than a name."""
        return not self.names[0].startswith("-")


@dataclass(frozen=True, slots=True)
class Command:
    """A function and how its command line is written."""

    main: Main
    options: tuple[Option, ...]
    forwards: str = ""
    """Parameter that takes the rest of the command line unread, from the word after the last argument."""
    epilog: Callable[[], str] = str
    """Text between the options and the example."""
    mistakes: Callable[[], tuple[type[Exception], ...]] = tuple
    """Exceptions that are the user's mistakes: one line on stderr, and the status of a wrong command line."""

    def __call__(self, *arguments: Any, **options: Any) -> int:
        return self.main(*arguments, **options)

    @property
    def description(self) -> str:
        """The docstring up to the example."""
        return _docstring(self.main)[0]

    @property
    def example(self) -> str:
        """The docstring from the example on."""
        return _docstring(self.main)[1]

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the function's parameters."""
        code = self.main.__code__
        return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    def default(self, parameter: str) -> Any:
        """The function's; None where it has none."""
        defaults = self.main.__defaults__ or ()
        positional = self.parameters[: self.main.__code__.co_argcount]
        by_name = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
        return {**by_name, **(self.main.__kwdefaults__ or {})}.get(parameter)


def command(*options: Option, **settings: Any) -> Callable[[Main], Command]:
    """Decorator that makes a function a `Command`; ``settings`` are its other fields."""
    return lambda main: Command(main, options, **settings)


def argument(name: str, **settings: Any) -> Option:
    """A positional argument."""
    return Option((name,), settings)


def option(*names: str, **settings: Any) -> Option:
    """An option with a value."""
    return Option(names, settings)


def flag(*names: str, **settings: Any) -> Option:
    """An option without one."""
    return Option(names, {"action": "store_true", **settings})


def switchable(name: str, **settings: Any) -> Option:
    """``--name`` and ``--no-name``."""
    return Option((name,), {"action": argparse.BooleanOptionalAction, **settings})


def repeated(*names: str, **settings: Any) -> Option:
    """An option that may be given several times; its values are a list."""
    return Option(names, {"action": "append", **settings})


def integer(least: int | None = None, most: int | None = None) -> Callable[[str], int]:
    """The type of an option that is an integer within limits."""
    return _Within(int, "an integer", least, most)


def number(least: float | None = None, most: float | None = None) -> Callable[[str], float]:
    """The same of a number that may have decimals."""
    return _Within(float, "a number", least, most)


def address(text: str) -> str:
    """The type of an option that is HOST:PORT."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 0xFFFF:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, for example 127.0.0.1:9559")
    return text


def fan_out(text: str) -> tuple[int | tuple[int, ...], ...]:
    """The type of an option that is a tree: 2x4, or 2x3+5."""
    *above, last = text.split("x")
    each = last.split("+")
    if not above or not all(part.isdecimal() and int(part) for part in (*above, *each)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no tree: write 2x4 for two leaves with four ranks each, 2x3+5 for leaves with three and five"
        )
    return *map(int, above), int(last) if len(each) == 1 else tuple(map(int, each))


def grid(text: str) -> tuple[int, int]:
    """The type of an option that is ROWSxCOLUMNS."""
    parts = text.split("x")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 7 and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not ROWSxCOLUMNS, such as 4x4")
    return int(parts[0]), int(parts[1])


def size(text: str) -> str:
    """The type of an option that is a number of bytes with a unit, which `emulator.ports.units.size_bytes` reads."""
    from emulator.ports.units import size_bytes

    try:
        size_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


class _Within:
    def __init__(self, kind: Callable[[str], Any], noun: str, least: float | None, most: float | None) -> None:
        self.kind, self.noun, self.least, self.most = kind, noun, least, most

    def __call__(self, text: str) -> Any:
        try:
            value = self.kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {self.noun}") from None
        if not (self.least is None or value >= self.least) or not (self.most is None or value <= self.most):
            raise argparse.ArgumentTypeError(f"{text} is out of range: {self.range}")
        return value

    @property
    def range(self) -> str:
        if self.least is not None and self.most is not None:
            return f"{self.least} to {self.most}"
        return "" if self.least is None else f"at least {self.least}"


def run_command(name: str, command: Command, words: Sequence[str]) -> int:
    """Read the command line of ``netsum NAME`` and run it; the exit status. Mistakes are one line on stderr."""
    import sys

    parser = parser_of(name, command)
    try:
        options = parser.read(list(words))
        if "given" in command.parameters:
            shown = {each: parser.shown(each, value) for each, value in options.items() if each != command.forwards}
            options["given"] = shown
        return command.main(**options)
    except UsageError as error:
        text = f"{sentence(str(error))} See `{parser.prog} --help`."
    except MemoryError as error:
        if not command.mistakes():
            raise
        text = f"this computer's memory is too small: {error}"
    except Exception as error:
        if not isinstance(error, command.mistakes()):
            raise
        text = str(error)
    print(f"{parser.prog}: {text}", file=sys.stderr)
    return USAGE_STATUS


def parser_of(name: str, command: Command) -> Parser:
    """The parser of ``netsum NAME``."""
    return Parser(
        f"netsum {name}",
        command.options,
        command.default,
        command.forwards,
        description=command.description,
        epilog="\n\n".join(filter(None, (command.epilog(), command.example))),
    )


class Parser(argparse.ArgumentParser):
    """Reads the words of a command line by its options."""

    def __init__(
        self,
        prog: str,
        options: Sequence[Option],
        default: Callable[[str], Any],
        forwards: str = "",
        *,
        description: str,
        epilog: str,
        abbreviations: bool = False,
    ) -> None:
        """``default``: of a parameter, for the help; ``forwards``: as of `Command`; ``abbreviations``: long options may
        be cut short."""
        arguments = [each.settings.get("metavar", each.names[0].upper()) for each in options if each.is_argument]
        rest = ["ARGUMENT..."] if forwards else []
        super().__init__(
            prog=prog,
            usage=" ".join([prog, "[OPTIONS]", *arguments, *rest]),
            formatter_class=Formatter,
            allow_abbrev=abbreviations,
            argument_default=argparse.SUPPRESS,
            add_help=False,
            description=description,
            epilog=epilog,
        )
        self._positionals.title = "arguments"
        self.add_argument("-h", "--help", action="help", help="Show this message and exit.")
        self._default, self._forwards = default, forwards
        self._arguments = 0
        for each in options:
            self._add(each)

    def _add(self, each: Option) -> None:
        settings = dict(each.settings)
        kind = settings.get("type")
        if each.is_argument:
            self._arguments += 1
            settings.setdefault("metavar", each.names[0].upper())
            if settings.get("nargs") == "?":  # argparse would convert SUPPRESS as a value
                settings["default"] = self._default(each.names[0])
        elif "action" not in settings or settings["action"] == "append":
            settings.setdefault("metavar", "N" if isinstance(kind, _Within) else "TEXT")
        added = self.add_argument(*each.names, **settings)
        notes = []
        if isinstance(kind, _Within) and kind.range:
            notes.append(kind.range)
        default = self._default(added.dest)
        if default not in (None, False, "", (), 0) or (default == 0 and default is not False):
            notes.append(f"default: {'yes' if default is True else default}")
        if notes and added.help != argparse.SUPPRESS:
            first, _, rest = (added.help or "").rstrip(".").partition(". ")
            added.help = ". ".join(filter(None, (f"{first} ({'; '.join(notes)})", rest))) + "."

    def read(self, words: list[str]) -> dict[str, Any]:
        """What the function is called with. Raises UsageError; ends the process after ``--help``."""
        rest: list[str] = []
        if self._forwards:
            words, rest = self._split(words)
        self._check_names(words)
        options = vars(self.parse_intermixed_args(words))
        return {**options, self._forwards: rest} if self._forwards else options

    def _split(self, words: list[str]) -> tuple[list[str], list[str]]:
        """What is this command's, and what follows its last argument."""
        left, index = self._arguments, 0
        while index < len(words):
            word = words[index]
            if word == "--" or not word.startswith("-"):
                left -= word != "--"
                if word == "--" and not self._arguments:
                    return words[:index], words[index + 1 :]
                if left <= 0:
                    return words[: index + 1], words[index + 1 :]
            elif not self._arguments and word not in self._option_string_actions:
                return words[:index], words[index:]
            else:
                index += self._takes_next(word)
            index += 1
        return words, []

    def _takes_next(self, word: str) -> bool:
        action = self._option_string_actions.get(word)
        return action is not None and action.nargs != 0

    def _check_names(self, words: list[str]) -> None:
        """Before anything else is missed: an unknown option is the cause of what argparse would say."""
        for word in words:
            if word == "--":
                return
            name = word.partition("=")[0]
            if name.startswith("--") and " " not in name and not self._is_known(name):
                raise UsageError(f"unknown option {name}{nearest(name, list(self._option_string_actions))}")

    def _is_known(self, name: str) -> bool:
        known = self._option_string_actions
        return name in known or (self.allow_abbrev and any(each.startswith(name) for each in known))

    def shown(self, parameter: str, value: Any) -> str:
        """An option as it was given, by its first long name."""
        names = [name for a in self._actions if a.dest == parameter for name in a.option_strings if name[:2] == "--"]
        return "" if not names else names[-1] if value is False else names[0]

    def error(self, message: str) -> NoReturn:
        """argparse's own words, as a UsageError."""
        replaced = (
            ("argument ", ""),
            ("the following arguments are required", "missing"),
            ("ignored explicit argument", "takes no value, but has"),
        )
        for before, after in replaced:
            message = message.removeprefix(before) if not after else message.replace(before, after)
        if message.startswith("unrecognized arguments: "):
            words = message.removeprefix("unrecognized arguments: ")
            kind = "unknown option" if words.startswith("-") else "unexpected argument"
            message = f"{kind} {words}"
        raise UsageError(message)

    def _print_message(self, message: str, file: Any = None) -> None:
        say(message.rstrip("\n"))


def say(text: str) -> None:
    """Print it; a reader that has seen enough (``--help | head``) is not an error."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        discard_output()


def discard_output() -> None:
    """After BrokenPipeError: nobody reads standard output any more, which Python flushes once more at its end."""
    import os
    import sys

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def sentence(text: str) -> str:
    """Text with a full stop, unless it ends as a sentence already."""
    return text if text.endswith(("?", ".")) else f"{text}."


def nearest(word: str, known: Sequence[str]) -> str:
    """``; did you mean --lanes?`` where something known is close to the word, else nothing."""
    import difflib

    matches = difflib.get_close_matches(word, known, 1, cutoff=0.55)  # --dmp is 0.59 like --dump-after
    return f"; did you mean {matches[0]}?" if matches else ""


def refuse(given: Mapping[str, str], why: str, *names: str) -> None:
    """Raises UsageError if the command line has one of these options, by their parameters' names; ``given`` is the
    parameter of this name of a command: parameter -> its option."""
    refused = [given[name] for name in names if name in given]
    if refused:
        raise UsageError(why, ", ".join(refused))


class Formatter(argparse.HelpFormatter):
    """80 columns; the lines of an example, which are indented, stay as they are."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=WIDTH)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip().split("\n\n")
        return "\n\n".join(
            paragraph if "\n " in paragraph else super(Formatter, self)._fill_text(paragraph, width, indent)
            for paragraph in paragraphs
        )


def _docstring(main: Main) -> tuple[str, str]:
    """Description and example, without the source's indentation."""
    lines = [line.removeprefix("    ") for line in (main.__doc__ or "").rstrip().split("\n")]
    starts = [number for number, line in enumerate(lines) if line.startswith("Example")]
    at = starts[0] if starts else len(lines)
    return "\n".join(lines[:at]).strip(), "\n".join(lines[at:]).strip()
