"""Who may write: election of one primary controller for each role of a device, as a state machine without I/O.

Rules (P4Runtime, "Client Arbitration and Controller Replication"):

* Every live stream that has sent an accepted update belongs to one role, with an election id or without one.
  Election ids are unique among a role's live streams.
* The highest election id ever seen for a role is remembered. The live stream that holds it is the primary; when that
  stream has gone there is none, until an update brings an id at least as high. A stream without an id never is.
  With the flavor `PI` ids of streams that have gone are forgotten: the highest of the live ones is the primary's.
* Whenever the primary changes, leaves or repeats its update, every stream of the role is notified; a new backup is
  notified alone.

An update that breaks a rule raises and ends its stream; the caller then reports `disconnect`. Roles come into being
with their first stream and stay. ``role.config`` has no agreed scheme here, so it is refused, or with the flavor `PI`
ignored: every role has full access to the pipeline.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.flavor import SPECIFICATION, Flavor

MAX_STREAMS = 16
"""Streams of one role (bmv2 and PI take as many); each holds a thread of the server."""


@dataclass(frozen=True, slots=True)
class Notification:
    """A MasterArbitrationUpdate to send to one stream."""

    stream: Hashable
    role: str
    election_id: int | None
    """The highest ever seen for the role; None before there was any."""
    code: Code
    """OK for the primary, ALREADY_EXISTS for its backups, NOT_FOUND for all when there is no primary."""
    message: str


@dataclass(slots=True)
class _Role:
    name: str
    highest_id: int | None = None
    """The primary's, or the least that the next primary needs; None: any id makes a primary."""
    streams: dict[Hashable, int | None] = field(default_factory=dict)
    """Live stream -> its election id."""

    def primary(self) -> Hashable | None:
        if self.highest_id is None:
            return None
        return next((stream for stream, election_id in self.streams.items() if election_id == self.highest_id), None)

    def notify(self, stream: Hashable) -> Notification:
        primary = self.primary()
        if primary is None:
            code, message = Code.NOT_FOUND, "There is no primary" + self.needed_id()
        elif primary == stream:
            code, message = Code.OK, "Is primary"
        else:
            code, message = Code.ALREADY_EXISTS, "Is backup"
        return Notification(stream, self.name, self.highest_id, code, message)

    def needed_id(self) -> str:
        """How to become primary where there is none."""
        return "" if self.highest_id is None else f": an election id of at least {_text(self.highest_id)} is needed"

    def notify_all(self) -> list[Notification]:
        """The primary last: the others learn first that they are not (section "Rules for Handling")."""
        primary = self.primary()
        backups = [self.notify(stream) for stream in self.streams if stream != primary]
        return backups if primary is None else [*backups, self.notify(primary)]


class Arbiter:
    """The elections of one device. Not thread-safe: the caller serialises."""

    def __init__(self, device_id: int, max_streams: int = MAX_STREAMS, flavor: Flavor = SPECIFICATION) -> None:
        self._device_id = device_id
        self._flavor = flavor
        self._max_streams = max_streams
        self._roles: dict[str, _Role] = {}
        self._role_of_stream: dict[Hashable, _Role] = {}

    def update(
        self,
        stream: Hashable,
        device_id: int,
        role_name: str,
        election_id: int | None,
        *,
        has_role_config: bool = False,
    ) -> list[Notification]:
        """Take a MasterArbitrationUpdate; returns what to send, in order.

        Raises RequestError when the stream must end, having changed nothing.
        """
        joined = self._role_of_stream.get(stream)
        self._check_device(device_id, first=joined is None)
        if joined is not None and joined.name != role_name:
            raise RequestError(
                Code.FAILED_PRECONDITION,
                f'this stream has role "{joined.name}" and asks for "{role_name}": open another stream for that',
            )
        if has_role_config and not self._flavor.accepts_role_config:
            raise invalid("role.config is set, and no scheme of role configurations has been agreed on: leave it unset")
        role = joined or self._roles.get(role_name) or _Role(role_name)
        self._check_unique(role, stream, election_id)
        if joined is None and len(role.streams) >= self._max_streams:
            raise RequestError(
                Code.RESOURCE_EXHAUSTED, f"{self._max_streams} streams are open for this role, and no more are allowed"
            )
        return self._admit(role, stream, election_id)

    def disconnect(self, stream: Hashable) -> list[Notification]:
        """A stream has ended (also one that never sent an update: nothing happens then)."""
        role = self._role_of_stream.pop(stream, None)
        if role is None:
            return []
        was_primary = role.primary() == stream
        del role.streams[stream]
        self._elect(role)
        return role.notify_all() if was_primary else []

    def check_may_write(self, role_name: str, election_id: int | None) -> None:
        """Raises NOT_FOUND for an unknown role, PERMISSION_DENIED unless the id is the primary's.

        As on bmv2, who sends no election id may write while no stream is open: scripts that only fill tables do.
        """
        if not role_name and election_id is None and not self._role_of_stream:
            return
        role = self._roles.get(role_name)
        if role is None:
            if role_name:
                raise RequestError(Code.NOT_FOUND, f'no stream has the role "{role_name}"')
            raise _not_primary("there is no primary: open a StreamChannel and send a MasterArbitrationUpdate first")
        if role.primary() is None:
            raise _not_primary("there is no primary" + role.needed_id())
        if election_id is None:
            raise _not_primary("the request carries no election id")
        if election_id != role.highest_id:
            raise _not_primary(
                f"election id {_text(election_id)} is not the primary's, which is {_text(role.highest_id)}"
            )

    def primaries(self) -> list[Hashable]:
        """The primary clients of all roles."""
        found = (role.primary() for role in self._roles.values())
        return [stream for stream in found if stream is not None]

    def _check_device(self, device_id: int, *, first: bool) -> None:
        if device_id == self._device_id:
            return
        if first:
            raise RequestError(
                Code.NOT_FOUND, f"there is no device {device_id}: this server has device {self._device_id}"
            )
        raise RequestError(
            Code.FAILED_PRECONDITION, f"this stream belongs to device {self._device_id} and cannot move to {device_id}"
        )

    def _check_unique(self, role: _Role, stream: Hashable, election_id: int | None) -> None:
        if election_id is None:
            return
        if any(other != stream and taken == election_id for other, taken in role.streams.items()):
            raise invalid(f"election id {_text(election_id)} is in use by another controller")

    def _elect(self, role: _Role) -> None:
        """After any change of the role's streams."""
        remembered = role.highest_id if self._flavor.remembers_election_ids else None
        known = (each for each in (*role.streams.values(), remembered) if each is not None)
        role.highest_id = max(known, default=None)

    def _admit(self, role: _Role, stream: Hashable, election_id: int | None) -> list[Notification]:
        was_primary = stream in role.streams and role.primary() == stream
        self._roles[role.name] = role
        self._role_of_stream[stream] = role
        role.streams[stream] = election_id
        self._elect(role)
        if was_primary or role.primary() == stream:
            return role.notify_all()
        return [role.notify(stream)]


def _not_primary(reason: str) -> RequestError:
    return RequestError(Code.PERMISSION_DENIED, f"Not primary: {reason}")


def _text(election_id: int | None) -> str:
    """As controllers write ids of more than 64 bits, too: the high and the low half."""
    if election_id is None or election_id < 1 << 64:
        return str(election_id)
    return "(high {}, low {})".format(*divmod(election_id, 1 << 64))
