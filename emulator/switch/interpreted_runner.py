"""The live loop for interpreted programs: the same turns as ``runner``'s, in Python, for looking into a program.

Slow by design (some hundred frames a second); the compiled loop is the one for work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from emulator.ports.batch import FrameBatch
from emulator.ports.cable.bell import Bell, bell_cancel, bell_prepare, bell_sleep
from emulator.ports.loop.runner import RunnerStatistics, packets_may_wait, serve_in_time
from emulator.ports.loop.turns import PER_PORT
from emulator.ports.port import SwitchPort, port_has_input
from emulator.switch.core import Switch

LOOK_AGAIN_S = 0.02
"""How often a loop over capture files looks for a program."""
LONG_TURN_NS = 20_000_000
"""The control plane waits for a turn: after a longer one the next takes half as many frames from each port."""


class InterpretedRunner:
    """Serves a switch's ports in the caller's thread; see ``runner.SwitchRunner``."""

    def __init__(self, switch: Switch, ports: Sequence[SwitchPort], bell: Bell) -> None:
        self.switch = switch
        self.ports = tuple(ports)
        self.bell = bell
        self._batch = FrameBatch(max(1, len(self.ports)) * PER_PORT)
        self._most = PER_PORT
        self._stopping = threading.Event()
        self._pauses, self._guard, self._undisturbed = 0, threading.Lock(), threading.Event()
        self._undisturbed.set()
        self._virtual = serve_in_time(self.ports)
        self._now_ns = 0
        self._turns = self._frames = self._sleeps = self._no_program = 0

    def run(self) -> None:
        """Serve until stop(), or the end of all capture files."""
        if self._virtual:
            self._wait_for_start()
        while not self._stopping.is_set():
            self._undisturbed.wait()  # the lock alone would go to this thread again, who is awake, nearly every time
            if self._turn():
                continue
            if not self._virtual:
                self._sleep()
            elif not self._advance():
                break
        for port in self.ports:
            port.settle()

    def _wait_for_start(self) -> None:
        """Until there is a program, and until the time the ports give the control plane has passed."""
        self._stopping.wait(max(port.spec.start_ns for port in self.ports) / 1e9)
        while self.switch.program is None and not self._stopping.wait(LOOK_AGAIN_S):
            pass

    def _advance(self) -> bool:
        """Move the files' time on to the next frame; whether there is one."""
        due = [timer for port in self.ports if (timer := port.next_timer_ns(self._now_ns)) is not None]
        self._now_ns = max(self._now_ns, min(due, default=0))
        return bool(due)

    def stop(self) -> None:
        """End run()."""
        self._stopping.set()
        self.bell.ring()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The switch between two batches."""
        with self._guard:
            self._pauses += 1
            self._undisturbed.clear()
        try:
            with self.switch.lock:
                yield
        finally:
            with self._guard:
                self._pauses -= 1
                if not self._pauses:
                    self._undisturbed.set()

    def packets_wait(self) -> bool:
        """See ``SwitchRunner``."""
        return packets_may_wait(self.ports)

    def now_ns(self) -> int:
        """See ``SwitchRunner``."""
        return self._now_ns if self._virtual else time.monotonic_ns()

    def statistics(self) -> RunnerStatistics:
        return RunnerStatistics(self._turns, self._frames, self._sleeps, self._no_program)

    def _turn(self) -> int:
        """One turn; how much was moved."""
        started_ns = time.monotonic_ns()
        now_ns = self._now_ns if self._virtual else started_ns
        with self.switch.lock:
            self._batch.clear()
            moved = sum(port.receive_into(self._batch, now_ns, self._most) for port in self.ports)
            if self._batch.count and self.switch.program is not None:
                self.switch.process(self._batch, now_ns)
                self._frames += self._batch.count
            else:
                self._no_program += self._batch.count
            for port in self.ports:
                port.release()
            moved += sum(port.flush(now_ns) for port in self.ports)
        self._turns += 1
        is_long = time.monotonic_ns() - started_ns > LONG_TURN_NS
        self._most = max(1, self._most // 2) if is_long else min(PER_PORT, 2 * self._most)
        return moved

    def _sleep(self) -> None:
        """Until there is input or a timer is due; ``bell`` tells why no wake-up is lost."""
        for port in self.ports:
            port.settle()
        now_ns = time.monotonic_ns()
        due = [timer for port in self.ports if (timer := port.next_timer_ns(now_ns)) is not None]
        wait_ns = max(0, min(due) - now_ns) if due else -1
        sequence = bell_prepare(self.bell.sleeper_address)
        if self._stopping.is_set() or any(port_has_input(port.address) for port in self.ports):
            bell_cancel(self.bell.sleeper_address)
            return
        self._sleeps += 1
        bell_sleep(self.bell.sleeper_address, sequence, wait_ns)
