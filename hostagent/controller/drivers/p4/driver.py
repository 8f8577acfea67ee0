"""Drives a P4 switch by P4Runtime: tables and multicast groups, nothing else; counters are only read, for reports.

One thread owns the connection: it connects, makes sure that the switch runs the right program, compares the switch's
entries with the expected ones, and then carries out orders until the stream breaks or a check every few seconds detects
that the program or an entry is gone. Entries on the switch are neither assumed to be complete nor deleted without need:
training continues through a controller's restart.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import text_format

from emulator.rpc.p4protos import p4info_pb2
from emulator.rpc.p4protos import p4runtime_pb2 as p4
from emulator.rpc.p4runtime_client import P4RuntimeClient
from emulator.rpc.statistics import StatisticsError, read_statistics
from emulator.rpc.tls import ClientTls
from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.driver import (
    AggregatorCounters,
    AggregatorUnavailable,
    DriverEvents,
)
from hostagent.controller.drivers.job import JobConfig
from hostagent.controller.drivers.p4.client import P4Client, SwitchAway, SwitchRefused
from hostagent.controller.drivers.p4.names import DROP_COUNTER, VERDICT_COUNTER, P4Names, WrongProgram
from hostagent.controller.drivers.p4.tables import SwitchTables
from hostagent.controller.drivers.reconnecting import ReconnectingDriver
from hostagent.controller.drivers.silence import is_silent, title
from hostagent.protocol.counters import VERDICT_COLUMNS
from hostagent.protocol.services.aggregator import DROPS, VERDICTS

NO_SERVICES = (
    "a P4 switch only sums; weights and optimizers are kept by a rack server (`netsum run --aggregator server`)"
)

NEEDS_JSON = (
    "The switch does not take P4 source. If it is bmv2's simple_switch_grpc, compile the program with p4c-bm2-ss "
    "--p4runtime-files P4INFO -o JSON, and start the controller with --p4info P4INFO --device-config JSON instead of "
    "--program"
)
"""Other than a switch of netsum, bmv2 has no diagnostics for a device config that it cannot read: UNKNOWN."""

PID_TIMEOUT_S = 2.0

CHECK_INTERVAL_S = 5.0
"""Period of the checks that program and jobs are still there; two small reads."""

log = logging.getLogger("netsum.controller")


class ProgramError(Exception):
    """The program files can't be used."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to load into the switch; both empty: use the program it runs."""

    device_config: bytes = b""
    p4info: Any = None

    @property
    def cookie(self) -> int:
        """Identifies this program on the switch, across restarts of the controller."""
        text = self.p4info.SerializeToString(deterministic=True) if self.p4info is not None else b""
        return int.from_bytes(hashlib.sha256(text + self.device_config).digest()[:8], "big")


USE_WHAT_RUNS = Program()


def read_program(p4info: Path | None, device_config: Path | None) -> Program:
    """What p4c wrote: P4Info as text, and bmv2's JSON; neither: use what the switch runs. Raises ProgramError."""
    if p4info is None and device_config is None:
        return USE_WHAT_RUNS
    if p4info is None or device_config is None:
        raise ProgramError("give --p4info FILE and --device-config FILE together, and no other program")
    try:
        info = text_format.Parse(p4info.read_text(), p4info_pb2.P4Info())
        return Program(device_config.read_bytes(), info)
    except (OSError, ValueError, text_format.ParseError) as error:
        raise ProgramError(f"can't read the switch's program: {error}") from error


class P4RuntimeDriver(ReconnectingDriver):
    """See hostagent.controller.drivers.driver.Driver."""

    def __init__(
        self,
        address: str,
        program: Program,
        device_id: int = 0,
        tls: ClientTls | None = None,
        most_slots: int | None = None,
    ):
        """``most_slots``: of the program's slots, as many as jobs may have; None: all. Raises TlsError."""
        super().__init__()
        self._credentials = tls.credentials() if tls is not None else None
        self._tls = tls
        self._pid = 0
        """Of the switch's process, where it is one of ours; for messages."""
        self._address = address
        self._program = program
        self._device_id = device_id
        self._most_slots = most_slots
        self._session: tuple[P4Client, P4Names] | None = None

    @property
    def name(self) -> str:
        """Name for people."""
        return f"p4runtime://{self._address}"

    def counters(self, timeout_s: float) -> AggregatorCounters:
        """See Driver."""
        session = self._session
        if session is None:
            raise AggregatorUnavailable(f"{self.name} is not connected")
        client, names = session
        try:
            verdicts = client.read([_whole_counter(names.counter_id(VERDICT_COUNTER))], timeout_s)
            drops = client.read([_whole_counter(names.counter_id(DROP_COUNTER))], timeout_s)
        except (SwitchAway, SwitchRefused) as error:
            raise AggregatorUnavailable(f"{self.name}: {error}") from error
        counters = _counters(verdicts, drops)
        counters.statistics.append((self.name, self._statistics(timeout_s)))
        return counters

    def silent(self, timeout_s: float) -> list[str]:
        """See Driver."""
        client = P4RuntimeClient(self._address, credentials=self._credentials)
        try:
            request = p4.CapabilitiesRequest()
            is_one = is_silent(lambda: client.stub.Capabilities(request, timeout=timeout_s))
        finally:
            client.close()
        return [title(self.name, self._pid)] if is_one else []

    def _statistics(self, timeout_s: float) -> dict[str, Any] | None:
        try:
            return read_statistics(self._address, timeout_s, self._tls)
        except StatisticsError:
            return None

    # --- the thread ---

    def _describe(self, error: Exception) -> tuple[str, bool] | None:
        if isinstance(error, SwitchAway):
            return str(error), False
        return (str(error), True) if isinstance(error, SwitchRefused | WrongProgram) else None

    def _serve(self, events: DriverEvents) -> None:
        """One connection, from its beginning to its end."""
        client = P4Client(self._address, self._device_id, self._on_broken, self._loop, self._credentials)
        try:
            client.open()
            loaded = self._load(client)
            names = P4Names(client.pipeline("P4INFO_AND_COOKIE").p4info)
            tables = SwitchTables(client, names)
            state_lost = loaded or not tables.has_all(self._installed.values())
            if state_lost:
                self._installed.clear()
            tables.keep_only(self._installed.values())
            self._session = client, names
            self._pid = int((self._statistics(PID_TIMEOUT_S) or {}).get("pid", 0))
            self._forget_old_orders()
            events.ready(self._capacity(names), state_lost)
            self._carry_out_orders(
                lambda config: self._install(events, tables, config),
                lambda job: tables.keep_only(self._installed.values()),
                lambda: self._check(client, tables),
                CHECK_INTERVAL_S,
            )
        finally:
            self._session = None
            client.close()

    def _capacity(self, names: P4Names) -> Capacity:
        has = names.capacity()
        slots = has.slots if self._most_slots is None else self._most_slots
        if slots > has.slots:
            raise WrongProgram(f"--slots {slots}: the switch's program has {has.slots}")
        return replace(has, slots=slots, aggregator=self.name)

    def _load(self, client: P4Client) -> bool:
        """Puts the program into a switch that doesn't run it; True if it did."""
        running = client.pipeline("P4INFO_AND_COOKIE")
        if not self._program.device_config:
            if running is None:
                raise WrongProgram(
                    "the switch has no program, and the controller has none to load: start it with --program FILE.p4"
                )
            return False
        if running is not None and running.cookie.cookie == self._program.cookie:
            return False
        config = p4.ForwardingPipelineConfig(p4_device_config=self._program.device_config)
        if self._program.p4info is not None:
            config.p4info.CopyFrom(self._program.p4info)
        config.cookie.cookie = self._program.cookie
        try:
            client.set_pipeline(config)
        except SwitchRefused as error:
            if self._program.p4info is None and error.status is grpc.StatusCode.UNKNOWN:
                raise WrongProgram(f"{error}. {NEEDS_JSON}") from error
            raise
        return True

    def _install(self, events: DriverEvents, tables: SwitchTables, config: JobConfig) -> None:
        if config.service is not None:
            events.install_failed(config.job, config.epoch, NO_SERVICES)
            return
        try:
            tables.install(config)
        except SwitchRefused as error:
            events.install_failed(config.job, config.epoch, str(error))
            return
        self._installed[config.job] = config
        events.installed(config.job, config.epoch)

    def _check(self, client: P4Client, tables: SwitchTables) -> None:
        """Detects that the program or a job has gone although the stream is open."""
        if self._program.device_config:
            running = client.pipeline("COOKIE_ONLY")
            if running is None or running.cookie.cookie != self._program.cookie:
                raise SwitchAway("the switch's program has been replaced")
        if not tables.has_all(self._installed.values()):
            raise SwitchAway("the switch has lost a job")


def _whole_counter(counter_id: int) -> Any:
    return p4.Entity(counter_entry=p4.CounterEntry(counter_id=counter_id))


def _counters(verdicts: list[Any], drops: list[Any]) -> AggregatorCounters:
    """Cells that P4Runtime read, by row and name; rows without traffic are left out."""
    counters = AggregatorCounters()
    for cell in (entity.counter_entry for entity in verdicts):
        row, verdict = divmod(cell.index.index, VERDICT_COLUMNS)
        if cell.data.packet_count and verdict < len(VERDICTS):
            counters.verdicts.setdefault(row, {})[VERDICTS[verdict]] = cell.data.packet_count
            counters.verdict_bytes.setdefault(row, {})[VERDICTS[verdict]] = cell.data.byte_count
    for cell in (entity.counter_entry for entity in drops):
        if cell.index.index < len(DROPS):
            counters.drops[DROPS[cell.index.index]] = cell.data.packet_count
    return counters
