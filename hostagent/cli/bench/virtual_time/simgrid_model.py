"""SimGrid's run of a schedule of messages, in a Python of its own: Debian's python3-simgrid is for Debian's Python.

    python simgrid_model.py < messages.json > times.json

Messages are activities between hosts (``Comm.sendto_async``), started by one actor when what they wait for has ended.
CM02 without cross traffic: a message takes its route's latency, then its share of the links, max-min fair. Only this
file imports SimGrid, and it imports nothing of ours.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from typing import Any

OPTIONS = ("network/model:CM02", "network/crosstraffic:0", "network/optim:Lazy")


def play(given: Mapping[str, Any]) -> dict[str, Any]:
    """``hosts`` (count), ``links`` ([rate_bps, latency_s]), ``messages`` ([source, destination, bytes, [links],
    [messages]]) -> ``finish_s`` of each, ``wall_s`` of the simulation itself."""
    from simgrid import Actor, Comm, Engine, LinkInRoute, NetZone  # type: ignore[import-not-found]

    engine = Engine(["simgrid_model", "--log=root.thres:error", *(f"--cfg={option}" for option in OPTIONS)])
    zone = NetZone.create_full_zone("zone")
    hosts = [zone.create_host(str(number), 1e9) for number in range(given["hosts"])]
    links = []
    for number, (rate_bps, latency_s) in enumerate(given["links"]):
        link = zone.create_link(f"link{number}", rate_bps / 8)
        link.set_latency(latency_s)
        links.append(link.seal() or link)
    routes = {(source, end): route for source, end, _, route, _ in given["messages"]}
    for (source, end), route in routes.items():
        hops = [LinkInRoute(links[link]) for link in route]
        zone.add_route(hosts[source].netpoint, hosts[end].netpoint, None, None, hops, False)
    zone.seal()
    messages = given["messages"]
    finish_s = [0.0] * len(messages)
    waits = [len(after) for *_, after in messages]
    later: list[list[int]] = [[] for _ in messages]
    for number, (*_, after) in enumerate(messages):
        for other in after:
            later[other].append(number)

    def drive() -> None:
        ready = [number for number, count in enumerate(waits) if not count]
        numbers: list[int] = []
        comms: list[Any] = []
        while ready or comms:
            for number in ready:
                source, end, size, _, _ = messages[number]
                numbers.append(number)
                comms.append(Comm.sendto_async(hosts[source], hosts[end], size))
            ready = []
            at = Comm.wait_any(comms)
            while at >= 0:
                number = numbers.pop(at)
                comms.pop(at)
                finish_s[number] = engine.clock
                for each in later[number]:
                    waits[each] -= 1
                    if not waits[each]:
                        ready.append(each)
                at = Comm.test_any(comms) if comms else -1

    Actor.create("driver", hosts[0], drive)
    begin_s = time.perf_counter()
    engine.run()
    return {"finish_s": finish_s, "wall_s": time.perf_counter() - begin_s}


if __name__ == "__main__":
    json.dump(play(json.load(sys.stdin)), sys.stdout)
