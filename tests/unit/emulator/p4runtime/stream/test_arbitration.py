"""The election rules of P4Runtime, section "Client Arbitration", one test a rule."""

from collections.abc import Callable

import pytest

from emulator.p4runtime.errors import Code, RequestError
from emulator.p4runtime.flavor import PI
from emulator.p4runtime.stream.arbitration import Arbiter, Notification

DEVICE = 7


@pytest.fixture
def arbiter() -> Arbiter:
    return Arbiter(DEVICE, max_streams=3)


def told(notifications: list[Notification]) -> list[tuple[object, Code, int | None]]:
    return [(n.stream, n.code, n.election_id) for n in notifications]


def refused(code: Code, call: Callable[[], object]) -> None:
    with pytest.raises(RequestError) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.message


def test_first_with_an_id_is_primary(arbiter: Arbiter) -> None:
    assert told(arbiter.update("a", DEVICE, "", 5)) == [("a", Code.OK, 5)]
    arbiter.check_may_write("", 5)


def test_lower_id_becomes_backup_and_only_it_is_told(arbiter: Arbiter) -> None:
    arbiter.update("a", DEVICE, "", 5)
    assert told(arbiter.update("b", DEVICE, "", 4)) == [("b", Code.ALREADY_EXISTS, 5)]
    refused(Code.PERMISSION_DENIED, lambda: arbiter.check_may_write("", 4))


def test_higher_id_takes_over_and_all_are_told_the_old_primary_first(arbiter: Arbiter) -> None:
    arbiter.update("a", DEVICE, "", 5)
    assert told(arbiter.update("b", DEVICE, "", 2**100)) == [("a", Code.ALREADY_EXISTS, 2**100), ("b", Code.OK, 2**100)]
    refused(Code.PERMISSION_DENIED, lambda: arbiter.check_may_write("", 5))


def test_when_the_primary_goes_nobody_is_until_an_id_as_high_comes(arbiter: Arbiter) -> None:
    arbiter.update("a", DEVICE, "", 5)
    arbiter.update("b", DEVICE, "", 4)
    assert told(arbiter.disconnect("a")) == [("b", Code.NOT_FOUND, 5)]
    refused(Code.PERMISSION_DENIED, lambda: arbiter.check_may_write("", 5))
    assert told(arbiter.update("b", DEVICE, "", 4)) == [("b", Code.NOT_FOUND, 5)]
    assert told(arbiter.update("c", DEVICE, "", 5)) == [("b", Code.ALREADY_EXISTS, 5), ("c", Code.OK, 5)]


def test_a_backup_that_goes_disturbs_nobody(arbiter: Arbiter) -> None:
    arbiter.update("a", DEVICE, "", 5)
    arbiter.update("b", DEVICE, "", 4)
    assert arbiter.disconnect("b") == []
    assert arbiter.disconnect("never seen") == []


def test_primary_that_lowers_its_id_leaves_no_primary(arbiter: Arbiter) -> None:
    arbiter.update("a", DEVICE, "", 5)
    arbiter.update("b", DEVICE, "", 3)
    assert told(arbiter.update("a", DEVICE, "", 4)) == [("a", Code.NOT_FOUND, 5), ("b", Code.NOT_FOUND, 5)]


def test_backup_raises_its_id_and_wins(arbiter: Arbiter) -> None:
    arbiter.update("a", DEVICE, "", 5)
    arbiter.update("b", DEVICE, "", 3)
    assert told(arbiter.update("b", DEVICE, "", 6)) == [("a", Code.ALREADY_EXISTS, 6), ("b", Code.OK, 6)]


def test_without_an_id_one_never_is_primary_and_zero_is_an_id(arbiter: Arbiter) -> None:
    assert told(arbiter.update("a", DEVICE, "", None)) == [("a", Code.NOT_FOUND, None)]
    assert told(arbiter.update("b", DEVICE, "", 0)) == [("a", Code.ALREADY_EXISTS, 0), ("b", Code.OK, 0)]
    refused(Code.PERMISSION_DENIED, lambda: arbiter.check_may_write("", None))
    arbiter.check_may_write("", 0)


def test_an_id_in_use_is_refused_and_changes_nothing(arbiter: Arbiter) -> None:
    arbiter.update("a", DEVICE, "", 5)
    refused(Code.INVALID_ARGUMENT, lambda: arbiter.update("b", DEVICE, "", 5))
    assert arbiter.primaries() == ["a"]
    assert arbiter.disconnect("b") == []


def test_two_streams_without_an_id_are_fine(arbiter: Arbiter) -> None:
    arbiter.update("a", DEVICE, "", None)
    arbiter.update("b", DEVICE, "", None)


def test_wrong_device(arbiter: Arbiter) -> None:
    refused(Code.NOT_FOUND, lambda: arbiter.update("a", DEVICE + 1, "", 1))
    arbiter.update("a", DEVICE, "", 1)
    refused(Code.FAILED_PRECONDITION, lambda: arbiter.update("a", DEVICE + 1, "", 1))


def test_a_stream_keeps_its_role(arbiter: Arbiter) -> None:
    arbiter.update("a", DEVICE, "", 1)
    refused(Code.FAILED_PRECONDITION, lambda: arbiter.update("a", DEVICE, "other", 1))


def test_roles_elect_apart(arbiter: Arbiter) -> None:
    arbiter.update("a", DEVICE, "", 5)
    assert told(arbiter.update("b", DEVICE, "leaf", 5)) == [("b", Code.OK, 5)]
    arbiter.check_may_write("leaf", 5)
    refused(Code.NOT_FOUND, lambda: arbiter.check_may_write("unheard of", 5))


def test_role_config_is_refused(arbiter: Arbiter) -> None:
    refused(Code.INVALID_ARGUMENT, lambda: arbiter.update("a", DEVICE, "r", 1, has_role_config=True))


def test_one_stream_too_many(arbiter: Arbiter) -> None:
    for number, stream in enumerate("abc"):
        arbiter.update(stream, DEVICE, "", number)
    refused(Code.RESOURCE_EXHAUSTED, lambda: arbiter.update("d", DEVICE, "", 9))
    arbiter.disconnect("a")
    arbiter.update("d", DEVICE, "", 9)


def test_while_no_stream_is_open_only_who_sends_no_id_may_write(arbiter: Arbiter) -> None:
    arbiter.check_may_write("", None)
    refused(Code.PERMISSION_DENIED, lambda: arbiter.check_may_write("", 1))
    refused(Code.NOT_FOUND, lambda: arbiter.check_may_write("leaf", None))
    arbiter.update("a", DEVICE, "leaf", 5)
    refused(Code.PERMISSION_DENIED, lambda: arbiter.check_may_write("", None))
    arbiter.disconnect("a")
    arbiter.check_may_write("", None)


def test_the_refusal_names_the_id_that_is_needed(arbiter: Arbiter) -> None:
    arbiter.update("shell", DEVICE, "", 1 << 64)
    arbiter.disconnect("shell")
    (notification,) = arbiter.update("a", DEVICE, "", 1)
    assert notification.message == "There is no primary: an election id of at least (high 1, low 0) is needed"
    with pytest.raises(RequestError, match=r"at least \(high 1, low 0\) is needed"):
        arbiter.check_may_write("", 1)


# --- As PI, bmv2's server ---


@pytest.fixture
def pi() -> Arbiter:
    return Arbiter(DEVICE, flavor=PI)


def test_ids_of_streams_that_have_gone_are_forgotten(pi: Arbiter) -> None:
    pi.update("shell", DEVICE, "", 1 << 64)
    pi.disconnect("shell")
    assert told(pi.update("a", DEVICE, "", 1)) == [("a", Code.OK, 1)]
    pi.check_may_write("", 1)


def test_the_backup_with_the_highest_id_becomes_primary(pi: Arbiter) -> None:
    for stream, election_id in {"a": 9, "b": 3, "c": 5}.items():
        pi.update(stream, DEVICE, "", election_id)
    assert told(pi.disconnect("a")) == [("b", Code.ALREADY_EXISTS, 5), ("c", Code.OK, 5)]
    assert told(pi.update("c", DEVICE, "", 1)) == [("c", Code.ALREADY_EXISTS, 3), ("b", Code.OK, 3)]


def test_role_config_is_ignored(pi: Arbiter) -> None:
    assert told(pi.update("a", DEVICE, "r", 1, has_role_config=True)) == [("a", Code.OK, 1)]
