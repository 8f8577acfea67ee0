"""The gRPC server in front of a device: P4Runtime's service, and one of ours for statistics.

Requests are parsed here and not by gRPC: bytes that are not a message become INVALID_ARGUMENT, and grpcio's own refusal
of one in a stream sometimes leaves a call behind that keeps the server from stopping (grpcio 1.85).

Threads: gRPC's pool runs the handlers. A StreamChannel keeps one of them as long as it lives, so streams are limited
below the pool's size, from their first moment on, and unary calls always find a thread.
"""

from __future__ import annotations

import errno
import itertools
import logging
import queue
import socket
import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.message import DecodeError

from emulator.p4runtime import grpc_status
from emulator.p4runtime.errors import BatchError, Code, RequestError, invalid
from emulator.p4runtime.stream.arbitration import MAX_STREAMS, Notification
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.rpc.tls import ServerTls, TlsError

if TYPE_CHECKING:  # the device is imported while the server listens already
    from emulator.p4runtime.device import Device
    from emulator.p4runtime.stream.notifications import NotificationThread

API_VERSION = "1.4.1"
"""The P4Runtime release that is implemented."""

MAX_MESSAGE_BYTES = 64 << 20
"""A package of source is at most 16 MiB; a batch of 100,000 table entries takes about 10."""

UNARY_THREADS = 8

MAX_WAITING = 4096
"""Packets, digests and notifications for one controller; those that find as many before them are lost."""

STOP_TIMEOUT_S = 2.0
NOT_STARTED = "the switch could not start; its log says why"

log = logging.getLogger(__name__)


class ServerError(Exception):
    """The server cannot start; the text is for the user."""


class P4RuntimeServer:
    """Serves one device until `stop`."""

    def __init__(
        self, device: Device | None, address: str, extra_handlers: tuple[Any, ...] = (), tls: ServerTls | None = None
    ) -> None:
        """Listens at once on ``HOST:PORT`` (port 0: any free one). Raises ServerError when that cannot be.

        Without a device calls wait for `serve`.
        """
        servicer = self._servicer = _Servicer()
        self._notification_thread: NotificationThread | None = None
        self._server = grpc.server(
            ThreadPoolExecutor(MAX_STREAMS + UNARY_THREADS, thread_name_prefix="netsum-p4runtime"),
            options=[
                ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),  # two switches on one address are a mistake, not load balancing
                # Keepalive pings detect a controller on a failed machine, which must not stay primary.
                ("grpc.keepalive_time_ms", 10_000),
                ("grpc.keepalive_timeout_ms", 5_000),
                ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
            ],
        )
        self._extra = _ExtraServices(servicer)
        self._server.add_generic_rpc_handlers((_service(servicer), self._extra))
        self.address = _bind(self._server, address, tls)
        if device is not None:
            self.serve(device, extra_handlers)
        self._server.start()

    def serve(self, device: Device, extra_handlers: tuple[Any, ...] = ()) -> None:
        """Set the device to serve. To be called once."""
        from emulator.p4runtime.stream.notifications import NotificationThread

        self._extra.handlers = extra_handlers
        device.send = self._servicer.send
        self._servicer.serve(device)
        self._notification_thread = NotificationThread(device)
        self._notification_thread.start()

    def stop(self, grace_s: float = 0.5, timeout_s: float = STOP_TIMEOUT_S) -> bool:
        """End all calls and streams, at once after ``grace_s``; whether they ended in time.

        They do not while a program is being compiled for one of them.
        """
        self._servicer.serve(None)
        if self._notification_thread is not None:
            self._notification_thread.stop()
        return bool(self._server.stop(grace_s).wait(timeout_s))


def check_address(address: str) -> None:
    """Raises ServerError where nobody can listen on ``HOST:PORT``; the text names the cause."""
    host, separator, port = address.rpartition(":")
    if not separator or not host or not port.isdigit() or int(port) > 65535:
        raise ServerError(f"{address!r} is not an address to listen on: write HOST:PORT, for example 127.0.0.1:9559")
    _try(address, host.strip("[]"), int(port))


def _bind(server: Any, address: str, tls: ServerTls | None) -> str:
    check_address(address)
    host = address.rpartition(":")[0]
    try:
        if tls is None:
            bound_port = server.add_insecure_port(address)
        else:
            bound_port = server.add_secure_port(address, tls.credentials())
    except TlsError as error:
        raise ServerError(f"TLS: {error}") from error
    except RuntimeError:
        if tls is not None:  # `_try` has shown that the address can be had
            files = f"{tls.certificate} and {tls.key}"
            raise ServerError(f"TLS: the certificate and the key cannot be used: {files}") from None
        raise ServerError(f"cannot listen on {address}: choose another address") from None
    return f"{host}:{bound_port}"


def _try(address: str, host: str, port: int) -> None:
    """Bind and close: the operating system names the cause of a failure, which gRPC only logs."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
            probe.listen()  # on Linux a listener with SO_REUSEPORT fails only here
    except socket.gaierror as error:
        raise ServerError(f"cannot listen on {address}: no host {host!r} ({error.strerror})") from None
    except OSError as error:
        hint = f"choose another address ({host}:0 takes any free port)"
        if error.errno == errno.EADDRINUSE:
            raise ServerError(f"cannot listen on {address}: another program has that port; {hint}") from None
        raise ServerError(f"cannot listen on {address}: {error.strerror}; {hint}") from None


def _service(servicer: _Servicer) -> Any:
    handlers = {
        "Write": _unary(servicer.write, p4runtime_pb2.WriteRequest),
        "Read": _unary_stream(servicer.read, p4runtime_pb2.ReadRequest),
        "SetForwardingPipelineConfig": _unary(servicer.set_pipeline, p4runtime_pb2.SetForwardingPipelineConfigRequest),
        "GetForwardingPipelineConfig": _unary(servicer.get_pipeline, p4runtime_pb2.GetForwardingPipelineConfigRequest),
        "Capabilities": _unary(servicer.capabilities, p4runtime_pb2.CapabilitiesRequest),
        "StreamChannel": grpc.stream_stream_rpc_method_handler(
            servicer.stream_channel, _parser(p4runtime_pb2.StreamMessageRequest), _serialize
        ),
    }
    return grpc.method_handlers_generic_handler("p4.v1.P4Runtime", handlers)


class _ExtraServices(grpc.GenericRpcHandler):  # type: ignore[misc]
    """The services in addition to P4Runtime, with unary calls only. Calls wait until the switch is ready."""

    def __init__(self, servicer: _Servicer) -> None:
        self.handlers: tuple[Any, ...] = ()
        self._servicer = servicer

    def service(self, details: Any) -> Any:
        if self._servicer.is_ready:
            return self._handler(details)

        def wait(request: bytes, context: Any) -> bytes:
            if not self._servicer.wait_until_ready():
                context.abort(grpc.StatusCode.UNAVAILABLE, NOT_STARTED)
            handler = self._handler(details)
            if handler is None:
                context.abort(grpc.StatusCode.UNIMPLEMENTED, f"no method {details.method}")
            answer = handler.unary_unary(handler.request_deserializer(request), context)
            return bytes(handler.response_serializer(answer))

        return grpc.unary_unary_rpc_method_handler(wait)

    def _handler(self, details: Any) -> Any:
        return next(filter(None, (each.service(details) for each in self.handlers)), None)


def _unary(handler: Callable[[Any], Any], request_type: Any) -> Any:
    """Turns refusals, and defects of ours, into gRPC statuses."""

    def handle(request: Any, context: Any) -> Any:
        try:
            return handler(_checked(request))
        except (RequestError, BatchError) as error:
            return grpc_status.abort(context, error)
        except Exception as error:
            return grpc_status.abort(context, _defect(error))

    return grpc.unary_unary_rpc_method_handler(handle, _parser(request_type), _serialize)


def _unary_stream(handler: Callable[[Any], Iterator[Any]], request_type: Any) -> Any:
    def handle(request: Any, context: Any) -> Iterator[Any]:
        try:
            yield from handler(_checked(request))
        except (RequestError, BatchError) as error:
            grpc_status.abort(context, error)
        except Exception as error:
            grpc_status.abort(context, _defect(error))

    return grpc.unary_stream_rpc_method_handler(handle, _parser(request_type), _serialize)


def _parser(message_type: Any) -> Callable[[bytes], Any]:
    """Bytes to a message, or to the RequestError that `_checked` raises inside the handler."""

    def parse(data: bytes) -> Any:
        try:
            return message_type.FromString(data)
        except DecodeError as error:
            return invalid(f"the request is not a {message_type.DESCRIPTOR.full_name}: {error}")

    return parse


def _checked(request: Any) -> Any:
    if isinstance(request, RequestError):
        raise request
    return request


def _serialize(message: Any) -> bytes:
    return bytes(message.SerializeToString())


def _defect(error: Exception) -> RequestError:
    log.exception("a P4Runtime call failed")
    return RequestError(Code.INTERNAL, f"a defect of the switch, please report it: {type(error).__name__}: {error}")


class _Servicer:
    def __init__(self) -> None:
        self._served: Device | None = None
        self._ready = threading.Event()
        self._streams: dict[int, _Stream] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count()

    def serve(self, device: Device | None) -> None:
        """Ends all waiting. None: there will be no device."""
        self._served = self._served or device
        self._ready.set()

    @property
    def is_ready(self) -> bool:
        return self._ready.is_set()

    def wait_until_ready(self) -> bool:
        """False where there will be no device."""
        self._ready.wait()
        return self._served is not None

    @property
    def _device(self) -> Device:
        """Waits for it. Raises RequestError where there will be none."""
        if not self.wait_until_ready() or self._served is None:
            raise RequestError(Code.UNAVAILABLE, NOT_STARTED)
        return self._served

    def write(self, request: Any) -> Any:
        self._device.write(request)
        return p4runtime_pb2.WriteResponse()

    def read(self, request: Any) -> Iterator[Any]:
        return self._device.read(request)

    def set_pipeline(self, request: Any) -> Any:
        self._device.set_pipeline(request)
        return p4runtime_pb2.SetForwardingPipelineConfigResponse()

    def get_pipeline(self, request: Any) -> Any:
        return self._device.get_pipeline(request)

    def capabilities(self, request: Any) -> Any:
        return p4runtime_pb2.CapabilitiesResponse(p4runtime_api_version=API_VERSION)

    # --- StreamChannel ------------------------------------------------------------------------------------------

    def stream_channel(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        stream = self._open()
        if stream is None:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{MAX_STREAMS} streams are open; no more are allowed")
            return
        try:
            if context.add_callback(stream.end):  # otherwise the call is over already
                name = f"netsum-stream-{stream.number}"
                threading.Thread(target=self._listen, args=(stream, requests), name=name, daemon=True).start()
                yield from stream.answers()
            if stream.error is not None:
                grpc_status.abort(context, stream.error)
        finally:
            self._close(stream)

    def _open(self) -> _Stream | None:
        with self._lock:
            if len(self._streams) >= MAX_STREAMS:
                return None
            stream = _Stream(next(self._numbers))
            self._streams[stream.number] = stream
        return stream

    def _close(self, stream: _Stream) -> None:
        """However it ended, the device learns of it, and through it the other controllers."""
        with self._lock:
            del self._streams[stream.number]
            if self._served is not None:
                self._notify(self._served.disconnect(stream.number))

    def _listen(self, stream: _Stream, requests: Iterator[Any]) -> None:
        """Loop of a thread per stream: handle its messages until it ends."""
        try:
            for request in requests:
                self._handle(stream, _checked(request))
        except RequestError as error:
            stream.end(error)
        except grpc.RpcError:
            stream.end()  # cancelled, or the connection broke
        except Exception as error:
            # grpc raises a bare Exception from the iterator of a call that is over.
            stream.end(None if stream.ended else _defect(error))
        else:
            stream.end()

    def _handle(self, stream: _Stream, request: Any) -> None:
        kind = request.WhichOneof("update")
        if kind == "arbitration":
            with self._lock:  # notifications are sent in the order of the changes
                if stream.number in self._streams:
                    self._notify(self._device.arbitrate(stream.number, request.arbitration))
            return
        try:
            self._carry_out(stream, kind, request)
        except RequestError as error:
            stream.send(_stream_error(kind, request, error))

    def _carry_out(self, stream: _Stream, kind: str | None, request: Any) -> None:
        if kind == "packet":
            self._device.packet_out(stream.number, request.packet)
        elif kind == "digest_ack":
            self._device.acknowledge(stream.number, request.digest_ack)
        elif kind is None:
            raise invalid("the message is empty, or of a kind this version of P4Runtime does not know")
        else:
            raise RequestError(Code.UNIMPLEMENTED, f"{kind} is not supported: v1model has no such messages")

    def send(self, number: Hashable, response: Any) -> None:
        """Send to a stream that may have ended. Never waits: a controller that does not listen loses messages."""
        stream = self._streams.get(number)  # type: ignore[call-overload]
        if stream is not None:
            stream.offer(response)

    def _notify(self, notifications: list[Notification]) -> None:
        for notification in notifications:
            target = self._streams.get(notification.stream)  # type: ignore[call-overload]
            if target is not None:
                target.send(_arbitration_message(self._device.device_id, notification))


class _Stream:
    """One open StreamChannel: a queue of answers that its generator drains."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.error: RequestError | None = None
        self.ended = False
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def send(self, response: Any) -> None:
        self._queue.put(response)

    def offer(self, response: Any) -> None:
        """Unless too much is waiting already."""
        if self._queue.qsize() < MAX_WAITING:
            self._queue.put(response)

    def end(self, error: RequestError | None = None) -> None:
        if not self.ended:
            self.error = error
            self.ended = True
        self._queue.put(None)

    def answers(self) -> Iterator[Any]:
        while (response := self._queue.get()) is not None:
            yield response


def _arbitration_message(device_id: int, notification: Notification) -> Any:
    response = p4runtime_pb2.StreamMessageResponse()
    update = response.arbitration
    update.device_id = device_id
    if notification.role:
        update.role.name = notification.role
    if notification.election_id is not None:
        update.election_id.high = notification.election_id >> 64
        update.election_id.low = notification.election_id & ((1 << 64) - 1)
    update.status.code = int(notification.code)
    update.status.message = notification.message
    return response


def _stream_error(kind: str | None, request: Any, reason: RequestError) -> Any:
    """P4Runtime, "Stream Error Reporting"."""
    response = p4runtime_pb2.StreamMessageResponse()
    error = response.error
    error.canonical_code = int(reason.code)
    error.message = grpc_status.shorten(reason.message, grpc_status.MAX_TEXT_BYTES)
    if kind == "packet":
        error.packet_out.packet_out.CopyFrom(request.packet)
    elif kind == "digest_ack":
        error.digest_list_ack.digest_list_ack.CopyFrom(request.digest_ack)
    else:
        error.other.SetInParent()
    return response
