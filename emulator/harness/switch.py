"""The switch that a test holds in its hands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from emulator.harness.catalogue import PACKET_IN, PACKET_OUT
from emulator.harness.errors import ExpectationFailed, NotSupported, WrongTest
from emulator.harness.externs import Counter, MeterArray, Register
from emulator.harness.failures import other_packet, unexpected_packets, unmet
from emulator.harness.packet_history import PacketHistory, test_place
from emulator.harness.packets import Expected, Ignored, Packet, content_of, expected, names_headers
from emulator.harness.profiles import Profile
from emulator.harness.tables import Table
from emulator.harness.target import Received, Target, Testbed
from emulator.harness.values import duration_ns, number
from emulator.harness.walk.text import shown_path
from emulator.switch.control import CloneSession, ValueSetMember
from emulator.v1model.control_view import TupleView

MOST_DIGESTS = 1 << 16
PORT_BITS = 9


class P4Switch:
    """A switch that runs a P4 program: send packets, expect packets, fill tables, read state.

    Names are control-plane names or their ends (``routes`` for ``MyIngress.routes``). Values are numbers or text:
    ``"10.0.0.1"``, ``"02:00:00:00:00:01"``, ``"2001:db8::1"``, ``"0x0800"``.
    """

    def __init__(self, target: Target, testbed: Testbed, history: PacketHistory, program: str) -> None:
        self._target = target
        self._program = program
        self._testbed = testbed
        self._history = history
        self._profiles: dict[int, Profile] = {}

    def __repr__(self) -> str:
        return f"<P4Switch {self.name}: {shown_path(self._program)}>"

    @property
    def name(self) -> str:
        return self._target.name

    # --- Packets ----------------------------------------------------------------------------------------------------

    def send(self, port: int, packet: Packet) -> None:
        """A packet into the switch: of scapy, bytes, or hex digits. All that it leads to at once has happened after."""
        self._check_port(port)
        origin = self._history.note(self.name, port, test_place())
        self._target.send(port, content_of(packet), origin)

    def expect(
        self,
        port: int,
        packet: Packet,
        *,
        ignore: Iterable[Ignored] | Ignored = (),
        mask: bytes | str | int | None = None,
        prefix: bool = False,
        any_order: bool = False,
        within: str | int | None = None,
    ) -> Received:
        """The oldest packet that left by the port and was not looked at yet is this one; time goes on until it comes.

        ``ignore`` names what does not count: ``"IP.id"``, ``"UDP"``, ``"hdr.ipv4.ttl"``, ``range(0, 6)`` (bytes);
        ``mask`` has ones where bits count; hex text may have ``*`` for any digit; with ``prefix`` more may follow;
        ``any_order``: any packet of the port. ``within`` bounds the time (``"5ms"``). Raises `ExpectationFailed`.
        """
        self._check_port(port)
        self._testbed.wait(lambda: bool(self._waiting(port)), None if within is None else duration_ns(within))
        waiting = self._waiting(port)
        ignored = _listed(ignore)
        if not waiting:
            raise ExpectationFailed(unmet(self._view(), port, expected(packet, mask=mask, prefix=prefix), within))
        for received in waiting if any_order else waiting[:1]:
            wanted = self._expected(packet, received, ignored, mask, prefix)
            if wanted.matches(received.content):
                self._testbed.arrived.remove(received)
                return received
        wanted = self._expected(packet, waiting[0], ignored, mask, prefix)
        raise ExpectationFailed(other_packet(self._view(), wanted, waiting))

    def expect_no_other(self, *ports: int) -> None:
        """Nothing else left (by these ports, if given) nor will, as things stand. Raises `ExpectationFailed`."""
        self._testbed.settle()
        others = [r for r in self._mine() if not ports or r.port in ports]
        if others:
            raise ExpectationFailed(unexpected_packets(self._view(), others))

    def receive(self, port: int | None = None, *, within: str | int | None = None) -> Received:
        """The oldest packet of the port (or of any port), whatever it is; its ``port`` says where it came out."""
        if port is not None:
            self._check_port(port)
        self._testbed.wait(lambda: bool(self._waiting(port)), None if within is None else duration_ns(within))
        waiting = self._waiting(port)
        if not waiting:
            raise ExpectationFailed(unmet(self._view(), port, None, within))
        self._testbed.arrived.remove(waiting[0])
        return waiting[0]

    def packet_out(self, cpu_port: int, packet: Packet, /, **fields: Any) -> None:
        """A packet from the controller: in by its port, behind the header ``packet_out`` with these fields."""
        header = self._target.catalogue.controller_header(PACKET_OUT)
        self.send(cpu_port, header.content(fields) + content_of(packet))

    def expect_packet_in(self, cpu_port: int, packet: Packet, /, **fields: Any) -> Received:
        """The oldest packet to the controller is this one, behind the header ``packet_in`` with these fields."""
        header = self._target.catalogue.controller_header(PACKET_IN)
        return self.expect(cpu_port, header.content(fields) + content_of(packet))

    def walk(self) -> str:
        """The walk of the packet sent last, as text."""
        return "\n".join(self._view().walk_lines(most=None))

    def _view(self) -> Any:
        return self._history.view(self._target, self._testbed)

    def _mine(self) -> list[Received]:
        return [r for r in self._testbed.arrived if r.switch == self.name]

    def _waiting(self, port: int | None) -> list[Received]:
        return [r for r in self._mine() if port is None or r.port == port]

    def _expected(self, packet: Packet, received: Received, ignore: list[Ignored], mask: Any, prefix: bool) -> Expected:
        left = self._target.left(received) if ignore and names_headers(ignore, packet) else None
        headers = left.headers if left is not None else ()
        return expected(packet, ignore=ignore, mask=mask, prefix=prefix, headers=headers)

    def _check_port(self, port: int) -> None:
        number("a port", port, PORT_BITS)
        if port not in self._target.ports:
            ports = self._target.ports
            raise NotSupported(f"on this target a test has the ports {ports[0]} .. {ports[-1]}, not {port}")

    # --- Time -------------------------------------------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        return self._testbed.now_ns

    def advance(self, duration: str | int) -> None:
        """Let (virtual) time go on: ``"5ms"``, or nanoseconds."""
        self._testbed.advance(duration_ns(duration))

    def ports_down(self, *ports: int) -> None:
        """These ports, and no others, are down: groups leave out members that watch them."""
        self._target.control.set_ports_down(frozenset(ports))

    # --- State ------------------------------------------------------------------------------------------------------

    def table(self, name: str) -> Table:
        view = self._target.catalogue.table(name)
        return Table(view, self._target.control, self._target.catalogue, lambda: self.now_ns)

    def register(self, name: str) -> Register:
        return Register(self._target.catalogue.array("register", name), self._target.control)

    def counter(self, name: str) -> Counter:
        return Counter(self._target.catalogue.array("counter", name), self._target.control)

    def meter(self, name: str) -> MeterArray:
        return MeterArray(self._target.catalogue.array("meter", name), self._target.control)

    def profile(self, name: str) -> Profile:
        """An action profile or selector."""
        view = self._target.catalogue.profile(name)
        made = Profile(view, self._target.control, self._target.catalogue)
        return self._profiles.setdefault(view.id, made)

    def value_set(self, name: str, members: Iterable[Any]) -> None:
        """The parser value set holds these: values, or dicts by field."""
        view = self._target.catalogue.value_set(name)
        chosen = [ValueSetMember(self._set_member(view, m)) for m in members]
        self._target.control.set_value_set(view.id, chosen)

    def _set_member(self, view: TupleView, member: Any) -> tuple[int, ...]:
        fields = self._target.catalogue.fields.get(view.id, ())
        if not isinstance(member, dict):
            member = dict(zip(fields, member if isinstance(member, tuple) else (member,), strict=False))
        if set(member) != set(fields):
            raise WrongTest(f"a member of value set {view.name} has {', '.join(fields)}, not {', '.join(member)}")
        widths = zip(fields, view.widths_bits, strict=True)
        return tuple(number(f"value set {view.name}, {f or 'its value'}", member[f], w) for f, w in widths)

    def multicast(self, group: int, ports: Iterable[int | tuple[int, int]]) -> None:
        """The group's copies go to these ports, or (port, replication id)."""
        replicas = _replicas(ports)
        control = self._target.control
        if group in control.multicast_groups():
            control.modify_multicast_group(group, replicas)
        else:
            control.insert_multicast_group(group, replicas)

    def clone_session(self, session: int, ports: Iterable[int | tuple[int, int]] | int, *, truncate: int = 0) -> None:
        """The session's clones go to these ports, cut to ``truncate`` bytes unless that is 0."""
        replicas = _replicas([ports] if isinstance(ports, int) else ports)
        self._target.control.set_clone_session(CloneSession(session, replicas, truncate))

    def digests(self, name: str) -> list[dict[str, int]]:
        """Samples not taken yet, oldest first, by field (numbered where the type has no names)."""
        view = self._target.catalogue.digest(name)
        samples = self._target.control.take_digests(view.id, MOST_DIGESTS)
        names = self._target.catalogue.sample_fields.get(view.id) or ()
        if len(names) != len(view.widths_bits):
            names = tuple(map(str, range(len(view.widths_bits))))
        return [dict(zip(names, sample, strict=True)) for sample in samples]

    def messages(self) -> list[str]:
        """What the program said with log_msg since the last time."""
        return self._target.messages()

    @property
    def counts(self) -> Mapping[str, int]:
        """Packets the switch dropped, and things without effect, by reason; those that happened."""
        return self._target.counts()


def _listed(ignore: Iterable[Ignored] | Ignored) -> list[Ignored]:
    return [ignore] if isinstance(ignore, str | range | slice) else list(ignore)


def _replicas(ports: Iterable[int | tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    pairs = (p if isinstance(p, tuple) else (p, 0) for p in ports)
    return tuple((number("a port", port, PORT_BITS), rid) for port, rid in pairs)
