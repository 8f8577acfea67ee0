"""Commands on multicast groups and clone sessions, as bmv2 has them: nodes with ports, groups of nodes.

A group's copies leave in the order in which its nodes were associated, a node's by ascending port.
"""

from __future__ import annotations

from emulator.p4runtime.commands.state import DELETE, INSERT, MODIFY, CommandError, Node, State, number
from emulator.p4runtime.commands.tables import LINE
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import Replicas


def _replicas_of(node: Node) -> Replicas:
    return tuple((port, node.rid) for port in node.ports)


def _replicas(state: State, group: int) -> Replicas:
    with state.view.access():
        return state.view.control.multicast_groups().get(group, ())


def _write_group(state: State, kind: int, group: int, replicas: Replicas = ()) -> None:
    entry = p4runtime_pb2.PacketReplicationEngineEntry()
    entry.multicast_group_entry.multicast_group_id = group
    for port, instance in replicas:
        entry.multicast_group_entry.replicas.add(egress_port=port, instance=instance)
    state.write(kind, packet_replication_engine_entry=entry)
    for session, (port_, its_group) in state.sessions.items():
        if its_group == group:
            _write_session(state, session, port_, its_group)


def _change_group(state: State, group: int, gone: Replicas, new: Replicas) -> None:
    """Copies that other clients asked for stay."""
    kept = tuple(replica for replica in _replicas(state, group) if replica not in gone)
    _write_group(state, MODIFY, group, (*kept, *new))


def _group(state: State, text: str) -> int:
    group = number(text, "multicast group")
    with state.view.access():
        exists = group in state.view.control.multicast_groups()
    if not exists:
        raise CommandError(f"Invalid PRE operation: there is no multicast group {group}; mc_mgrp_create makes one")
    return group


def _node(state: State, text: str) -> Node:
    handle = number(text, "node handle")
    if handle not in state.nodes:
        raise CommandError(f"Invalid PRE operation: there is no node {handle}; mc_node_create makes one")
    return state.nodes[handle]


def _ports(words: list[str]) -> tuple[int, ...]:
    """What follows ``|`` are link aggregation groups."""
    if "|" in words:
        if words[words.index("|") + 1 :]:
            raise CommandError("Error: Link aggregation groups are not supported: name ports")
        words = words[: words.index("|")]
    return tuple(sorted({number(word, "port") for word in words}))


def mc_mgrp_create(state: State, words: list[str]) -> list[str]:
    _write_group(state, INSERT, number(words[0], "multicast group"))
    return [f"Creating multicast group {words[0]}"]


def mc_mgrp_destroy(state: State, words: list[str]) -> list[str]:
    group = _group(state, words[0])
    _write_group(state, DELETE, group)
    for node in state.nodes.values():
        node.group = None if node.group == group else node.group
    return [f"Destroying multicast group {words[0]}"]


def mc_node_create(state: State, words: list[str]) -> list[str]:
    handle, node = state.next_node, Node(number(words[0], "rid"), _ports(words[1:]))
    state.nodes[handle], state.next_node = node, handle + 1
    return [_node_line("Creating node", node), f"node was created with handle {handle}"]


def _node_line(what: str, node: Node) -> str:
    port_map = "".join("1" if port in node.ports else "0" for port in range(max(node.ports, default=-1), -1, -1))
    return f"{what} with rid {node.rid} , port map {port_map} and lag map "


def mc_node_update(state: State, words: list[str]) -> list[str]:
    node = _node(state, words[0])
    old, node.ports = _replicas_of(node), _ports(words[1:])
    if node.group is not None:
        _change_group(state, node.group, old, _replicas_of(node))
    return [f"Updating node {words[0]} with port map {' '.join(map(str, node.ports))}"]


def mc_node_associate(state: State, words: list[str]) -> list[str]:
    group, node = _group(state, words[0]), _node(state, words[1])
    if node.group is not None:
        raise CommandError(f"Invalid PRE operation: node {words[1]} is in group {node.group} already")
    _change_group(state, group, (), _replicas_of(node))
    node.group = group
    return [f"Associating node {words[1]} to multicast group {words[0]}"]


def mc_node_dissociate(state: State, words: list[str]) -> list[str]:
    group, node = _group(state, words[0]), _node(state, words[1])
    if node.group != group:
        raise CommandError(f"Invalid PRE operation: node {words[1]} is not in group {group}")
    _change_group(state, group, _replicas_of(node), ())
    node.group = None
    return [f"Dissociating node {words[1]} from multicast group {words[0]}"]


def mc_node_destroy(state: State, words: list[str]) -> list[str]:
    node = _node(state, words[0])
    if node.group is not None:
        _change_group(state, node.group, _replicas_of(node), ())
    del state.nodes[number(words[0], "node handle")]
    return [f"Destroying node {words[0]}"]


def mc_set_lag_membership(state: State, words: list[str]) -> list[str]:
    raise CommandError("Error: Link aggregation groups are not supported: name ports in mc_node_create")


def mc_dump(state: State, _: list[str]) -> list[str]:
    with state.view.access():
        groups = state.view.control.multicast_groups()
    lines = [LINE, "MC ENTRIES"]
    for group, replicas in sorted(groups.items()):
        lines += ["**********", f"mgrp({group})"]
        nodes = {handle: node for handle, node in state.nodes.items() if node.group == group}
        for handle, node in nodes.items():
            lines.append(f"  -> (L1h={handle}, rid={node.rid}) -> (ports={list(node.ports)}, lags=[])")
        ours = {replica for node in nodes.values() for replica in _replicas_of(node)}
        lines += [f"  -> (rid={rid}) -> (ports=[{port}], lags=[])" for port, rid in replicas if (port, rid) not in ours]
    loose = [(handle, node) for handle, node in state.nodes.items() if node.group is None]
    if loose:
        lines += [LINE, "UNASSOCIATED NODES"]
        lines += [f"(L1h={handle}, rid={node.rid}) -> (ports={list(node.ports)}, lags=[])" for handle, node in loose]
    return [*lines, LINE, "LAGS", LINE]


# --- Clone sessions -------------------------------------------------------------------------------------------------


def _write_session(state: State, session: int, port: int | None, group: int | None) -> None:
    replicas = _replicas(state, group) if group is not None else ()
    replicas = (*replicas, *(((port, 0),) if port is not None else ()))
    entry = p4runtime_pb2.PacketReplicationEngineEntry()
    entry.clone_session_entry.session_id = session
    for number_, instance in replicas:
        entry.clone_session_entry.replicas.add(egress_port=number_, instance=instance)
    with state.view.access():
        exists = session in state.view.control.clone_sessions()
    state.write(MODIFY if exists else INSERT, packet_replication_engine_entry=entry)
    state.sessions[session] = (port, group)


def mirroring_add(state: State, words: list[str]) -> list[str]:
    _write_session(state, number(words[0], "mirror id"), number(words[1], "port"), None)
    return []


def mirroring_add_mc(state: State, words: list[str]) -> list[str]:
    _write_session(state, number(words[0], "mirror id"), None, number(words[1], "multicast group"))
    return []


def mirroring_delete(state: State, words: list[str]) -> list[str]:
    session, entry = number(words[0], "mirror id"), p4runtime_pb2.PacketReplicationEngineEntry()
    entry.clone_session_entry.session_id = session
    state.write(DELETE, packet_replication_engine_entry=entry)
    state.sessions.pop(session, None)
    return []


def mirroring_get(state: State, words: list[str]) -> list[str]:
    session = number(words[0], "mirror id")
    with state.view.access():
        known = state.view.control.clone_sessions().get(session)
    if known is None:
        raise CommandError(f"Invalid mirroring operation (SESSION_NOT_FOUND): there is no session {session}")
    if session in state.sessions:
        port, group = state.sessions[session]
        return [f"MirroringSessionConfig(port={port}, mgid={group})"]
    return [f"MirroringSessionConfig(replicas={list(known.replicas)})"]
