"""The STF language: tokens, commands, and what is said of lines that are wrong."""

from __future__ import annotations

import pytest

from emulator.harness.stf import syntax as s
from emulator.harness.stf.errors import StfError
from emulator.harness.stf.parser import parse


def only(text: str) -> s.Command:
    (command,) = parse(text).commands
    return command


def test_packet_data_is_digits_with_blanks_anywhere_behind_a_decimal_port() -> None:
    assert only("packet 3 0800 4 5\t00") == s.Packet(1, 3, bytes.fromhex("08004500"))
    assert only("PACKET 10 AbCd\r") == s.Packet(1, 10, b"\xab\xcd")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("expect 1", s.Expect(1, 1, "", False)),
        ("expect 1 $", s.Expect(1, 1, "", True)),
        ("expect 1 0A*B 1", s.Expect(1, 1, "0a*b1", False)),
        ("expect 1 0a *$", s.Expect(1, 1, "0a*", True)),
    ],
)
def test_an_expectation_is_a_prefix_unless_a_dollar_ends_it(text: str, expected: s.Expect) -> None:
    assert only(text) == expected


def test_comments_and_empty_lines() -> None:
    script = parse("# one\n\n   \nwait # behind it\n  # two\npacket 0 00\n")
    assert script.commands == (s.Wait(4, 1_000_000_000), s.Packet(6, 0, b"\0"))


def test_an_entry_with_all_it_can_have() -> None:
    text = 'add a.t 7 h.f:0x1* s[1].g$2:5/3 "x & 1":0b1&&&0x3 r:1..0xf h.isValid():1 go(p:1, "q r":0x2) = here'
    assert only(text) == s.Add(
        1,
        "a.t",
        7,
        (
            s.Match(1, "h.f", "0x1*"),
            s.Match(1, "s[1].g$2", "5", length="3"),
            s.Match(1, "x & 1", "0b1", mask="0x3"),
            s.Match(1, "r", "1", high="0xf"),
            s.Match(1, "h.$valid$", "1"),
        ),
        s.Call("go", (("p", "1"), ("q r", "0x2"))),
        "here",
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10.0.1.255", "0x0a0001ff"),
        ("08:00:27:aB:cd:EF", "0x080027aBcdEF"),
        ("2001:db8::1", "0x20010db8000000000000000000000001"),
        ("::", "0x" + "0" * 32),
        ("1:2:3:4:5:6:7:8", "0x00010002000300040005000600070008"),
    ],
)
def test_addresses_are_numbers_with_all_their_digits(text: str, value: str) -> None:
    add = only(f"add t h.face:{text} go({text})")
    assert isinstance(add, s.Add)
    assert add.matches == (s.Match(1, "h.face", value),)
    assert add.action == s.Call("go", (("", value),))


def test_prefixes_and_masks_of_addresses() -> None:
    add = only("add t a:10.0.0.0/8 b:10.0.0.0&&&255.0.0.0 c:fe80::/10 ad:fe80::1..fe80::2 go()")
    assert isinstance(add, s.Add)
    assert add.matches[0] == s.Match(1, "a", "0x0a000000", length="8")
    assert add.matches[1] == s.Match(1, "b", "0x0a000000", mask="0xff000000")
    assert (add.matches[2].value[:6], add.matches[2].length) == ("0xfe80", "10")
    assert add.matches[3].high == "0xfe80" + "0" * 27 + "2"


def test_arguments_are_named_or_in_order() -> None:
    add = only("add t a:1 go(1, 0x2)")
    assert isinstance(add, s.Add)
    assert add.action == s.Call("go", (("", "1"), ("", "0x2")))
    for mixed in ("go(1, x:2)", "go(x:2, 1)"):
        with pytest.raises(StfError, match="expected a"):
            parse(f"add t a:1 {mixed}")


def test_other_names_of_commands() -> None:
    assert parse("member p go(1) = m\ngroup p m*2 = g") == parse("add_member p go(1) = m\nadd_group p m*2 = g")


def test_members_and_groups() -> None:
    assert only("add_member prof go() = m") == s.AddMember(1, "prof", s.Call("go", ()), "m")
    assert only("add_group sel m n*3 = g") == s.AddGroup(1, "sel", (("m", 1), ("n", 3)), "g")
    added = only("add t k:1 group g")
    assert isinstance(added, s.Add)
    assert added.action == s.MemberOf("g", True)
    called = only("add t member(x:1)")
    assert isinstance(called, s.Add)
    assert called.action == s.Call("member", (("x", "1"),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("setdefault t a(x:1)", s.SetDefault(1, "t", s.Call("a", (("x", "1"),)))),
        ("remove all", s.Remove(1, None)),
        ("remove h1", s.Remove(1, "h1")),
        ("no_packet", s.NoPacket(1, None)),
        ("no_packet 4", s.NoPacket(1, 4)),
        ("wait 0.25", s.Wait(1, 250_000_000)),
        ("add_value vs 0x800", s.AddValue(1, "vs", (s.Match(1, "", "0x800"),))),
        ("add_value vs a:1 b:2&&&3", s.AddValue(1, "vs", (s.Match(1, "a", "1"), s.Match(1, "b", "2", mask="3")))),
        ("check_counter c(3)", s.CheckCounter(1, "c", "3", s.Unit.PACKETS, "==", 0)),
        ("check_counter i.c(h) bytes >= 0x10", s.CheckCounter(1, "i.c", "h", s.Unit.BYTES, ">=", 16)),
        ("check_register r(0) != 2", s.CheckRegister(1, "r", 0, "!=", 2)),
        ("check_meter m(1) 0.5:10 1:20", s.CheckMeter(1, "m", "1", (("0.5", 10), ("1", 20)))),
        ("check_digest d 1 0x2", s.CheckDigest(1, "d", (1, 2))),
        ("check_digest d none", s.CheckDigest(1, "d", None)),
        ("check_meter m(1) none", s.CheckMeter(1, "m", "1", None)),
        ("mirroring_add 5 2", s.CliCommand(1, "mirroring_add", (5, 2))),
        ("mirroring_add_mc 5 2", s.CliCommand(1, "mirroring_add_mc", (5, 2))),
        ("mirroring_delete 5", s.CliCommand(1, "mirroring_delete", (5,))),
        ("mirroring_get 5", s.CliCommand(1, "mirroring_get", (5,))),
        ("mc_mgrp_create 1", s.CliCommand(1, "mc_mgrp_create", (1,))),
        ("mc_node_create 9 1 2 3", s.CliCommand(1, "mc_node_create", (9, 1, 2, 3))),
        ("mc_node_update 0 4", s.CliCommand(1, "mc_node_update", (0, 4))),
        ("mc_node_associate 1 0", s.CliCommand(1, "mc_node_associate", (1, 0))),
        ("counter_read a.c 0", s.CliCommand(1, "counter_read", ("a.c", 0))),
        ("counter_write c 0 1 2", s.CliCommand(1, "counter_write", ("c", 0, 1, 2))),
        ("register_read r 3", s.CliCommand(1, "register_read", ("r", 3))),
        ("register_write r 3 0xff", s.CliCommand(1, "register_write", ("r", 3, 255))),
        ("register_reset r", s.CliCommand(1, "register_reset", ("r",))),
        ("meter_get_rates m 0", s.CliCommand(1, "meter_get_rates", ("m", "0"))),
        ("meter_set_rates m 0 0.1:1 2:3", s.CliCommand(1, "meter_set_rates", ("m", "0", ("0.1", 1), ("2", 3)))),
        ("meter_array_set_rates m 1:1 2:3", s.CliCommand(1, "meter_array_set_rates", ("m", ("1", 1), ("2", 3)))),
    ],
)
def test_every_other_command(text: str, expected: s.Command) -> None:
    assert only(text) == expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("packet 1 abc", "odd number of nibbles"),
        ("packet 1 ab # no", "a comment needs a separate line"),
        ("packet 1 a*", "'*' belongs to expect"),
        ("packet 1", "at least one byte"),
        ("packet ab", "the port is missing"),
        ("expect", "the port is missing"),
        ("expect 1 ab$cd", "'$' is allowed once, at the end"),
        ("expect 1 xy", "'x' among a packet's data"),
        ("frobnicate", "there is no command 'frobnicate'; there are packet, expect"),
        ("?", "a line starts with a command"),
        ("add t k:1", "expected a key or an action, found the end of the line; add TABLE [PRIORITY]"),
        ("add t k:1 go", "expected '(', found the end of the line"),
        ("add t k:go()", "expected a value, found 'go'"),
        ("add t k:1 go(x 1)", "expected ':', found '1'"),
        ("add t k:1 go() more", "expected the end of the line, found 'more'"),
        ("add t k:-1 go()", "column 9: unexpected character '-'"),
        ("remove", "'all', or the handle of an entry"),
        ("mc_node_create 1", "expected a number (port)"),
        ("register_write r 1", "expected a number (value)"),
        ("check_counter c", "expected '('"),
        ("check_counter c(1) packets 5", "expected one of == !="),
        ("add_member p go()", "expected '=' and a name for the handle"),
        ("meter_set_rates m 0 1 2", "expected ':'"),
    ],
)
def test_wrong_lines_say_what_is_allowed(text: str, part: str) -> None:
    with pytest.raises(StfError) as caught:
        parse("# first\n" + text)
    (complaint,) = caught.value.complaints
    assert complaint.line == 2
    assert part in complaint.message


def test_all_wrong_lines_are_told_in_one_run() -> None:
    with pytest.raises(StfError) as caught:
        parse("packet 1 a\nwait\nfoo\nexpect\n")
    assert [c.line for c in caught.value.complaints] == [1, 3, 4]
    assert str(caught.value).startswith("line 1: ")
