"""A P4Runtime device over a switch with memory ports, in this process: no gRPC, no live loop, time as the test says."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

from emulator.p4runtime.device import Device
from emulator.p4runtime.errors import BatchError, Code, RequestError
from emulator.p4runtime.pipeline.compilation import compile_config
from emulator.p4runtime.pipeline.package import pack
from emulator.p4runtime.pipeline.pipeline import Target
from emulator.p4runtime.process import RunningSwitch, SwitchOptions, compile_for
from emulator.p4runtime.translation import TranslationRules
from emulator.ports.batch import FrameBatch
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.spec import parse_port
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from emulator.switch.core import Switch

ENTITIES_PROGRAM = str(Path(__file__).parents[1] / "programs" / "entities.p4")
CPU_PORT = 255
NO_RULES = TranslationRules()
KINDS = (
    "tables",
    "actions",
    "counters",
    "direct_counters",
    "meters",
    "direct_meters",
    "registers",
    "action_profiles",
    "value_sets",
    "digests",
)


@contextmanager
def running_entities() -> Iterator[RunningSwitch]:
    """The program with one of everything, as ``netsum switch`` runs it."""
    options = SwitchOptions(
        program=ENTITIES_PROGRAM,
        ports=tuple(f"{number}=memory:p{number}" for number in (0, 1, 2)),
        grpc_server_addr="127.0.0.1:0",
        cpu_port=CPU_PORT,
    )
    with RunningSwitch(options, compile_for(options)) as running:
        yield running


pack_once = functools.cache(pack)


class Bench:
    """``now_ns`` is the switch's clock; ``sent`` is what streams were sent, as (stream, message)."""

    def __init__(
        self,
        engine: str,
        program: str = ENTITIES_PROGRAM,
        ports: int = 4,
        make_switch: Callable[[], Switch] = Switch,
        translation: TranslationRules = NO_RULES,
    ) -> None:
        self.program = program
        self.translation = translation
        self.now_ns = 1_000
        self.switch = make_switch()
        numbers = [*range(ports), CPU_PORT]
        self.ports = [MemoryPort(parse_port(f"{n}=memory:p{n}"), self.switch.ports) for n in numbers]
        self.sent: list[tuple[Hashable, Any]] = []
        self.packets_out: list[bytes] = []
        self.down: set[int] = set()
        """Ports."""
        self.device = Device(0, self._target(engine))
        self.device.send = lambda stream, message: self.sent.append((stream, message))
        self.arbitrate("c", 1)
        self.names: dict[str, Any] = {}
        self.set_pipeline("VERIFY_AND_COMMIT")

    def _target(self, engine: str) -> Target:
        return Target(
            self.switch,
            lambda: self.switch.lock,
            lambda package: compile_config(package, engine),
            Switch,
            now_ns=lambda: self.now_ns,
            has_port=lambda number: number in {port.number for port in self.ports},
            ports_down=lambda: frozenset(self.down),
            translation=self.translation,
            packet_out=self._packet_out,
        )

    def _packet_out(self, frame: bytes) -> bool:
        self.packets_out.append(frame)
        return True

    def close(self) -> None:
        for port in self.ports:
            port.close()

    def arbitrate(self, stream: Hashable, election_id: int, role: str = "") -> None:
        update = p4rt.MasterArbitrationUpdate()
        update.election_id.low = election_id
        if role:
            update.role.name = role
        self.device.arbitrate(stream, update)

    def set_pipeline(self, action: str, defines: dict[str, str] | None = None, **fields: Any) -> None:
        request = p4rt.SetForwardingPipelineConfigRequest()
        request.action = p4rt.SetForwardingPipelineConfigRequest.Action.Value(action)
        request.election_id.low = 1
        if action != "COMMIT":
            request.config.p4_device_config = pack(self.program, defines) if defines else pack_once(self.program)
        for name, value in fields.items():
            getattr(request.config, name).CopyFrom(value)
        self.device.set_pipeline(request)
        self.p4info = self.device.get_pipeline(p4rt.GetForwardingPipelineConfigRequest()).config.p4info
        for kind in KINDS:
            self.names |= {item.preamble.alias: item.preamble.id for item in getattr(self.p4info, kind)}

    def entity(self, text: str) -> Any:
        """An Entity in text form in which ``$alias`` stands for an id."""
        for alias, number in sorted(self.names.items(), reverse=True):
            text = text.replace(f"${alias} ", f"{number} ")
        return text_format.Parse(text, p4rt.Entity())

    def write(self, *updates: tuple[str, str], atomicity: str = "CONTINUE_ON_ERROR", **fields: Any) -> None:
        request = p4rt.WriteRequest(atomicity=p4rt.WriteRequest.Atomicity.Value(atomicity), **fields)
        request.election_id.low = 1
        for update_type, text in updates:
            request.updates.add(type=p4rt.Update.Type.Value(update_type), entity=self.entity(text))
        self.device.write(request)

    def insert(self, *texts: str) -> None:
        self.write(*(("INSERT", text) for text in texts))

    def refused(self, update_type: str, text: str) -> tuple[Code, str]:
        with pytest.raises(BatchError) as caught:
            self.write((update_type, text))
        (error,) = caught.value.errors
        assert error is not None
        return error.code, error.message

    def codes(self, *updates: tuple[str, str], atomicity: str = "CONTINUE_ON_ERROR") -> list[Code]:
        """Of each update of a batch that fails."""
        with pytest.raises(BatchError) as caught:
            self.write(*updates, atomicity=atomicity)
        return [Code.OK if error is None else error.code for error in caught.value.errors]

    def read(self, *texts: str) -> list[Any]:
        request = p4rt.ReadRequest(entities=[self.entity(text) for text in texts])
        return [entity for response in self.device.read(request) for entity in response.entities]

    def everything(self) -> list[str]:
        """All that can be read, in text."""
        found = self.read(*(f"{kind} {{}}" for kind in WILDCARDS), *REPLICATION, ALL_DEFAULTS)
        return [text_format.MessageToString(entity, as_one_line=True) for entity in found]

    def run(self, port: int, *frames: bytes) -> dict[int, list[bytes]]:
        """Frames into a port; what comes out of which."""
        batch = FrameBatch()
        source = next(each for each in self.ports if each.number == port)
        source.send(frames)
        for each in self.ports:
            each.receive_into(batch)
        self.switch.process(batch, self.now_ns)
        for each in self.ports:
            each.release()
            each.flush()
        return {p.number: found for p in self.ports if (found := list(p.received()))}

    def said(self) -> list[Any]:
        """The messages sent since the last time; digests and time-outs that are due are looked for before."""
        self.device.send_notifications()
        messages, self.sent = [message for _, message in self.sent], []
        return messages


@pytest.fixture
def bench() -> Iterator[Bench]:
    """Interpreted: nothing is compiled."""
    bench = Bench("interpreter")
    yield bench
    bench.close()


WILDCARDS = (
    "table_entry",
    "action_profile_member",
    "action_profile_group",
    "counter_entry",
    "meter_entry",
    "direct_counter_entry",
    "direct_meter_entry",
    "value_set_entry",
    "register_entry",
    "digest_entry",
)
REPLICATION = (
    "packet_replication_engine_entry { multicast_group_entry {} }",
    "packet_replication_engine_entry { clone_session_entry {} }",
)
ALL_DEFAULTS = "table_entry { is_default_action: true }"


def error_of(call: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        call()
    return caught.value


def bits(*values: int) -> str:
    """A bytestring in text form."""
    return "".join(f"\\x{byte:02x}" for byte in values)


def exact(field: int, value: int, size: int = 2) -> str:
    return f'match {{ field_id: {field} exact {{ value: "{bits(*value.to_bytes(size, "big"))}" }} }}'


def call(action: str, *values: int) -> str:
    """An action with parameters of four bytes at most."""
    params = " ".join(
        f'params {{ param_id: {i} value: "{bits(*v.to_bytes(4, "big"))}" }}' for i, v in enumerate(values, start=1)
    )
    return f"action {{ action_id: ${action} {params} }}"


def packet(kind: int = 0, key: int = 0, flow: int = 0, value: int = 0, other: int = 0) -> bytes:
    parts = ((kind, 1), (key, 2), (other, 2), (flow, 4), (value, 4), (0, 1))
    return b"".join(number.to_bytes(size, "big") for number, size in parts) + bytes(46)


def value_of(frame: bytes) -> int:
    return int.from_bytes(frame[9:13], "big")
