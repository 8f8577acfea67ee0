"""Damaged, random and impolite P4Runtime against a live switch: it must answer with a canonical status and lose no
state. ``p4runtime_soak`` does it for long, and looks whether memory is lost.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import grpc

from emulator.p4runtime.server import MAX_MESSAGE_BYTES
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from tests.clients.p4runtime_scenario import Controller
from tests.labs.p4runtime_device import ALL_DEFAULTS, REPLICATION, WILDCARDS, running_entities

TIMEOUT_S = 30
CLIENTS = 50
METHODS = ("Write", "Read", "SetForwardingPipelineConfig", "GetForwardingPipelineConfig", "Capabilities")
STREAM = "StreamChannel"
BAD_CODES = {grpc.StatusCode.INTERNAL, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE}
"""Of a defect, a hang, or a server that is gone."""

HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HTTP2_SETTINGS = b"\0\0\0\4\0\0\0\0\0"

EXTREMES = (0, 1, 2, 7, 255, 511, 512, 65535, 1 << 31, (1 << 32) - 1, 0x02FFFFFF)

LARGEST_HALF = (1 << 64) - 1
"""Of an election id's 128 bits."""


class Fuzzer:
    """Makes messages that are nearly right: ids of the program, values at the borders, fields left out or doubled."""

    def __init__(self, seed: int, p4info: Any) -> None:
        self.random = random.Random(seed)
        kinds = (field for field in p4info.DESCRIPTOR.fields if field.is_repeated)
        items = [item for field in kinds for item in getattr(p4info, field.name)]
        self.ids = [item.preamble.id for item in items if hasattr(item, "preamble")] + [*range(6)]

    def fill(self, message: Any, depth: int = 0) -> Any:
        for field in message.DESCRIPTOR.fields:
            if self.random.random() > (0.8 if depth < 2 else 0.5):
                continue
            repeated = field.is_repeated
            for _ in range(self.random.choice((1, 1, 2, 3)) if repeated else 1):
                self._set(message, field, repeated, depth)
        return message

    def _set(self, message: Any, field: Any, repeated: bool, depth: int) -> None:
        if field.message_type is not None:
            if depth < 7 and field.message_type.full_name != "p4.config.v1.P4Info":
                target = getattr(message, field.name)
                self.fill(target.add() if repeated else target, depth + 1)
                if not repeated:
                    target.SetInParent()
            return
        value = self._value(field)
        if repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)

    def _value(self, field: Any) -> Any:
        if field.type == field.TYPE_BYTES:
            return self.random.randbytes(self.random.choice((0, 1, 1, 2, 2, 4, 40)))
        if field.type == field.TYPE_STRING:
            return self.random.choice(("", "x", "role"))
        if field.type == field.TYPE_BOOL:
            return self.random.random() < 0.3
        if field.enum_type is not None:
            return self.random.choice([*field.enum_type.values_by_number, 9])
        number = self.random.choice((*self.ids, *self.ids, *EXTREMES)) if "id" in field.name else self._number()
        signed = field.type in (field.TYPE_INT32, field.TYPE_INT64)
        return max(-(1 << 31), min(number, (1 << 31) - 1)) if signed else max(0, min(number, (1 << 32) - 1))

    def _number(self) -> int:
        return self.random.choice((*EXTREMES, -1, *range(10)))

    def update(self, request: Any) -> None:
        """One more update, of a kind of entity chosen by chance, all with the same probability."""
        update = request.updates.add(type=self.random.choice((1, 1, 1, 2, 2, 3, 0)))
        kinds = [field for field in update.entity.DESCRIPTOR.fields if field.message_type is not None]
        kind = self.random.choice(kinds)
        self.fill(getattr(update.entity, kind.name), 1)

    def damage(self, data: bytes) -> bytes:
        changed = bytearray(data or b"\x00")
        for _ in range(self.random.randint(1, 8)):
            place = self.random.randrange(len(changed))
            match self.random.randrange(4):
                case 0:
                    changed[place] = self.random.randrange(256)
                case 1:
                    changed[place] ^= 1 << self.random.randrange(8)
                case 2:
                    del changed[place : place + self.random.randint(1, 9)]
                case _:
                    changed[place:place] = self.random.randbytes(self.random.randint(1, 9))
            if not changed:
                return b""
        return bytes(changed)


class Attack:
    """One client's misbehaviour; counts the codes it is answered with."""

    one_oversized = threading.Lock()

    def __init__(self, address: str, seed: int, p4info: Any, codes: Counter[str]) -> None:
        self.address = address
        self.fuzzer = Fuzzer(seed, p4info)
        self.channel = grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        self.codes = codes

    def __enter__(self) -> Attack:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def one(self) -> None:
        often = (self.write, self.write, self.read, self.junk, self.stream)
        seldom = (self.vanish, self.break_in)
        chance = self.fuzzer.random.random()
        if chance < 0.002:
            self.oversized()
        else:
            self.fuzzer.random.choice(often if chance < 0.9 else seldom)()

    def write(self) -> None:
        request = p4rt.WriteRequest(atomicity=self.fuzzer.random.choice((0, 0, 1, 2, 3)))
        request.election_id.high = request.election_id.low = LARGEST_HALF
        for _ in range(self.fuzzer.random.randint(1, 30)):
            self.fuzzer.update(request)
        self.call("Write", self._maybe_damaged(request))

    def read(self) -> None:
        request = p4rt.ReadRequest()
        for _ in range(self.fuzzer.random.randint(1, 4)):
            self.fuzzer.fill(request.entities.add(), 1)
        self.call("Read", self._maybe_damaged(request))

    def junk(self) -> None:
        self.call(self.fuzzer.random.choice(METHODS), self.fuzzer.random.randbytes(self.fuzzer.random.randint(0, 200)))

    def _maybe_damaged(self, request: Any) -> bytes:
        data = bytes(request.SerializeToString())
        return self.fuzzer.damage(data) if self.fuzzer.random.random() < 0.3 else data

    def call(self, method: str, data: bytes) -> None:
        stub = self.channel.unary_stream(f"/p4.v1.P4Runtime/{method}", None, None)
        self._count(lambda: list(stub(data, timeout=TIMEOUT_S)))

    def stream(self) -> None:
        """A few messages, then an end, a cancellation, or nothing at all."""
        messages = [self._stream_message() for _ in range(self.fuzzer.random.randint(0, 5))]
        stub = self.channel.stream_stream(f"/p4.v1.P4Runtime/{STREAM}", None, None)
        call = stub(iter(messages), timeout=TIMEOUT_S)
        if self.fuzzer.random.random() < 0.5:
            call.cancel()
        else:
            self._count(lambda: list(call))

    def vanish(self) -> None:
        """The connection goes while a stream is open and a read is being answered, or not even asked for."""
        channel = grpc.insecure_channel(self.address, options=[("grpc.use_local_subchannel_pool", 1)])
        messages = iter([self._stream_message() for _ in range(self.fuzzer.random.randint(0, 3))])
        stream = channel.stream_stream(f"/p4.v1.P4Runtime/{STREAM}", None, None)(messages, timeout=TIMEOUT_S)
        request = p4rt.ReadRequest()
        request.entities.add().table_entry.SetInParent()
        reading = channel.unary_stream("/p4.v1.P4Runtime/Read", None, None)
        answers = reading(request.SerializeToString(), timeout=TIMEOUT_S)
        if self.fuzzer.random.random() < 0.5:
            self._count(lambda: next(answers, None))
        channel.close()
        del stream

    def break_in(self) -> None:
        """Bytes that are no HTTP/2, or the beginning of it; then the line is cut, without a goodbye."""
        host, _, port = self.address.rpartition(":")
        with socket.create_connection((host, int(port)), TIMEOUT_S) as line:
            begin = self.fuzzer.random.choice((b"", HTTP2_PREFACE, HTTP2_PREFACE + HTTP2_SETTINGS))
            line.sendall(begin + self.fuzzer.random.randbytes(self.fuzzer.random.choice((0, 9, 300))))
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def oversized(self) -> None:
        """More than a message may have; one client at a time, for the sake of this machine's memory."""
        with self.one_oversized:
            self.call(self.fuzzer.random.choice(METHODS), bytes(MAX_MESSAGE_BYTES + 1))

    def _stream_message(self) -> bytes:
        message = self.fuzzer.fill(p4rt.StreamMessageRequest(), 1)
        if message.HasField("arbitration"):  # the primary stays who it is, or the rest would be denied
            message.arbitration.election_id.Clear()
        return self._maybe_damaged(message)

    def _count(self, call: Callable[[], Any]) -> None:
        try:
            call()
            self.codes["OK"] += 1
        except grpc.RpcError as error:
            self.codes[error.code().name] += 1
            if error.code() in BAD_CODES:
                raise AssertionError(f"{error.code().name}: {error.details()}") from error


def everything(controller: Controller) -> list[bytes]:
    texts = (*(f"{kind} {{}}" for kind in WILDCARDS), *REPLICATION, ALL_DEFAULTS)
    return sorted(entity.SerializeToString() for entity in controller.read_texts(*texts))


def rebuilt(controller: Controller, found: list[bytes]) -> bool:
    """Whether all that is read can be read again: state that hangs together says the same twice."""
    return everything(controller) == found


def take_primacy(controller: Controller) -> None:
    """Damaged arbitrations may carry any election id but a larger one."""
    controller.arbitrate(LARGEST_HALF << 64 | LARGEST_HALF)


def attack(address: str, p4info: Any, seed: int, go_on: Callable[[int], bool], clients: int = CLIENTS) -> Counter[str]:
    """All clients at once, each as long as ``go_on`` says so of the number of its calls. Raises AssertionError where
    the switch misbehaved; else what was answered, by code."""
    codes: Counter[str] = Counter()
    failures: list[BaseException] = []

    def misbehave(number: int) -> None:
        try:
            with Attack(address, seed * 1000 + number, p4info, codes) as client:
                done = 0
                while go_on(done) and not failures:
                    client.one()
                    done += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=misbehave, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return codes


def fuzz(seed: int, rounds: int, clients: int = CLIENTS) -> dict[str, Any]:
    """So many calls of each client on a switch in this process. Raises AssertionError where it misbehaved."""
    with running_entities() as running:
        controller = Controller(running.server.address)
        take_primacy(controller)
        threads_before = threading.active_count()
        codes = attack(running.server.address, controller.p4info(), seed, lambda done: done < rounds, clients)
        assert rebuilt(controller, everything(controller)), "the state does not read the same twice"
        controller.write_texts()  # still the primary
        controller.close()
        left = threading.active_count() - threads_before
        running.check()
    return {"codes": dict(codes), "threads_left": left}
