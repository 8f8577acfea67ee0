"""A run as a sequence of events: told in words, written on one line, and played again on live machines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hostagent.protocol.wire import Kind
from tests.explore.machines import (
    ALARM,
    BASE_BITS,
    DELIVER,
    FREEZE,
    INSTALL,
    REPEAT,
    RESTART,
    RESUME,
    Machine,
    header_of,
    make_machines,
)
from tests.explore.scenario import Scenario
from tests.explore.search import ARGUMENT_AT, DUPLICATED_AT, LOST_AT, MACHINE_AT

BEGIN = 15
LETTERS = {
    BEGIN: "begin",
    DELIVER: "deliver",
    ALARM: "alarm",
    REPEAT: "repeat",
    FREEZE: "freeze",
    RESUME: "resume",
    RESTART: "restart",
    INSTALL: "install",
}
Flying = tuple[int, int, bytes]
"""Machine and port that a frame is on its way to, and its bytes."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens to the network."""

    kind: int
    machine: int = 0
    """Of RESTART a bitmap of switches."""
    argument: int = 0
    lost: int = 0
    """Bitmap of the frames that are sent, in order: these are lost."""
    is_duplicated: bool = False
    frame: Flying = (0, 0, b"")
    """Of DELIVER."""

    @classmethod
    def begin(cls, lost: int) -> Event:
        return cls(BEGIN, lost=lost)

    @classmethod
    def unpacked(cls, what: int, frames: Sequence[Flying]) -> Event:
        """Of the search's number."""
        kind, argument = what & 15, (what >> ARGUMENT_AT) & ((1 << (LOST_AT - ARGUMENT_AT)) - 1)
        return cls(
            kind,
            (what >> MACHINE_AT) & ((1 << (ARGUMENT_AT - MACHINE_AT)) - 1),
            argument,
            (what >> LOST_AT) & ((1 << (DUPLICATED_AT - LOST_AT)) - 1),
            bool(what >> DUPLICATED_AT & 1),
            frames[argument] if kind == DELIVER else (0, 0, b""),
        )


class Player:
    """Live machines, never restored, on which events happen one after another."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.machines: list[Machine] = [*make_machines(scenario)]
        self.flying: list[Flying] = []
        """In the order of sending."""
        self.problem = ""
        self.lines: list[str] = []
        self.written: list[str] = []

    def play(self, event: Event) -> None:
        """Let an event happen."""
        if event.kind == BEGIN:
            sent = []
            for machine, each in enumerate(self.machines):
                step = each.first()
                sent += [(*self.scenario.cables[machine, port], frame) for port, frame in step.frames]
            self._note(event, "all workers send what they may", "", sent)
            return
        if event.kind == RESTART:
            chosen = [i for i in range(len(self.scenario.switches)) if event.machine >> i & 1]
            for switch in chosen:
                self._step(self.scenario.workers + switch, event)
            names = ", ".join(self.scenario.machine_name(self.scenario.workers + switch) for switch in chosen)
            self._note(event, f"{names} restarts: all state is lost", str(event.machine), [])
            return
        where = str(event.machine)
        if event.kind == DELIVER:
            place = self.flying.index(event.frame)
            where = str(place) + ("+" if event.is_duplicated else "")
            if not event.is_duplicated:
                del self.flying[place]
        elif event.argument or event.kind == REPEAT:
            where = f"{event.machine},{event.argument}"
        sent = self._step(event.machine, event)
        self._note(event, self._told(event), where, sent)

    def states(self) -> list[bytes]:
        """Of the machines."""
        return [machine.portable() for machine in self.machines]

    def _step(self, machine: int, event: Event) -> list[Flying]:
        step = self.machines[machine].act(event.kind, event.argument, event.frame[1:])
        self.problem = self.problem or step.view.problem
        cables = self.scenario.cables
        return [(*cables[machine, port], frame) for port, frame in step.frames if (machine, port) in cables]

    def _note(self, event: Event, text: str, where: str, sent: list[Flying]) -> None:
        self.lines.append(text)
        for number, frame in enumerate(sent):
            is_lost = event.lost >> number & 1
            self.lines.append(f"    sends {self.frame_text(frame)}{', which is LOST' if is_lost else ''}")
            if not is_lost:
                self.flying.append(frame)
        self.written.append(
            LETTERS[event.kind] + (f":{where}" if where else "") + (f"/{event.lost}" if event.lost else "")
        )

    def _told(self, event: Event) -> str:
        name = self.scenario.machine_name(event.machine)
        epoch, base = event.argument >> BASE_BITS, event.argument & ((1 << BASE_BITS) - 1)
        if event.kind == DELIVER:
            copy = ", and a DUPLICATE of it stays in flight" if event.is_duplicated else ""
            return f"{name} receives {self.frame_text(event.frame, with_end=False)}{copy}"
        if event.kind == ALARM:
            return f"{name}: its next timer runs out{', EARLY' if self.flying else ''}"
        if event.kind == REPEAT:
            return f"{name} sends chunk {event.argument} again, EARLY"
        if event.kind == FREEZE:
            return f"{name} is frozen"
        if event.kind == RESUME:
            return f"{name} is resumed in epoch {epoch} from chunk {base} on"
        return f"{name}: the job is installed in epoch {epoch} from chunk {base} on"

    def frame_text(self, flying: Flying, *, with_end: bool = True) -> str:
        """A frame in words."""
        header, scenario = header_of(flying[2]), self.scenario
        chunk = (header.chunk - scenario.base) % 2**32
        number = scenario.base + chunk
        slot, version = number % scenario.window, number // scenario.window % 2
        text = f"{Kind(header.kind).name} of chunk {chunk} (slot {slot}, set {version}), epoch {header.epoch}"
        text += f", child {header.child}"
        if header.kind == Kind.WAITING:
            text += f", bitmap {header.bitmap:b}"
        return text + (f" to {scenario.machine_name(flying[0])}" if with_end else "")

    def read(self, word: str) -> Event:
        """An event as ``written``."""
        found = re.fullmatch(r"([a-z]+)(?::(\d+)(?:,(\d+))?(\+)?)?(?:/(\d+))?", word)
        kinds = {name: kind for kind, name in LETTERS.items()}
        if found is None or found[1] not in kinds:
            raise ValueError(f"{word!r} is no event: write what the explorer has printed, such as deliver:0 or alarm:1")
        kind, first, lost = kinds[found[1]], int(found[2] or 0), int(found[5] or 0)
        if kind == DELIVER:
            if first >= len(self.flying):
                raise ValueError(f"{word!r}: {len(self.flying)} frames are in flight here")
            frame = self.flying[first]
            return Event(kind, frame[0], 0, lost, bool(found[4]), frame)
        return Event(kind, first, int(found[3] or 0), lost)


def tell(scenario: Scenario, events: Iterable[Event]) -> Player:
    """Play events; the player has them in words."""
    player = Player(scenario)
    for event in events:
        player.play(event)
    return player
