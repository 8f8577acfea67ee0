"""Fair shares equal those of a few lines with fractions, on random messages."""

import random
from fractions import Fraction
from itertools import pairwise

import pytest

from emulator.network.messages.simulate import Sharing, simulate
from emulator.network.schedule.parts import Chunks, Send
from emulator.network.schedule.schedule import Schedule
from emulator.network.topology.builders import leaf_spine
from emulator.network.topology.parts import LinkClass
from emulator.network.topology.routes import shortest_routes

HOST = LinkClass("host", 8_000_000_000, 300)
SPINE = LinkClass("spine", 12_000_000_000, 500, alpha_ns=70)


def random_schedule(seed):
    rng = random.Random(seed)
    topology = leaf_spine(3, 2, 2, host_link=HOST, switch_link=SPINE)
    ends = [tuple(rng.sample(range(6), 2)) for _ in range(14)]
    chunks = [Chunks(1, rng.randrange(200, 9_000), (source,), (end,)) for source, end in ends]
    tasks = []
    for number, (source, end) in enumerate(ends):
        nodes = rng.choice(shortest_routes(topology, f"h{source}", f"h{end}"))
        route = tuple(topology.links_between(*hop)[0].name for hop in pairwise(nodes))
        after = tuple(sorted(rng.sample(range(number), min(number, rng.choice([0, 0, 1, 2])))))
        tasks.append(Send(source, end, (number,), route, after))
    return Schedule.of(f"random-{seed}", topology, chunks, tasks)


def shares(passing, routes, rate):
    """Bytes per ns of each message that passes, by progressive filling."""
    found: dict[int, Fraction] = {}
    room = dict(rate)
    while len(found) < len(passing):
        users = {link: [m for m in passing if m not in found and link in routes[m]] for link in room}
        least, link = min((room[link] / len(each), link) for link, each in users.items() if each)
        for message in users[link]:
            found[message] = least
            for each in routes[message]:
                room[each] -= least
    return found


def finishes(schedule):
    links = {link.name: link for link in schedule.topology.links}
    rate = {name: Fraction(link.rate_bps, 8_000_000_000) for name, link in links.items()}
    tasks = list(schedule)
    routes = [task.route for task in tasks]
    delay = [sum(links[name].alpha_ns + links[name].latency_ns for name in route) for route in routes]
    left = [Fraction(int(size)) for size in schedule.task_bytes]
    begins: dict[int, Fraction] = {}
    passing: set[int] = set()
    ended: dict[int, Fraction] = {}
    now = Fraction(0)
    while len(ended) < len(tasks):
        for number, task in enumerate(tasks):
            if number not in begins and number not in ended and number not in passing and set(task.after) <= set(ended):
                begins[number] = now + delay[number]
        share = shares(passing, routes, rate)
        events = [*begins.values(), *(now + left[number] / share[number] for number in passing)]
        later = min(events)
        for number in passing:
            left[number] -= share[number] * (later - now)
        now = later
        for number in [each for each, at in begins.items() if at == now]:
            passing.add(number)
            del begins[number]
        for number in [each for each in passing if left[each] == 0]:
            passing.remove(number)
            ended[number] = now
    return [ended[number] for number in range(len(tasks))]


@pytest.mark.parametrize("seed", range(12))
def test_fair_shares(seed):
    schedule = random_schedule(seed)
    found = simulate(schedule, Sharing.FAIR).finish_ns.tolist()
    for own, exact in zip(found, finishes(schedule), strict=True):
        assert abs(own - exact) <= len(schedule)  # each event is at a whole ns
