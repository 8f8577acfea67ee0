"""Notifications to controllers: digests, idle time-outs of entries, and what ports that go up or down change.

Polled from the live program alone (a saved one gets no packets) by the thread at the end of this file.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any, Protocol

from emulator.p4runtime.entities.p4data import fill_data
from emulator.p4runtime.entities.replication import choose_replicas_again
from emulator.p4runtime.entities.tables import find_entry
from emulator.p4runtime.entities.tables_read import fill_key
from emulator.p4runtime.flavor import SPECIFICATION, Flavor
from emulator.p4runtime.pipeline.schema import DigestSchema
from emulator.p4runtime.stream.digests import DigestBatch, DigestBuffer
from emulator.p4runtime.view import EntryKey, View
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import Code, ControlError

MOST_SAMPLES = 1024
"""Taken from the switch at a time: all that its queue holds."""
MOST_ENTRIES = 256
"""Entries in one IdleTimeoutNotification."""

PORT_CHECK_NS = 20_000_000

POLL_S = 0.005
"""How late a digest or notification may be."""

log = logging.getLogger(__name__)


class Notifications:
    """The notifications of one program; a new program has a new object. The caller holds the device's lock."""

    def __init__(self, view: View, flavor: Flavor = SPECIFICATION) -> None:
        self.view = view
        self._flavor = flavor
        self._buffers: dict[int, DigestBuffer] = {}
        self._next_port_check_ns = 0

    @property
    def is_needed(self) -> bool:
        """Whether the configuration allows any notification."""
        notes = self.view.notes
        return bool(notes.digests or notes.idle or notes.watches_ports)

    def watch_ports(self) -> None:
        """Update the switch's set of ports that are down, for watch ports and backup replicas."""
        now_ns = time.monotonic_ns()
        if not self.view.notes.watches_ports or now_ns < self._next_port_check_ns:
            return
        self._next_port_check_ns = now_ns + PORT_CHECK_NS
        down = self.view.ports_down()
        if down != self.view.notes.down:
            self.view.notes.down = down
            with self.view.access():
                self.view.control.set_ports_down(down)
                choose_replicas_again(self.view)

    def collect(self) -> list[Any]:
        """StreamMessageResponses that are due now."""
        return [*self._digest_lists(), *self._idle_notifications()]

    def acknowledge(self, digest_id: int, list_id: int) -> None:
        """INVALID_ARGUMENT for a digest that the program does not have."""
        self.view.schema.digest(digest_id)
        if digest_id in self._buffers:
            self._buffers[digest_id].acknowledge(list_id)

    def forget_sent(self) -> None:
        """For a new primary, which has received none of them."""
        for buffer in self._buffers.values():
            buffer.forget_all()

    # --- Digests ------------------------------------------------------------------------------------------------

    def _digest_lists(self) -> Iterator[Any]:
        configs, now_ns = self.view.notes.digests, time.monotonic_ns()
        for digest_id in self._buffers.keys() - configs.keys():
            del self._buffers[digest_id]
        for digest_id, config in configs.items():
            buffer = self._buffers.setdefault(digest_id, DigestBuffer(config, self._flavor.sweeps_digest_acks))
            buffer.config = config
            if self.view.control.has_digests(digest_id):
                with self.view.access():
                    samples = self.view.control.take_digests(digest_id, MOST_SAMPLES)
                buffer.add(samples, now_ns)
            for batch in buffer.take(now_ns):
                yield self._digest_list(self.view.schema.digest(digest_id), batch)

    def _digest_list(self, digest: DigestSchema, batch: DigestBatch) -> Any:
        response = p4runtime_pb2.StreamMessageResponse()
        message = response.digest
        message.digest_id, message.list_id, message.timestamp = digest.id, batch.list_id, time.time_ns()
        for sample in batch.samples:
            fill_data(message.data.add(), self.view.schema, digest.type_spec, iter(sample))
        return response

    # --- Idle time-outs -----------------------------------------------------------------------------------------

    def _idle_notifications(self) -> list[Any]:
        view = self.view
        now_ns = view.now_ns()
        due = list(view.notes.idle.take_due(now_ns))
        notifications: list[Any] = []
        for key in self.view.in_steps(key for key in due if self._is_idle(key, now_ns)):
            if not notifications or len(notifications[-1].idle_timeout_notification.table_entry) >= MOST_ENTRIES:
                notifications.append(p4runtime_pb2.StreamMessageResponse())
                notifications[-1].idle_timeout_notification.timestamp = time.time_ns()
            self._fill(notifications[-1].idle_timeout_notification.table_entry.add(), key)
        return notifications

    def _is_idle(self, key: EntryKey, now_ns: int) -> bool:
        """Also schedules the next check: a time-out after the last hit, or after this notification."""
        try:
            entry = find_entry(self.view, key)
        except ControlError as error:
            if error.code != Code.NOT_FOUND:
                raise
            self.view.notes.idle.forget(key)
            return False
        is_idle = now_ns - entry.last_hit_ns >= entry.idle_timeout_ns
        self.view.notes.idle.set(key, (now_ns if is_idle else entry.last_hit_ns) + entry.idle_timeout_ns)
        return is_idle

    def _fill(self, message: Any, key: EntryKey) -> None:
        entry = find_entry(self.view, key)
        fill_key(message, self.view.schema.table(key[0]), entry)
        message.idle_timeout_ns = entry.idle_timeout_ns
        if key in self.view.notes.entries:
            message.controller_metadata, message.metadata = self.view.notes.entries[key]


# --- The thread -------------------------------------------------------------------------------------------------


class Notifying(Protocol):
    """What the thread needs of the device."""

    may_notify: threading.Event

    def send_notifications(self) -> None: ...


class NotificationThread:
    """Sends digests and idle time-outs; sleeps while neither is configured."""

    def __init__(self, device: Notifying) -> None:
        self._device = device
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="netsum-notifications", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._device.may_notify.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _serve(self) -> None:
        while not self._stopping.is_set():
            self._device.may_notify.wait()
            try:
                self._device.send_notifications()
            except Exception:  # a defect of ours must not silence the switch for good
                log.exception("digests and idle time-outs could not be collected")
            self._stopping.wait(POLL_S)
