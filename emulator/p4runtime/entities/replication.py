"""PacketReplicationEngineEntry: multicast groups and clone sessions (P4Runtime, "PacketReplicationEngineEntry")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.p4runtime.entities.replicas import Chains, chains_from_proto, has_backups, in_use
from emulator.p4runtime.entities.tables import DELETE, INSERT
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.view import Change, Undo, View
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import CloneSession

GROUP_WIDTH_BITS = 16
"""v1model's standard_metadata.mcast_grp."""


def prepare_replication_write(view: View, update_type: int, message: Any) -> Change:
    if _kind_of(message) == "clone_session_entry":
        return _prepare_session(view, update_type, message.clone_session_entry)
    return _prepare_group(view, update_type, message.multicast_group_entry)


def read_replication(view: View, message: Any) -> Iterator[Any]:
    """One group or session, or with id 0 all. An absent one is not an error: nothing is selected."""
    if _kind_of(message) == "clone_session_entry":
        return _read_sessions(view, message.clone_session_entry.session_id)
    return _read_groups(view, message.multicast_group_entry.multicast_group_id)


def _kind_of(message: Any) -> str:
    kind = message.WhichOneof("type")
    if kind is None:
        raise invalid("the packet replication engine entry names neither a multicast group nor a clone session")
    return str(kind)


# --- Multicast groups -------------------------------------------------------------------------------------------


def _prepare_group(view: View, update_type: int, group: Any) -> Change:
    group_id = group.multicast_group_id
    if group_id == 0:
        raise invalid("multicast group id 0 means no replication: use an id from 1 on")
    if group_id >> GROUP_WIDTH_BITS:
        raise invalid(f"multicast group id {group_id} does not fit in {GROUP_WIDTH_BITS} bits")

    def remember() -> Undo:
        return _remember_group(view, group_id)

    if update_type == DELETE:
        return Change(lambda: _delete_group(view, group_id), remember)
    kept = p4runtime_pb2.MulticastGroupEntry()
    kept.CopyFrom(group)
    chains = chains_from_proto(kept.replicas, f"multicast group {group_id}")
    return Change(lambda: _write_group(view, update_type, kept, chains), remember)


def _write_group(view: View, update_type: int, group: Any, chains: Chains) -> None:
    write = view.control.insert_multicast_group if update_type == INSERT else view.control.modify_multicast_group
    write(group.multicast_group_id, in_use(chains, view))
    view.notes.groups[group.multicast_group_id] = group
    _watch(view, chains)


def _watch(view: View, chains: Chains) -> None:
    view.notes.watches_ports = view.notes.watches_ports or has_backups(chains)


def _delete_group(view: View, group_id: int) -> None:
    view.control.delete_multicast_group(group_id)
    view.notes.groups.pop(group_id, None)


def _remember_group(view: View, group_id: int) -> Undo:
    replicas, note = view.control.multicast_groups().get(group_id), view.notes.groups.get(group_id)

    def undo() -> None:
        if group_id in view.control.multicast_groups():
            _delete_group(view, group_id)
        if replicas is not None:
            view.control.insert_multicast_group(group_id, replicas)
            view.notes.groups[group_id] = note

    return undo


def _read_groups(view: View, wanted_id: int) -> Iterator[Any]:
    with view.access():
        groups = dict(view.control.multicast_groups())
    for group_id in sorted(groups):
        if wanted_id in (0, group_id):
            entity = p4runtime_pb2.Entity()
            entity.packet_replication_engine_entry.multicast_group_entry.CopyFrom(view.notes.groups[group_id])
            yield entity


# --- Clone sessions ---------------------------------------------------------------------------------------------


def _prepare_session(view: View, update_type: int, session: Any) -> Change:
    session_id = session.session_id
    where = f"clone session {session_id}"
    if session_id == 0:
        raise invalid("clone session id 0 cannot be written: use an id from 1 on")

    def remember() -> Undo:
        return _remember_session(view, session_id)

    if update_type == DELETE:
        return Change(lambda: _delete_session(view, session_id), remember)
    if session.packet_length_bytes < 0:
        raise invalid(f"{where}: packet_length_bytes is negative")
    kept = p4runtime_pb2.CloneSessionEntry()
    kept.CopyFrom(session)
    chains = chains_from_proto(kept.replicas, where)
    return Change(lambda: _write_session(view, update_type, kept, chains), remember)


def _write_session(view: View, update_type: int, session: Any, chains: Chains) -> None:
    exists = session.session_id in view.control.clone_sessions()
    if update_type == INSERT and exists:
        raise RequestError(Code.ALREADY_EXISTS, f"clone session {session.session_id} exists")
    if update_type != INSERT and not exists:
        raise RequestError(Code.NOT_FOUND, f"there is no clone session {session.session_id}")
    view.control.set_clone_session(_session(view, session, chains))
    view.notes.sessions[session.session_id] = session
    _watch(view, chains)


def _session(view: View, session: Any, chains: Chains) -> CloneSession:
    return CloneSession(session.session_id, in_use(chains, view), session.packet_length_bytes)


def _delete_session(view: View, session_id: int) -> None:
    view.control.delete_clone_session(session_id)
    view.notes.sessions.pop(session_id, None)


def _remember_session(view: View, session_id: int) -> Undo:
    session, note = view.control.clone_sessions().get(session_id), view.notes.sessions.get(session_id)

    def undo() -> None:
        if session is not None:
            view.control.set_clone_session(session)
            view.notes.sessions[session_id] = note
        elif session_id in view.control.clone_sessions():
            _delete_session(view, session_id)

    return undo


def _read_sessions(view: View, wanted_id: int) -> Iterator[Any]:
    with view.access():
        sessions = sorted(view.control.clone_sessions())
    for session_id in sessions:
        if wanted_id in (0, session_id):
            entity = p4runtime_pb2.Entity()
            entity.packet_replication_engine_entry.clone_session_entry.CopyFrom(view.notes.sessions[session_id])
            yield entity


# --- Both -------------------------------------------------------------------------------------------------------


def choose_replicas_again(view: View) -> None:
    """Ports went up or down: where there are backups, others may have to be used. Called inside ``access``."""
    for number, group in view.notes.groups.items():
        chains = chains_from_proto(group.replicas, "")
        if has_backups(chains):
            view.control.modify_multicast_group(number, in_use(chains, view))
    for session in view.notes.sessions.values():
        chains = chains_from_proto(session.replicas, "")
        if has_backups(chains):
            view.control.set_clone_session(_session(view, session, chains))
