"""What a port is asked to be, as people write it: ``3=shm:job-3?delay=1ms&loss=0.3&seed=7``.

    N=shm:NAME                        a cable in shared memory to a host on this machine
    N=udp:HOST:PORT[,HOST:PORT]       one frame is one datagram; local address, remote address (learned if absent)
    N=tcp:HOST:PORT[,HOST:PORT]       frames in a stream; the switch listens at its local address, the host connects
                                      to its remote one (a switch's remote: who may connect; port 0: from any)
    N=if:NAME                         a network interface of this machine; needs the right to open packet sockets
    N=pcap:IN[,OUT]                   frames out of one capture file and into another (*.pcapng: in that format); either
                                      may be empty
    N=memory:NAME                     in this process only

The switch's number N is left out where a host names its end. Impairments follow a question mark: rate, delay, jitter,
loss, duplicate, reorder, reorder_by, corrupt, seed, queue, direction (in, out or both; as the switch sees it),
changeable (yes: they can be replaced while the port is open); and, for pcap, start (how long the control plane has
before the first frame). Times take ns, us, ms, s; rates bit, kbit, Mbit, Gbit; probabilities are fractions (0.3) or
per cent (30%)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import Enum

from emulator.ports.errors import PortError
from emulator.ports.units import RATE_UNITS_BPS, TIME_UNITS_NS, quantity

MAX_PORTS = 512
"""v1model's egress_spec has 9 bits."""

SHM_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,128}")
"""It becomes part of a file name in one folder, so no slash."""

INTERFACE_NAME = re.compile(r"[^/\s]{1,15}")
"""What the kernel takes."""

DEFAULT_QUEUE_FRAMES = 1000
"""As tc-netem's limit."""

DEFAULT_REORDER_BY_NS = 100_000

INHERITED = "NETSUM_SOCKETS"
"""Environment variable: comma-separated descriptors of UDP sockets that the parent process has bound. A udp port with
the address of one of them uses it, as it could not bind that address again."""


class PortKind(Enum):
    """How frames travel."""

    MEMORY = "memory"
    SHM = "shm"
    UDP = "udp"
    TCP = "tcp"
    INTERFACE = "if"
    PCAP = "pcap"


@dataclass(frozen=True, slots=True)
class Impairments:
    """What a link does to frames; the default does nothing. Probabilities are per frame and independent."""

    rate_bps: int = 0
    """Bits per second of the frames themselves; 0: unlimited."""
    delay_ns: int = 0
    jitter_ns: int = 0
    """Each frame takes up to this much longer, uniformly; frames never overtake each other because of it."""
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    """Probability that a frame is held back for up to reorder_by_ns, so that later ones overtake it."""
    reorder_by_ns: int = 0
    """0: as long as delay and jitter together, or 100 us without them."""
    corrupt: float = 0.0
    """Probability that one bit of a frame, any bit, is flipped."""
    seed: int = 0
    queue_frames: int = DEFAULT_QUEUE_FRAMES
    """Frames on the link at a time; more are dropped and counted."""
    is_changeable: bool = False
    """Whether `SwitchPort.impair` may replace them later. Until then they may do nothing, at the price of a copy."""

    @property
    def active(self) -> bool:
        """Whether the link does anything to a frame, or may later."""
        return self.is_changeable or any(
            (self.rate_bps, self.delay_ns, self.jitter_ns, self.loss, self.duplicate, self.reorder, self.corrupt)
        )

    @property
    def flips_bits(self) -> bool:
        """Whether frames can be damaged, now or later."""
        return self.corrupt > 0 or self.is_changeable


@dataclass(frozen=True, slots=True)
class PortSpec:
    """One end of a cable."""

    kind: PortKind
    number: int | None = None
    """The switch's port number; None where a host names its end."""
    name: str = ""
    """Name of a shm or memory port, or of an interface."""
    local: tuple[str, int] | None = None
    """Local address of a udp or tcp port."""
    remote: tuple[str, int] | None = None
    inbound: Impairments | None = None
    """Impairments of frames into the switch; None: none."""
    outbound: Impairments | None = None
    reads: str = ""
    """The capture file that a pcap port's frames come from; empty: none come."""
    writes: str = ""
    """The capture file that its frames go to; empty: they are dropped and counted."""
    start_ns: int = 0
    """Time from the start of the switch to the first frame of a pcap port, for the control plane to finish in."""

    def __str__(self) -> str:
        number = "" if self.number is None else f"{self.number}="
        return f"{number}{self.address_text}"

    @property
    def address_text(self) -> str:
        """``shm:NAME``, ``udp:LOCAL[,REMOTE]`` and so on, without number and impairments."""
        if self.kind is PortKind.PCAP:
            return f"pcap:{self.reads},{self.writes}"
        if self.kind not in (PortKind.UDP, PortKind.TCP):
            return f"{self.kind.value}:{self.name}"
        ends = [end for end in (self.local, self.remote) if end is not None]
        return f"{self.kind.value}:" + ",".join(
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in ends
        )


def parse_port(text: str, *, numbered: bool = True) -> PortSpec:
    """Read a port's text; ``numbered`` says whether ``N=`` must be there (a switch) or must not (a host).

    Raises PortError that quotes the part it does not understand.
    """
    body, _, tail = text.partition("?")
    number: int | None = None
    if numbered:
        number_text, equals, body = body.partition("=")
        if not equals:
            raise _error(text, f"no port number before {number_text!r}", "write N=KIND:ADDRESS, for example 1=shm:left")
        number = _number(text, number_text)
    kind_text, colon, address = body.partition(":")
    try:
        kind = PortKind(kind_text)
    except ValueError:
        raise _error(text, f"unknown kind {kind_text!r}", "use shm, udp, tcp, if, pcap or memory") from None
    if not colon or not address:
        raise _error(text, f"nothing after {kind_text!r}", "write KIND:ADDRESS")
    options, start_ns = _split_start(text, tail, kind)
    try:
        inbound, outbound = parse_impairments(options)
    except PortError as error:
        raise PortError(f"port {text!r}: {error}") from None
    if kind in (PortKind.UDP, PortKind.TCP):
        local, remote = _ends(text, address, kind)
        return PortSpec(kind, number, "", local, remote, inbound, outbound)
    if kind is PortKind.PCAP:
        reads, writes = _capture_files(text, address)
        return PortSpec(kind, number, inbound=inbound, outbound=outbound, reads=reads, writes=writes, start_ns=start_ns)
    if kind is PortKind.INTERFACE and not INTERFACE_NAME.fullmatch(address):
        raise _error(text, f"bad interface name {address!r}", "`ip link` lists this machine's")
    if kind is not PortKind.INTERFACE and not SHM_NAME.fullmatch(address):
        raise _error(text, f"bad name {address!r}", "use letters, digits and . _ + -, at most 128")
    return PortSpec(kind, number, address, None, None, inbound, outbound)


def parse_ports(texts: list[str]) -> list[PortSpec]:
    """Read the ports of one switch; no number and no address may come twice, no file be written that is read."""
    specs = [parse_port(text) for text in texts]
    numbers: dict[int | None, str] = {}
    addresses: dict[str, str] = {}
    read = {os.path.realpath(spec.reads) for spec in specs if spec.reads}
    for spec, text in zip(specs, texts, strict=True):
        own = _claim_of(spec)
        if spec.number in numbers:
            raise _error(
                text, f"port number {spec.number} is already {numbers[spec.number]!r}", "give each port another number"
            )
        if own in addresses and own:
            raise _error(text, f"its address is already {addresses[own]!r}", "give each port another address")
        if spec.writes and os.path.realpath(spec.writes) in read:
            raise _error(text, f"it would write {spec.writes!r}, which is read too", "write into another file")
        numbers[spec.number] = addresses[own] = text
    return specs


def _claim_of(spec: PortSpec) -> str:
    """What only one port can have; empty: nothing."""
    if spec.kind in (PortKind.UDP, PortKind.TCP):
        return f"{spec.kind.value}:{spec.local}" if spec.local and spec.local[1] else ""
    if spec.kind is PortKind.PCAP:
        return os.path.realpath(spec.writes) if spec.writes else ""
    return spec.address_text


def _error(text: str, problem: str, fix: str) -> PortError:
    return PortError(f"port {text!r}: {problem}; {fix}")


def _number(text: str, number_text: str) -> int:
    if not number_text.isascii() or not number_text.isdigit() or not 0 <= int(number_text) < MAX_PORTS:
        raise _error(text, f"bad port number {number_text!r}", f"use 0 to {MAX_PORTS - 1}")
    return int(number_text)


def _capture_files(text: str, address: str) -> tuple[str, str]:
    parts = address.split(",")
    if len(parts) > 2 or not any(parts):
        raise _error(text, f"{address!r} is not two files", "write pcap:IN.pcap,OUT.pcap; one of them may be empty")
    return parts[0], parts[1] if len(parts) == 2 else ""


def _split_start(text: str, tail: str, kind: PortKind) -> tuple[str, int]:
    """The impairments' part of what follows the question mark, and the value of ``start``."""
    items = tail.split("&")
    starts = [item.partition("=")[2] for item in items if item.partition("=")[0] == "start"]
    if starts and kind is not PortKind.PCAP:
        raise _error(text, "start is for pcap ports", "leave it out")
    rest = "&".join(item for item in items if item.partition("=")[0] != "start")
    try:
        return rest, _quantity("start", starts[-1], TIME_UNITS_NS, "a time such as 2s") if starts else 0
    except ValueError as error:
        raise PortError(f"port {text!r}: {error}") from None


def _ends(text: str, address: str, kind: PortKind) -> tuple[tuple[str, int], tuple[str, int] | None]:
    parts = address.split(",")
    if len(parts) > 2:
        raise _error(text, f"{len(parts)} addresses", f"write {kind.value}:LOCAL_HOST:PORT[,REMOTE_HOST:PORT]")
    local = _endpoint(text, parts[0])
    remote = _endpoint(text, parts[1]) if len(parts) == 2 else None
    if remote is not None and remote[1] == 0 and kind is PortKind.UDP:
        raise _error(text, f"remote port 0 in {parts[1]!r}", "name the port the other end is bound to")
    return local, remote


def _endpoint(text: str, endpoint: str) -> tuple[str, int]:
    host, colon, port = endpoint.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host:
        raise _error(text, f"{endpoint!r} is not HOST:PORT", "write for example 127.0.0.1:9001 or [::1]:9001")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise _error(text, f"bad port {port!r}", "use 0 (any) to 65535")
    return host, int(port)


OPTIONS = (
    "rate",
    "delay",
    "jitter",
    "loss",
    "duplicate",
    "reorder",
    "reorder_by",
    "corrupt",
    "seed",
    "queue",
    "direction",
    "changeable",
)


def parse_impairments(text: str) -> tuple[Impairments | None, Impairments | None]:
    """Read what follows a port's question mark, ``delay=1ms&loss=0.3&seed=7``: impairments of frames into the switch
    and out of it, each None where they do nothing. Raises PortError, which quotes the part that it does not
    understand."""
    values: dict[str, float | int] = {}
    direction = "both"
    for item in filter(None, text.split("&")):
        key, equals, value = item.partition("=")
        if key not in OPTIONS:
            raise PortError(f"unknown option {key!r}; the options are {', '.join(OPTIONS)}")
        if not equals or not value:
            raise PortError(f"{key!r} has no value; write {key}=VALUE")
        if key == "direction":
            if value not in ("in", "out", "both"):
                raise PortError(f"bad direction {value!r}; use in, out or both (as the switch sees it)")
            direction = value
            continue
        if key == "changeable":
            if value not in ("yes", "no"):
                raise PortError(f"bad changeable {value!r}; use yes or no")
            values["is_changeable"] = value == "yes"
            continue
        try:
            field, number = impairment(key, value)
        except ValueError as error:
            raise PortError(str(error)) from None
        values[field] = number
    chosen = Impairments(**values)  # type: ignore[arg-type]
    other: Impairments | None = None
    if chosen.is_changeable:
        other = Impairments(seed=chosen.seed, queue_frames=chosen.queue_frames, is_changeable=True)
    if not chosen.active:
        return None, None
    return chosen if direction != "out" else other, chosen if direction != "in" else other


def impairment(key: str, value: str) -> tuple[str, float | int]:
    """Field of `Impairments` and its value, of an option that is written ``key=value``. Raises ValueError."""
    if key == "rate":
        return "rate_bps", _quantity(key, value, RATE_UNITS_BPS, "a rate such as 100Mbit")
    if key in ("delay", "jitter", "reorder_by"):
        return f"{key}_ns", _quantity(key, value, TIME_UNITS_NS, "a time such as 1ms or 250us")
    if key in ("seed", "queue"):
        if not value.isascii() or not value.isdigit() or (key == "queue" and not 1 <= int(value) <= 1 << 16):
            wanted = "use a whole number" + (" from 1 to 65536" if key == "queue" else "")
            raise ValueError(f"bad {key} {value!r}; {wanted}")
        return ("queue_frames" if key == "queue" else key), int(value)
    return key, _probability(key, value)


def _quantity(key: str, value: str, units: dict[str, int], wanted: str) -> int:
    try:
        return quantity(value, units)
    except ValueError:
        raise ValueError(f"bad {key} {value!r}; give {wanted}, with one of the units {', '.join(units)}") from None


def _probability(key: str, value: str) -> float:
    match = re.fullmatch(r"(\d*\.?\d+)(%?)", value)
    probability = float(match[1]) / (100 if match[2] else 1) if match else 2.0
    if probability > 1.0:
        raise ValueError(f"bad {key} {value!r}; give a probability from 0 to 1, such as 0.3 or 30%")
    return probability
