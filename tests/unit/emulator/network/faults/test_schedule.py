"""The order of changes, and what links do meanwhile: on a simulation, too."""

from __future__ import annotations

from emulator.network.faults.files import parse_faults
from emulator.network.faults.schedule import LinkFaults, Schedule
from emulator.network.simulation import End, Simulation
from emulator.network.topology.builders import star
from emulator.ports.spec import Impairments
from emulator.ports.units import TIME_UNITS_NS

MS = TIME_UNITS_NS["ms"]


def changes(text: str) -> list[tuple[int, str]]:
    schedule, found = Schedule(parse_faults(text, star(2))), []
    while (time_ns := schedule.next_time_ns()) is not None:
        assert schedule.due(time_ns - 1) == []
        found += [(change.time_ns // MS, str(change)) for change in schedule.due(time_ns)]
    assert schedule.due(1 << 62) == []
    return found


def test_changes_come_in_order_and_ends_before_beginnings() -> None:
    script = """
        faults:
        - {at: 3ms, down: h1-s0, for: 1ms}
        - {at: 1ms, down: h0-s0, for: 2ms}
        - {at: 3ms, restart: s0}
        - {at: 4ms, kill: h0}
    """
    assert changes(script) == [
        (1, "link h0-s0 down"),
        (3, "link h0-s0 down: over"),
        (3, "link h1-s0 down"),
        (3, "s0 killed"),
        (3, "s0 is started again"),
        (4, "link h1-s0 down: over"),
        (4, "h0 killed"),
    ]


def test_the_latest_fault_of_a_link_counts_and_what_is_down_stays_down() -> None:
    script = """
        faults:
        - {at: 0ms, impair: h0-s0, loss: 10%, delay: 1ms, for: 9ms}
        - {at: 1ms, impair: h0->s0, loss: 20%, for: 4ms}
        - {at: 2ms, down: h0-s0, for: 5ms}
        - {at: 3ms, partition: [h0], for: 5ms}
    """
    schedule = Schedule(parse_faults(script, star(2)))
    links = LinkFaults(usual=lambda name: Impairments(seed=3, loss=0.01))
    seen = {}
    for time_ms in range(11):
        for change in schedule.due(time_ms * MS):
            assert "h1->s0" not in links.apply(change)
        seen[time_ms] = (links.of("h0->s0").loss, links.of("s0->h0").loss, links.of("s0->h0").delay_ns // MS)
    assert [seen[at] for at in (0, 1, 2, 5, 7, 8, 9)] == [
        (0.1, 0.1, 1),
        (0.2, 0.1, 1),
        (1.0, 1.0, 1),
        (1.0, 1.0, 1),
        (1.0, 1.0, 1),
        (0.1, 0.1, 1),
        (0.01, 0.01, 0),
    ]
    assert links.of("h1->s0") == Impairments(seed=3, loss=0.01)


def test_a_simulation_plays_a_script() -> None:
    topology = star(2)
    schedule = Schedule(parse_faults("faults: [{at: 5ms, down: h0->s0, for: 3ms}]", topology))
    links, arrived = LinkFaults(), []
    simulation = Simulation(lambda end, frame, now_ns, origin: arrived.append(now_ns // MS))
    simulation.add("h0", lambda frame, port, now_ns, origin: [(1, frame)])
    simulation.add("s0", lambda frame, port, now_ns, origin: [(9, frame)])
    link = topology.link("h0->s0")
    ends = {each.name: End(each.source, topology.port(each.source, each)) for each in (link, link.reverse)}
    simulation.connect(ends["h0->s0"], ends["s0->h0"])
    for time_ms in range(10):
        simulation.run_until(time_ms * MS)
        for change in schedule.due(simulation.now_ns):
            for name in links.apply(change):
                if name in ends:
                    simulation.impair(ends[name], links.of(name))
        simulation.inject(End("h0", 2), b"frame", time_ms)
    assert arrived == [0, 1, 2, 3, 4, 8, 9]
