"""The P4Runtime driver against our P4Runtime server, with a switch without packets behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.p4runtime.device import Device
from emulator.p4runtime.errors import Code, RequestError
from emulator.p4runtime.pipeline.package import pack
from emulator.p4runtime.server import P4RuntimeServer
from emulator.rpc.tls import ClientTls, ServerTls
from emulator.switch.control import CounterValue
from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.driver import AggregatorUnavailable
from hostagent.controller.drivers.job import JobConfig
from hostagent.controller.drivers.p4 import driver as p4driver
from hostagent.controller.drivers.p4.driver import P4RuntimeDriver, Program, ProgramError, read_program
from tests.fakes.driver_events import JOB, WAIT_S, Events
from tests.fakes.fake_switch import FakeSwitch, fake_target
from tests.labs.certificates import make_certificates
from tests.programs.aggregator_p4info import aggregator_p4info, aggregator_p4info_text


class Machine:
    """A switch process' inside, started and killed at will on one address."""

    def __init__(self) -> None:
        self.address = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        target = fake_target()
        self.switch: FakeSwitch = target.switch  # type: ignore[assignment]
        self.server = P4RuntimeServer(Device(0, target), self.address)
        self.address = self.server.address

    def stop(self) -> None:
        self.server.stop(0)

    @property
    def counts(self) -> list[int]:
        """Entries in each table, then groups."""
        return [len(table) for table in self.switch.tables.values()] + [len(self.switch.groups)]


@pytest.fixture
def machine() -> Iterator[Machine]:
    made = Machine()
    yield made
    made.stop()


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """What the fake switch compiles: its P4Info, in a package."""
    source = tmp_path / "allreduce.p4"
    source.write_text(aggregator_p4info_text())
    return Program(pack(source, {"LANES": "64"}))


@pytest.fixture
def driver(machine: Machine, program: Program) -> Iterator[P4RuntimeDriver]:
    made = P4RuntimeDriver(machine.address, program)
    yield made
    made.stop()


def started(driver: P4RuntimeDriver, told: tuple[JobConfig, ...] = ()) -> Events:
    events = Events()
    driver.start(events, told)
    return events


def capacity_of(driver: P4RuntimeDriver) -> Capacity:
    return Capacity(slots=512, lanes=64, rows=64, forwards_messages=True, aggregator=driver.name)


def test_the_program_is_loaded_and_its_capacity_told(machine: Machine, driver: P4RuntimeDriver) -> None:
    events = started(driver)
    assert events.next("ready") == (capacity_of(driver), True)
    assert machine.switch.loads == 1


def test_a_job_is_told_with_tables_and_group_and_forgotten_without_a_trace(
    machine: Machine, driver: P4RuntimeDriver
) -> None:
    events = started(driver)
    events.next("ready")
    driver.install(JOB)
    assert events.next("installed") == (5, 1000)
    assert machine.counts == [1, 2, 2, 2, 1]
    assert machine.switch.groups == {3: ((1, 129), (2, 130))}
    driver.remove(5)
    driver.install(replace(JOB, job=6))
    events.next("installed")
    driver.remove(6)
    driver.install(replace(JOB, job=7, children=()))
    events.next("installed")
    assert machine.counts == [1, 0, 0, 0, 1]


def test_a_new_epoch_changes_the_job_entry_alone(machine: Machine, driver: P4RuntimeDriver) -> None:
    events = started(driver)
    events.next("ready")
    driver.install(JOB)
    events.next("installed")
    before = [dict(table) for table in machine.switch.tables.values()]
    driver.install(replace(JOB, epoch=1001, base=77))
    assert events.next("installed") == (5, 1001)
    after = [dict(table) for table in machine.switch.tables.values()]
    assert after[1:] == before[1:]
    ((entry,),) = [tuple(after[0].values())]
    assert entry.params == (1001, 77, 256, 8, 0, 3, 3, 1, 2)


def test_another_controller_process_finds_everything_and_touches_nothing(
    machine: Machine, driver: P4RuntimeDriver, program: Program
) -> None:
    events = started(driver)
    events.next("ready")
    driver.install(JOB)
    events.next("installed")
    driver.stop()
    later = P4RuntimeDriver(machine.address, program)
    assert started(later, (JOB,)).next("ready")[1] is False
    assert machine.switch.loads == 1
    assert machine.counts == [1, 2, 2, 2, 1]
    later.stop()


def test_what_no_job_owns_is_deleted_on_connecting(machine: Machine, driver: P4RuntimeDriver, program: Program) -> None:
    events = started(driver)
    events.next("ready")
    driver.install(JOB)
    driver.install(replace(JOB, job=6, row=3))
    assert events.next("installed")
    assert events.next("installed")
    driver.stop()
    later = P4RuntimeDriver(machine.address, program)
    assert started(later, (JOB,)).next("ready")[1] is False
    assert machine.counts == [1, 2, 2, 2, 1]
    later.stop()


def test_an_empty_switch_is_loaded_again_and_reported_as_lost_state(machine: Machine, driver: P4RuntimeDriver) -> None:
    events = started(driver)
    events.next("ready")
    driver.install(JOB)
    events.next("installed")
    machine.stop()
    assert driver.name in events.next("lost")[0]
    machine.start()
    assert events.next("ready")[1] is True
    assert machine.switch.loads == 1
    driver.install(replace(JOB, epoch=1001))
    assert events.next("installed") == (5, 1001)


def test_an_epoch_other_than_expected_counts_as_lost_state(
    machine: Machine, driver: P4RuntimeDriver, program: Program
) -> None:
    events = started(driver)
    events.next("ready")
    driver.install(JOB)
    events.next("installed")
    driver.stop()
    later = P4RuntimeDriver(machine.address, program)
    assert started(later, (replace(JOB, epoch=999),)).next("ready")[1] is True
    assert machine.counts == [0, 0, 0, 0, 0]
    later.stop()


def test_a_job_that_vanishes_while_the_stream_is_open_is_detected(
    machine: Machine, driver: P4RuntimeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(p4driver, "CHECK_INTERVAL_S", 0.05)
    events = started(driver)
    events.next("ready")
    driver.install(JOB)
    events.next("installed")
    with machine.switch.lock:
        next(iter(machine.switch.tables.values())).clear()
    assert "has lost a job" in events.next("lost")[0]
    assert events.next("ready")[1] is True


def test_a_program_that_does_not_compile_is_a_permanent_failure(machine: Machine, tmp_path: Path) -> None:
    source = tmp_path / "broken.p4"
    source.write_text("#error\n")
    driver = P4RuntimeDriver(machine.address, Program(pack(source, {})))
    why, permanent = started(driver).next("lost")
    assert permanent
    assert "broken.p4:1:1: error" in why
    driver.stop()


def test_a_program_that_is_no_aggregator_is_named(machine: Machine, tmp_path: Path) -> None:
    source = tmp_path / "router.p4"
    source.write_text("")  # the fake's own program
    driver = P4RuntimeDriver(machine.address, Program(pack(source, {})))
    why, permanent = started(driver).next("lost")
    assert permanent
    assert "not an aggregator" in why
    assert "AllreduceIngress.children" in why
    driver.stop()


def test_a_switch_that_takes_bmv2s_json_is_a_permanent_failure_with_a_hint(
    machine: Machine, driver: P4RuntimeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(device: Device, request: object) -> None:
        raise RequestError(Code.UNKNOWN, "Unexpected error in RPC handling")

    monkeypatch.setattr(Device, "set_pipeline", refuse)
    reason, permanent = started(driver).next("lost")
    assert permanent
    assert "Unexpected error in RPC handling. The switch does not take P4 source" in reason
    assert "--p4info P4INFO --device-config JSON" in reason


def test_a_switch_without_program_and_none_given_is_a_permanent_failure(machine: Machine) -> None:
    driver = P4RuntimeDriver(machine.address, Program())
    why, permanent = started(driver).next("lost")
    assert permanent
    assert "no program" in why
    driver.stop()


def test_nothing_there_is_no_permanent_failure(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostagent.controller.drivers.p4.client.CONNECT_TIMEOUT_S", 0.1)
    machine.stop()
    driver = P4RuntimeDriver(machine.address, Program())
    assert started(driver).next("lost") == (
        f"p4runtime://{machine.address}: nothing answers at {machine.address}",
        False,
    )
    driver.stop()
    machine.start()


def test_a_full_table_fails_the_installation_and_leaves_the_connection(
    machine: Machine, driver: P4RuntimeDriver
) -> None:
    events = started(driver)
    events.next("ready")
    with machine.switch.lock:
        machine.switch.sizes = dict.fromkeys(machine.switch.sizes, 1)
    driver.install(JOB)
    assert "the table is full" in events.next("install_failed")[2]
    driver.install(replace(JOB, children=JOB.children[:1]))
    assert events.next("installed") == (5, 1000)


def test_counters_are_read_by_name(machine: Machine, driver: P4RuntimeDriver) -> None:
    events = started(driver)
    events.next("ready")
    info = aggregator_p4info()
    verdicts, drops = (counter.preamble.id for counter in info.counters)
    with machine.switch.lock:
        machine.switch.write_counter(verdicts, 2 * 16 + 2, CounterValue(9, 900))
        machine.switch.write_counter(drops, 1, CounterValue(4, 44))
    counters = driver.counters(WAIT_S)
    assert counters.verdicts == {2: {"completed": 9}}
    assert counters.verdict_bytes == {2: {"completed": 900}}
    assert counters.drops["length"] == 4


def test_counters_of_a_switch_that_is_away_are_an_error(machine: Machine, driver: P4RuntimeDriver) -> None:
    with pytest.raises(AggregatorUnavailable, match="is not connected"):
        driver.counters(WAIT_S)


def test_files_that_p4c_wrote_are_read(tmp_path: Path) -> None:
    info, config = tmp_path / "p4info.txt", tmp_path / "allreduce.json"
    info.write_text(aggregator_p4info_text())
    config.write_text("{}")
    program = read_program(info, config)
    assert program.p4info == aggregator_p4info()
    assert program.device_config == b"{}"
    with pytest.raises(ProgramError, match="give --p4info FILE and --device-config"):
        read_program(info, None)
    with pytest.raises(ProgramError, match="missing"):
        read_program(info, tmp_path / "missing.json")


def test_a_switch_with_mutual_tls(program: Program, tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    server_tls = ServerTls(made.path("server.crt"), made.path("server.key"), made.path("ca.crt"), requires_client=True)
    server = P4RuntimeServer(Device(0, fake_target()), "127.0.0.1:0", tls=server_tls)
    tls = ClientTls(made.path("ca.crt"), made.path("client.crt"), made.path("client.key"))
    driver = P4RuntimeDriver(server.address, program, tls=tls)
    events = started(driver)
    try:
        assert events.next("ready") == (capacity_of(driver), True)
    finally:
        driver.stop()
        server.stop(0)
