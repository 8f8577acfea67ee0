"""Multicast groups and clone sessions as bmv2's command line builds them: nodes first, then groups of nodes.

A group's copies leave in the order its nodes were associated, a node's ports in ascending order. A session has a port,
a group, or both (then the group's copies come first).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from emulator.harness.stf.errors import refuse
from emulator.harness.stf.steps import Change
from emulator.switch.control import CloneSession, Control, Replicas


@dataclass(slots=True)
class _Session:
    port: int | None = None
    group: int | None = None


@dataclass(slots=True)
class Replication:
    """Binds the commands ``mc_*`` and ``mirroring_*``."""

    _nodes: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    """(rid, ports) by handle."""
    _groups: dict[int, list[int]] = field(default_factory=dict)
    _sessions: dict[int, _Session] = field(default_factory=dict)

    # --- Multicast --------------------------------------------------------------------------------------------------

    def create_group(self, line: int, group: int) -> list[Change]:
        if group in self._groups:
            raise refuse(line, f"multicast group {group} exists")
        self._groups[group] = []
        return [Change(line, lambda control: control.insert_multicast_group(group, ()))]

    def create_node(self, line: int, rid: int, *ports: int) -> list[Change]:
        self._nodes.append((rid, _sorted_ports(line, ports)))
        return []

    def update_node(self, line: int, node: int, *ports: int) -> list[Change]:
        self._check_node(line, node)
        self._nodes[node] = (self._nodes[node][0], _sorted_ports(line, ports))
        touched = [group for group, nodes in self._groups.items() if node in nodes]
        return [change for group in touched for change in self._changed(line, group)]

    def associate(self, line: int, group: int, node: int) -> list[Change]:
        self._check_node(line, node)
        if group not in self._groups:
            raise refuse(line, f"there is no multicast group {group}: mc_mgrp_create makes one")
        if any(node in nodes for nodes in self._groups.values()):
            raise refuse(line, f"node {node} is in a group already")
        self._groups[group].append(node)
        return self._changed(line, group)

    def _check_node(self, line: int, node: int) -> None:
        if node >= len(self._nodes):
            raise refuse(line, f"there is no node {node}: mc_node_create makes them, numbered from 0")

    def _replicas(self, group: int) -> Replicas:
        nodes = [self._nodes[node] for node in self._groups.get(group, ())]
        return tuple((port, rid) for rid, ports in nodes for port in ports)

    def _changed(self, line: int, group: int) -> list[Change]:
        replicas = self._replicas(group)
        changes = [Change(line, lambda control: control.modify_multicast_group(group, replicas))]
        sessions = [number for number, session in self._sessions.items() if session.group == group]
        return [*changes, *(self._session(line, number) for number in sessions)]

    # --- Clone sessions ---------------------------------------------------------------------------------------------

    def mirror_to_port(self, line: int, session: int, port: int) -> list[Change]:
        self._sessions.setdefault(session, _Session()).port = port
        return [self._session(line, session)]

    def mirror_to_group(self, line: int, session: int, group: int) -> list[Change]:
        self._sessions.setdefault(session, _Session()).group = group
        return [self._session(line, session)]

    def delete_session(self, line: int, session: int) -> list[Change]:
        if self._sessions.pop(session, None) is None:
            raise refuse(line, f"there is no clone session {session}: mirroring_add makes one")
        return [Change(line, lambda control: control.delete_clone_session(session))]

    def show_session(self, session: int) -> Callable[[Control], str]:
        """Reads what the switch has for a session."""

        def read(control: Control) -> str:
            found = control.clone_sessions().get(session)
            replicas = "none" if found is None else " ".join(f"port {p} rid {r}" for p, r in found.replicas)
            return f"clone session {session}: {replicas}"

        return read

    def _session(self, line: int, number: int) -> Change:
        session = self._sessions[number]
        group = () if session.group is None else self._replicas(session.group)
        port = () if session.port is None else ((session.port, 0),)
        made = CloneSession(number, (*group, *port))
        return Change(line, lambda control: control.set_clone_session(made))


def _sorted_ports(line: int, ports: tuple[int, ...]) -> tuple[int, ...]:
    if ports and max(ports) >= PORT_MAP_BITS:
        raise refuse(line, f"port {max(ports)}: a node's ports are 0 .. {PORT_MAP_BITS - 1}")
    return tuple(sorted(set(ports)))


PORT_MAP_BITS = 512
"""Size of bmv2's port map; v1model's ports have 9 bits."""
