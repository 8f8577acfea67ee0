"""How long a controller waits for many entries: written in batches and read back with a wildcard, over gRPC.

``python -m tests.soaks.p4runtime_speed --table aging --entries 100000`` prints a line of JSON: of a table with
actions, one with time-outs, one with an action selector.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from emulator.native.p4protos import p4runtime_pb2 as p4rt
from emulator.p4runtime.process import RunningSwitch, SwitchOptions, compile_for
from tests.clients.p4runtime_scenario import Controller

PROGRAM = str(Path(__file__).parents[1] / "programs" / "large_tables.p4")

Fill = Callable[[Any, int, int], None]
"""(TableEntry, its number, the action ``send``)"""


def _plain(entry: Any, number: int, action: int) -> None:
    """Two exact keys and an action with two parameters."""
    entry.match.add(field_id=1).exact.value = b"\x07"
    entry.match.add(field_id=2).exact.value = number.to_bytes(4, "big")
    entry.action.action.action_id = action
    entry.action.action.params.add(param_id=1, value=b"\1")
    entry.action.action.params.add(param_id=2, value=number.to_bytes(4, "big"))


def _idle(entry: Any, number: int, action: int) -> None:
    _plain(entry, number, action)
    entry.idle_timeout_ns = 3_600_000_000_000


def _grouped(entry: Any, number: int, _: int) -> None:
    entry.match.add(field_id=1).exact.value = number.to_bytes(4, "big")
    entry.action.action_profile_group_id = 1


TABLES: dict[str, Fill] = {"forward": _plain, "aging": _idle, "grouped": _grouped}


def batches(controller: Controller, name: str, update_type: int, entries: int, batch: int) -> Iterator[Any]:
    """WriteRequests for the table ``name``."""
    info, fill = controller.p4info(), TABLES[name]
    (table,) = (t.preamble.id for t in info.tables if t.preamble.alias == name)
    (action,) = (a.preamble.id for a in info.actions if a.preamble.alias == "send")
    for start in range(0, entries, batch):
        request = controller.request(p4rt.WriteRequest)
        for number in range(start, min(start + batch, entries)):
            entry = request.updates.add(type=update_type).entity.table_entry
            entry.table_id = table
            fill(entry, number, action)
        yield request


def _make_group(controller: Controller) -> None:
    info = controller.p4info()
    (profile,) = (p.preamble.id for p in info.action_profiles)
    (action,) = (a.preamble.id for a in info.actions if a.preamble.alias == "nothing")
    member = f"action_profile_member {{ action_profile_id: {profile} member_id: 1 action {{ action_id: {action} }} }}"
    controller.write_texts(("INSERT", member))
    group = f"action_profile_id: {profile} group_id: 1 members {{ member_id: 1 weight: 1 }}"
    controller.write_texts(("INSERT", f"action_profile_group {{ {group} }}"))


def measure(table: str, entries: int, batch: int) -> dict[str, float]:
    """Seconds, and seconds of CPU for both ends together, by what was done."""
    options = SwitchOptions(program=PROGRAM, ports=("0=memory:a",), grpc_server_addr="127.0.0.1:0")
    found: dict[str, float] = {}
    with RunningSwitch(options, compile_for(options)) as running:
        controller = Controller(running.server.address)
        controller.arbitrate(1)
        _make_group(controller)
        for name in ("INSERT", "MODIFY", "read", "DELETE"):
            update_type = p4rt.Update.Type.Value(name) if name != "read" else 0
            requests = list(batches(controller, table, update_type, entries, batch)) if update_type else []
            start, start_cpu = time.perf_counter(), time.process_time()
            for request in requests:
                controller.stub.Write(request)
            if not update_type:
                wanted = p4rt.ReadRequest(entities=[p4rt.Entity(table_entry=p4rt.TableEntry())])
                assert sum(len(response.entities) for response in controller.stub.Read(wanted)) == entries
            found[name.lower()] = round(time.perf_counter() - start, 2)
            found[f"{name.lower()}_cpu"] = round(time.process_time() - start_cpu, 2)
        controller.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=TABLES, default="forward")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=1_000)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.table, arguments.entries, arguments.batch)))


if __name__ == "__main__":
    main()
