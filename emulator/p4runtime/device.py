"""One P4Runtime device: every RPC's rules, without gRPC. Messages in, messages out; refusals are exceptions.

All requests are serialised by one lock, so that any two of them act as if one came after the other (P4Runtime,
"Parallelism of Read and Write Requests"), and a new primary is named only when its predecessor's write is done.
Compilation, which takes seconds, happens outside that lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from emulator.native.gc_pause import gc_paused
from emulator.p4runtime.batches import write_batch
from emulator.p4runtime.entities import registry
from emulator.p4runtime.errors import BatchError, Code, RequestError, invalid
from emulator.p4runtime.flavor import SPECIFICATION, Flavor
from emulator.p4runtime.pipeline.pipeline import Compiled, Config, Pipeline, Target, make_config
from emulator.p4runtime.stream.arbitration import MAX_STREAMS, Arbiter, Notification
from emulator.p4runtime.stream.notifications import Notifications
from emulator.p4runtime.stream.packet_io import frame_of, packet_in_of
from emulator.p4runtime.view import View
from emulator.ports.errors import PortError
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import ControlError

_ACTIONS = p4runtime_pb2.SetForwardingPipelineConfigRequest.Action
_RESPONSE_TYPES = p4runtime_pb2.GetForwardingPipelineConfigRequest.ResponseType

_RESPONSE_FIELDS = {
    _RESPONSE_TYPES.Value("ALL"): ("p4info", "p4_device_config", "cookie"),
    _RESPONSE_TYPES.Value("COOKIE_ONLY"): ("cookie",),
    _RESPONSE_TYPES.Value("P4INFO_AND_COOKIE"): ("p4info", "cookie"),
    _RESPONSE_TYPES.Value("DEVICE_CONFIG_AND_COOKIE"): ("p4_device_config", "cookie"),
}

ENTITIES_PER_RESPONSE = 512
"""A ReadResponse of table entries stays well under gRPC's usual 4 MiB."""


class Device:
    def __init__(
        self, device_id: int, target: Target, max_streams: int = MAX_STREAMS, flavor: Flavor = SPECIFICATION
    ) -> None:
        self.device_id = device_id
        self._flavor = flavor
        self._arbiter = Arbiter(device_id, max_streams, flavor)
        self._pipeline = Pipeline(target)
        self._target = target
        self._notifications: Notifications | None = None
        self._primaries: tuple[Hashable, ...] = ()
        """Primaries of all roles; replaced as a whole, so that packets need no lock."""
        self._lock = threading.Lock()
        self.may_notify = threading.Event()
        """Set while the configuration allows notifications."""
        self.send: Callable[[Hashable, Any], None] = lambda stream, message: None
        """Sends a StreamMessageResponse to a stream; may be called on any thread, and must not wait."""
        self._compiling = threading.Lock()

    # --- StreamChannel ------------------------------------------------------------------------------------------

    def arbitrate(self, stream: Hashable, message: Any) -> list[Notification]:
        """A MasterArbitrationUpdate from a stream. Raises RequestError when the stream must end."""
        role = message.role
        with self._lock:
            notifications = self._arbiter.update(
                stream,
                message.device_id,
                role.name,
                election_id_of(message),
                has_role_config=role.HasField("config"),
            )
            self._note_primaries()
        return notifications

    def disconnect(self, stream: Hashable) -> list[Notification]:
        with self._lock:
            notifications = self._arbiter.disconnect(stream)
            self._note_primaries()
        return notifications

    def _note_primaries(self) -> None:
        primaries = tuple(self._arbiter.primaries())
        if primaries != self._primaries and self._notifications is not None:
            self._notifications.forget_sent()
        self._primaries = primaries

    def packet_out(self, stream: Hashable, message: Any) -> None:
        """Raises RequestError; the stream lives on. Waits for no other request, and so does `packet_in`."""
        self._check_primary(stream)
        view = self._live_view()
        if self._target.packet_out is None:
            raise RequestError(
                Code.FAILED_PRECONDITION, "the switch has no port for controllers: start it with --cpu-port"
            )
        if view.translator is not None:
            message = view.translator.packet_out(message)
        frame = frame_of(view.schema.packet_header("packet_out"), message)
        try:
            has_room = self._target.packet_out(frame)
        except PortError as error:
            raise invalid(f"packet_out: {error}") from error
        if not has_room:
            raise RequestError(Code.RESOURCE_EXHAUSTED, "packets come faster than the switch takes them")

    def packet_in(self, frame: bytes) -> bool:
        """A frame that came out of the CPU port, to all primaries; whether it was long enough for its header."""
        view = self._pipeline.live_view
        if view is None:
            return False
        message = packet_in_of(view.schema.packet_header("packet_in"), frame)
        if message is not None:
            self._send_to_primaries(_outgoing(view, message))
        return message is not None

    def acknowledge(self, stream: Hashable, message: Any) -> None:
        """A DigestListAck. Raises RequestError; the stream lives on."""
        with self._lock:
            self._check_primary(stream)
            self._live_view()
            assert self._notifications is not None
            self._notifications.acknowledge(message.digest_id, message.list_id)

    def send_notifications(self) -> None:
        """Check watched ports, and send the digests and idle time-outs that are due; to be polled."""
        with self._lock:
            if self._notifications is not None:
                self._notifications.watch_ports()
            if self._notifications is not None and self._primaries:
                for message in self._notifications.collect():
                    self._send_to_primaries(_outgoing(self._notifications.view, message))
            self._update_may_notify()

    def _update_may_notify(self) -> None:
        """To be called after each change of program or entries."""
        view = self._pipeline.live_view
        if view is None:
            return
        if self._notifications is None or self._notifications.view is not view:
            self._notifications = Notifications(view, self._flavor)
        if self._notifications.is_needed:
            self.may_notify.set()
        else:
            self.may_notify.clear()

    def _send_to_primaries(self, message: Any) -> None:
        for stream in self._primaries:
            self.send(stream, message)

    def _check_primary(self, stream: Hashable) -> None:
        if stream not in self._primaries:
            raise RequestError(Code.PERMISSION_DENIED, "Not primary: only the primary controller may send this")

    def _live_view(self) -> View:
        view = self._pipeline.live_view
        if view is None:
            raise RequestError(Code.FAILED_PRECONDITION, "the switch has no program yet")
        return view

    # --- Write and Read -----------------------------------------------------------------------------------------

    def write(self, request: Any) -> None:
        """Raises RequestError when nothing was tried, BatchError when some updates failed."""
        with self._lock:
            self._check_may_write(request)
            view = self._view()
            errors = write_batch(view, request.updates, request.atomicity)
            self._update_may_notify()
        if any(errors):
            raise BatchError("update", errors)

    def read(self, request: Any) -> Iterator[Any]:
        """ReadResponses. Raises RequestError before the first, BatchError after the last."""
        self._check_device(request.device_id)
        found: list[Any] = []
        errors: list[RequestError | None] = []
        with self._lock, gc_paused():
            view = self._view()
            for entity in request.entities:
                errors.append(_read_into(found, view, entity))
        for start in range(0, len(found), ENTITIES_PER_RESPONSE):
            yield _response_of(found[start : start + ENTITIES_PER_RESPONSE])
        if any(errors):
            raise BatchError("request", errors)

    # --- Forwarding pipeline config -----------------------------------------------------------------------------

    def set_pipeline(self, request: Any) -> None:
        with self._lock:
            self._check_may_write(request)
        action = request.action
        if action == _ACTIONS.Value("COMMIT"):
            return self._commit_saved(request)
        if action not in _ACTIONS.values() or action == _ACTIONS.Value("UNSPECIFIED"):
            raise invalid(
                f"action {action} is none of VERIFY, VERIFY_AND_SAVE, VERIFY_AND_COMMIT, COMMIT, RECONCILE_..."
            )
        if not request.HasField("config"):
            raise invalid(f"{_ACTIONS.Name(action)} needs a config")
        with self._compiling:
            config = self._pipeline.verify(request.config)
        if action == _ACTIONS.Value("VERIFY"):
            return None
        with self._lock:
            self._check_may_write(request)  # compiling took a while
            self._apply(action, config)
        return None

    def _apply(self, action: int, config: Config) -> None:
        apply = {
            _ACTIONS.Value("VERIFY_AND_SAVE"): self._pipeline.save,
            _ACTIONS.Value("VERIFY_AND_COMMIT"): self._pipeline.commit,
            _ACTIONS.Value("RECONCILE_AND_COMMIT"): self._pipeline.reconcile_and_commit,
        }
        apply[action](config)
        self._update_may_notify()

    def _commit_saved(self, request: Any) -> None:
        if request.HasField("config"):
            raise invalid("COMMIT uses the config of VERIFY_AND_SAVE: leave out the config of this request")
        with self._lock:
            self._check_may_write(request)
            if not self._pipeline.has_saved:
                raise RequestError(Code.NOT_FOUND, "no config has been saved by VERIFY_AND_SAVE")
            self._pipeline.commit_saved()
            self._update_may_notify()

    def install(self, message: Any, compiled: Compiled) -> None:
        """Load a program without P4Runtime; ``message`` is the config that reads return for it."""
        with self._lock:
            self._pipeline.commit(make_config(message, compiled))
            self._update_may_notify()

    def get_pipeline(self, request: Any) -> Any:
        """The config that Read and Write refer to; an answer without one before there is any."""
        self._check_device(request.device_id)
        fields = _RESPONSE_FIELDS.get(request.response_type)
        if fields is None:
            raise invalid(f"response type {request.response_type} is not known")
        response = p4runtime_pb2.GetForwardingPipelineConfigResponse()
        with self._lock:
            config = self._pipeline.config
        if config is not None:
            response.config.SetInParent()
            for name in fields:
                _copy_field(config, response.config, name)
        return response

    # --- Checks, in the order the specification gives them --------------------------------------------------------

    def _check_device(self, device_id: int) -> None:
        if device_id != self.device_id:
            raise RequestError(
                Code.NOT_FOUND, f"there is no device {device_id}: this server has device {self.device_id}"
            )

    def _check_may_write(self, request: Any) -> None:
        self._check_device(request.device_id)
        self._arbiter.check_may_write(request.role, election_id_of(request))

    def _view(self) -> View:
        view = self._pipeline.view
        if view is None:
            raise RequestError(
                Code.FAILED_PRECONDITION,
                "no forwarding pipeline config is set for this device: call SetForwardingPipelineConfig first",
            )
        return view

    @contextmanager
    def live(self) -> Iterator[View]:
        """The running program, for changes that do not come by P4Runtime. Raises RequestError where there is none."""
        with self._lock:
            yield self._live_view()
            self._update_may_notify()

    def reset(self) -> None:
        """Load the running program again; nothing where there is none."""
        with self._lock:
            self._pipeline.restart()
            self._update_may_notify()

    def hold_still(self) -> AbstractContextManager[Any]:
        """Blocks every request while held."""
        return self._lock


def election_id_of(message: Any) -> int | None:
    """128 bits; None when unset, which differs from 0 ("Unset Election ID")."""
    if not message.HasField("election_id"):
        return None
    return (int(message.election_id.high) << 64) | int(message.election_id.low)


def _outgoing(view: View, response: Any) -> Any:
    return response if view.translator is None else view.translator.outgoing(response)


def _read_into(found: list[Any], view: View, entity: Any) -> RequestError | None:
    try:
        if view.translator is None:
            found.extend(registry.read_some_serialized(view, entity))
        else:
            found.extend(map(view.translator.answer, registry.read(view, view.translator.request(entity))))
    except RequestError as error:
        return error
    except ControlError as error:
        return RequestError(Code(int(error.code)), error.message)
    return None


def _response_of(registry: list[Any]) -> Any:
    response = p4runtime_pb2.ReadResponse()
    for entity in registry:
        if isinstance(entity, bytes):
            response.entities.add().ParseFromString(entity)
        else:
            response.entities.append(entity)
    return response


def _copy_field(source: Any, target: Any, name: str) -> None:
    if name == "p4_device_config":
        target.p4_device_config = source.p4_device_config
    elif source.HasField(name):
        getattr(target, name).CopyFrom(getattr(source, name))
