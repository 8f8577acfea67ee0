"""Switch and controller in the centre of a star, and the faults of a script: what `Network.aggregation` runs there.

The order is JSON, the only argument. Two lines of JSON on standard output: when it is ready, and after SIGTERM what has
happened.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from networks import CENTRE, tree_topology

from emulator.network.faults.files import read_faults
from hostagent.launch.aggregators import Aggregator, choose
from hostagent.launch.faults import LiveFaults, LiveNetwork
from hostagent.launch.processes import KilledEarlyError, Service, netsum_command

LOOK_S = 0.02


class Outside(Service):
    """The bridge, which runs already, and is not to be killed."""

    def running(self) -> bool:
        return True


def main() -> None:
    order = json.loads(sys.argv[1])
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    hosts = order["hosts"]
    cables = {(1, number): (f"h{number}->{CENTRE}", f"{CENTRE}->h{number}") for number in range(1, hosts + 1)}
    network = LiveNetwork(tree_topology((hosts,)), [CENTRE, "bridge"], cables)
    faults = LiveFaults(read_faults(order["faults"], network.topology), network, order["impairments"], hosts)
    with tempfile.TemporaryDirectory(prefix="netsum-") as folder:
        switch, controller = (service(order, name, Path(folder)) for name in ("switch", "controller"))
        bridge = Outside("bridge", Path(folder) / "bridge", lambda ready: [], {"p4runtime": order["bridge"]})
        bridge.is_ready = True
        try:
            for each in (switch, controller):
                each.start()
                each.wait_ready()
            print(json.dumps({"ready": True}), flush=True)
            where = Aggregator(order["address"], choose("p4"), "", [])
            faults.start([switch, bridge, controller], where)
            while not ended.wait(LOOK_S):
                for each in (switch, controller):
                    if each.is_held:
                        continue
                    with suppress(KilledEarlyError):
                        each.becomes_ready()
                    if not each.running():
                        each.restart()
        finally:
            faults.stop()
            for each in (controller, switch):
                each.stop()
    print(json.dumps(faults.happened), flush=True)


def service(order: Mapping[str, Any], name: str, folder: Path) -> Service:
    """Switch or controller, at the same addresses every time; the controller keeps its state."""
    words = [*order[name], *(["--state", str(folder / "state")] if name == "controller" else []), "--die-with-parent"]
    return Service(name, folder / f"{name}.log", lambda ready: netsum_command(*words))


if __name__ == "__main__":
    main()
