"""A test's text to its commands. All mistakes of a file are found in one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from emulator.harness.stf import syntax as s
from emulator.harness.stf.cursor import Cursor
from emulator.harness.stf.errors import Complaint, StfError, refuse
from emulator.harness.stf.lexer import Kind, Line, read_line
from emulator.harness.stf.usage import ALIASES, USAGE

DEFAULT_WAIT_S = Decimal(1)


def parse(text: str) -> s.Script:
    """The commands of a test file. Raises `StfError` with every line that is wrong."""
    commands: list[s.Command] = []
    complaints: list[Complaint] = []
    for number, content in enumerate(text.split("\n"), 1):
        try:
            line = read_line(number, content)
            if line is not None:
                commands.append(_command(line))
        except StfError as error:
            complaints += error.complaints
    if complaints:
        raise StfError(*complaints)
    return s.Script(tuple(commands))


def _command(line: Line) -> s.Command:
    line = replace(line, command=ALIASES.get(line.command, line.command))
    if line.command not in USAGE:
        raise refuse(line.number, f"there is no command {line.command!r}; there are {', '.join(USAGE)}")
    if line.command == "packet":
        return _packet(line)
    if line.command == "expect":
        return _expect(line)
    cursor = Cursor(line)
    command = _READERS[line.command](cursor) if line.command in _READERS else _cli(cursor)
    cursor.end()
    return command


# --- Packets ------------------------------------------------------------------------------------------------------


def _port(line: Line) -> int:
    if not line.port:
        raise refuse(line.number, f"the port is missing, a decimal number; {USAGE[line.command]}")
    return int(line.port)


def _packet(line: Line) -> s.Packet:
    port = _port(line)
    if not line.nibbles:
        raise refuse(line.number, f"a packet has at least one byte; {USAGE['packet']}")
    for sign in "*$":
        if sign in line.nibbles:
            raise refuse(line.number, f"{sign!r} belongs to expect; {USAGE['packet']}")
    if len(line.nibbles) % 2:
        raise refuse(line.number, f"a packet is whole bytes, and {len(line.nibbles)} is an odd number of nibbles")
    return s.Packet(line.number, port, bytes.fromhex(line.nibbles))


def _expect(line: Line) -> s.Expect:
    port = _port(line)
    nibbles = line.nibbles.removesuffix("$").lower()
    if "$" in nibbles:
        raise refuse(line.number, f"'$' is allowed once, at the end; {USAGE['expect']}")
    return s.Expect(line.number, port, nibbles, line.nibbles.endswith("$"))


def _no_packet(cursor: Cursor) -> s.Command:
    port = cursor.number("a port") if cursor.at_number else None
    return s.NoPacket(cursor.line.number, port)


def _wait(cursor: Cursor) -> s.Command:
    seconds = Decimal(cursor.fraction("seconds")) if cursor.at_number else DEFAULT_WAIT_S
    return s.Wait(cursor.line.number, int(seconds * 1_000_000_000))


# --- Tables -------------------------------------------------------------------------------------------------------


def _add(cursor: Cursor) -> s.Command:
    table = cursor.name("a table")
    priority = cursor.number("a priority") if cursor.at_number else None
    matches: list[s.Match] = []
    while (action := _member(cursor)) is None:
        name = cursor.name("a key or an action")
        if name.endswith(".isValid") and cursor.accept("("):
            cursor.expect(")")
            name = name.removesuffix("isValid") + "$valid$"
        elif not cursor.at(":"):
            action = cursor.call(name)
            break
        matches.append(_match(cursor, name))
    return s.Add(cursor.line.number, table, priority, tuple(matches), action, cursor.handle())


def _match(cursor: Cursor, key: str) -> s.Match:
    cursor.expect(":")
    return _matched(cursor, key)


def _matched(cursor: Cursor, key: str) -> s.Match:
    value = cursor.digits("a value")
    line = cursor.line.number
    if cursor.accept("/"):
        return s.Match(line, key, value, length=cursor.digits("a prefix length"))
    if cursor.accept("&&&"):
        return s.Match(line, key, value, mask=cursor.digits("a mask"))
    if cursor.accept(".."):
        return s.Match(line, key, value, high=cursor.digits("the range's upper end"))
    return s.Match(line, key, value)


def _member(cursor: Cursor) -> s.Call | s.MemberOf | None:
    """``member HANDLE`` or ``group HANDLE``; None where there is neither."""
    if cursor.token.text not in ("member", "group") or cursor.peek(1).kind is Kind.SIGN:
        return None
    is_group = cursor.advance().text == "group"
    return s.MemberOf(cursor.word("a handle"), is_group)


def _set_default(cursor: Cursor) -> s.Command:
    return s.SetDefault(cursor.line.number, cursor.name("a table"), cursor.call(cursor.name("an action")))


def _remove(cursor: Cursor) -> s.Command:
    handle = cursor.word("'all', or the handle of an entry")
    return s.Remove(cursor.line.number, None if handle.lower() == "all" else handle)


# --- Action profiles and value sets ---------------------------------------------------------------------------------


def _add_member(cursor: Cursor) -> s.Command:
    profile, action = cursor.name("an action profile"), cursor.call(cursor.name("an action"))
    return s.AddMember(cursor.line.number, profile, action, _named(cursor))


def _add_group(cursor: Cursor) -> s.Command:
    profile = cursor.name("an action selector")
    members: list[tuple[str, int]] = []
    while not cursor.at("="):
        member = cursor.word("a member's handle")
        members.append((member, cursor.number("a weight") if cursor.accept("*") else 1))
    return s.AddGroup(cursor.line.number, profile, tuple(members), _named(cursor))


def _named(cursor: Cursor) -> str:
    handle = cursor.handle()
    if handle is None:
        raise cursor.wrong("'=' and a name for the handle")
    return handle


def _add_value(cursor: Cursor) -> s.Command:
    value_set = cursor.name("a value set")
    fields: list[s.Match] = []
    if cursor.at_number:
        fields.append(_matched(cursor, ""))
    while cursor.at_name:
        fields.append(_match(cursor, cursor.name("a field")))
    if not fields:
        raise cursor.wrong("a value, or FIELD:VALUE")
    return s.AddValue(cursor.line.number, value_set, tuple(fields))


# --- Checks -------------------------------------------------------------------------------------------------------


def _cell(cursor: Cursor, what: str) -> tuple[str, str]:
    """``name(index or handle)``."""
    name = cursor.name(what)
    cursor.expect("(")
    index = cursor.word("an index or a handle")
    cursor.expect(")")
    return name, index


def _check_counter(cursor: Cursor) -> s.Command:
    counter, index = _cell(cursor, "a counter")
    unit, operator, value = s.Unit.PACKETS, "==", 0
    if cursor.token.kind is not Kind.END:
        if cursor.token.text not in ("packets", "bytes"):
            raise cursor.wrong("'packets' or 'bytes'")
        unit = s.Unit(cursor.advance().text)
        operator, value = cursor.operator(), cursor.number("a number")
    return s.CheckCounter(cursor.line.number, counter, index, unit, operator, value)


def _check_register(cursor: Cursor) -> s.Command:
    register = cursor.name("a register")
    cursor.expect("(")
    index = cursor.number("an index")
    cursor.expect(")")
    operator, value = cursor.operator(), cursor.number("a number")
    return s.CheckRegister(cursor.line.number, register, index, operator, value)


def _check_meter(cursor: Cursor) -> s.Command:
    meter, index = _cell(cursor, "a meter")
    if cursor.token.text == "none":
        cursor.advance()
        return s.CheckMeter(cursor.line.number, meter, index, None)
    return s.CheckMeter(cursor.line.number, meter, index, (cursor.rate(), cursor.rate()))


def _check_digest(cursor: Cursor) -> s.Command:
    digest = cursor.name("a digest")
    if cursor.token.text == "none":
        cursor.advance()
        return s.CheckDigest(cursor.line.number, digest, None)
    values = []
    while cursor.at_number:
        values.append(cursor.number("a value"))
    if not values:
        raise cursor.wrong("the sample's values, or 'none'")
    return s.CheckDigest(cursor.line.number, digest, tuple(values))


def _check_log(cursor: Cursor) -> s.Command:
    if cursor.token.kind is Kind.WORD and cursor.token.text == "none":
        cursor.advance()
        return s.CheckLog(cursor.line.number, None)
    return s.CheckLog(cursor.line.number, _quoted(cursor, "the message in quotes, or 'none'"))


def _check_count(cursor: Cursor) -> s.Command:
    words = _quoted(cursor, "the reason in quotes")
    return s.CheckCount(cursor.line.number, words, cursor.operator(), cursor.number("a number"))


def _quoted(cursor: Cursor, what: str) -> str:
    if cursor.token.kind is not Kind.QUOTED:
        raise cursor.wrong(what)
    return cursor.advance().text


_READERS: dict[str, Callable[[Cursor], s.Command]] = {
    "no_packet": _no_packet,
    "wait": _wait,
    "add": _add,
    "setdefault": _set_default,
    "remove": _remove,
    "add_member": _add_member,
    "add_group": _add_group,
    "add_value": _add_value,
    "check_counter": _check_counter,
    "check_register": _check_register,
    "check_meter": _check_meter,
    "check_digest": _check_digest,
    "check_log": _check_log,
    "check_count": _check_count,
}


# --- bmv2's command line --------------------------------------------------------------------------------------------


def _cli(cursor: Cursor) -> s.Command:
    """The arguments follow the words of the command's usage: names, rates, numbers, a ``...`` for one or more."""
    arguments: list[int | str | s.Rate] = []
    words = USAGE[cursor.line.command].split()[1:]
    for position, word in enumerate(words):
        if word in ("COUNTER", "REGISTER", "METER"):
            arguments.append(cursor.name(f"a {word.lower()}"))
        elif word == "CELL":
            arguments.append(cursor.word("an index or a handle"))
        elif word == "RATE:BURST":
            arguments.append(cursor.rate())
        elif word == "...":
            while cursor.at_number:
                arguments.append(cursor.number(words[position - 1].lower()))
        else:
            arguments.append(cursor.number(f"a number ({word.lower()})"))
    return s.CliCommand(cursor.line.number, cursor.line.command, tuple(arguments))
