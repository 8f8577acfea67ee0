"""Making the connections of tcp ports: one thread for each port, which sleeps but for connecting and greeting.

The host sends the greeting first and nothing more until the switch has answered with the same bytes, so a stream that
begins with anything else, or with more, is not a peer's.
"""

from __future__ import annotations

import errno
import logging
import os
import select
import selectors
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from emulator.ports.errors import PortError
from emulator.ports.spec import PortSpec

log = logging.getLogger("netsum.ports")

GREETING = b"netsum frames \0\1"
"""Its last byte is the version."""
GREETING_S = 5.0
"""A connection without a greeting by then is closed."""
MOST_GREETING = 16
"""Connections that are greeting at a time; further ones are closed as unidentified."""
UNIDENTIFIED_BYTES = 1 << 16
"""Most bytes counted of what an unidentified connection has sent."""

LEAST_RETRY_S, MOST_RETRY_S = 0.02, 1.0
DEAD_MS = 10_000
"""A connection that is silent for this long while data is unacknowledged is closed."""

HandOver = Callable[[socket.socket], None]
Endpoint = tuple[int, Any]
"""Address family and socket address."""


def resolve_host(spec: PortSpec, endpoint: tuple[str, int]) -> Endpoint:
    """The first address of a name. Raises PortError."""
    try:
        found = socket.getaddrinfo(*endpoint, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise PortError(f"port {spec}: cannot find host {endpoint[0]!r}: {error.strerror}; check its name") from error
    return int(found[0][0]), found[0][4]


def open_listener(spec: PortSpec) -> socket.socket:
    """A listening socket at the local address. Raises PortError."""
    if spec.local is None:
        raise PortError(f"port {spec}: a tcp port needs a local address; write tcp:HOST:PORT")
    family, local = resolve_host(spec, spec.local)
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(local)
        listener.listen(MOST_GREETING)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise PortError(f"port {spec}: {_explain(error)}") from error
    return listener


def _explain(error: OSError) -> str:
    advice = {
        errno.EADDRINUSE: "its local TCP port is in use; choose another, 0 for any, or end the process that has it",
        errno.EADDRNOTAVAIL: "its local address is not one of this machine's; `ip address` lists them",
        errno.EACCES: "its local TCP port needs root; choose one above 1023",
    }
    return advice.get(error.errno or 0, f"{error.strerror}; check its addresses")


def prepare(connection: socket.socket) -> None:
    """Frames leave at once, and a dead peer is noticed."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, DEAD_MS // 2000)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_MS)
    connection.setblocking(False)


class Greeter:
    """A thread that can be asked to end."""

    def __init__(self, name: str) -> None:
        self._ending, self._end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the thread, and what it holds open."""
        os.write(self._end, b"\0")
        self._thread.join()
        os.close(self._ending)
        os.close(self._end)

    def _run(self) -> None:
        raise NotImplementedError

    def _sleep(self, seconds: float) -> bool:
        """Whether it was asked to end meanwhile."""
        return bool(select.select([self._ending], [], [], seconds)[0])


@dataclass(slots=True)
class _Greeting:
    deadline: float
    got: bytearray = field(default_factory=bytearray)


class SwitchGreeter(Greeter):
    """Accepts, hears the greeting, answers it and hands the connection over."""

    def __init__(self, listener: socket.socket, allowed: Endpoint | None, state: Any, hand_over: HandOver) -> None:
        """``allowed``: who alone may connect, from any port where its port is 0."""
        super().__init__("tcp-accept")
        self._listener = listener
        self._allowed = allowed[1][:2] if allowed is not None else None
        self._state = state
        self._hand_over = hand_over
        self._greetings: dict[socket.socket, _Greeting] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._ending, selectors.EVENT_READ)

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select(self._patience()):
                if key.fileobj == self._ending:
                    self._close_all()
                    return
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    assert isinstance(key.fileobj, socket.socket)
                    self._hear(key.fileobj)
            for connection in [c for c, g in self._greetings.items() if g.deadline <= time.monotonic()]:
                self._turn_away(connection)

    def _patience(self) -> float | None:
        if not self._greetings:
            return None
        return max(0.0, min(greeting.deadline for greeting in self._greetings.values()) - time.monotonic())

    def _accept(self) -> None:
        try:
            connection, address = self._listener.accept()
        except OSError:  # it is gone again, or descriptors are short: then it waits
            self._sleep(LEAST_RETRY_S)
            return
        connection.setblocking(False)
        self._greetings[connection] = _Greeting(time.monotonic() + GREETING_S)
        self._selector.register(connection, selectors.EVENT_READ)
        if not self._may_come(address[:2]) or len(self._greetings) > MOST_GREETING:
            self._turn_away(connection)

    def _may_come(self, address: tuple[str, int]) -> bool:
        return self._allowed is None or (address[0] == self._allowed[0] and self._allowed[1] in (0, address[1]))

    def _hear(self, connection: socket.socket) -> None:
        greeting = self._greetings[connection]
        try:
            data = connection.recv(UNIDENTIFIED_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        greeting.got += data
        if greeting.got == GREETING:
            self._forget(connection)
            try:
                prepare(connection)
                connection.sendall(GREETING)
            except OSError:
                connection.close()
                return
            self._hand_over(connection)
        elif not data or not GREETING.startswith(greeting.got):
            self._turn_away(connection)

    def _turn_away(self, connection: socket.socket) -> None:
        """Count an unidentified connection and what it has sent, and close it."""
        count = len(self._forget(connection).got)
        with suppress(OSError):
            count += len(connection.recv(UNIDENTIFIED_BYTES))
        connection.close()
        self._state["unidentified"] += 1
        self._state["unidentified_bytes"] += count

    def _forget(self, connection: socket.socket) -> _Greeting:
        self._selector.unregister(connection)
        return self._greetings.pop(connection)

    def _close_all(self) -> None:
        for connection in (*self._greetings, self._listener):
            connection.close()
        self._selector.close()


class HostGreeter(Greeter):
    """Connects, greets and hands over, and again whenever the connection has ended."""

    def __init__(self, spec: PortSpec, family: int, remote: Any, state: Any, hand_over: HandOver) -> None:
        super().__init__("tcp-connect")
        self._spec = spec
        self._family = family
        self._remote = remote
        self._state = state
        self._hand_over = hand_over

    def _run(self) -> None:
        retry_s = LEAST_RETRY_S
        logged = False
        while True:
            connection, problem = self._connect()
            if connection is not None:
                retry_s, logged = LEAST_RETRY_S, False
                watched = connection.dup()
                self._hand_over(connection)
                if self._ends_before(watched):
                    return
            elif not logged:
                logged = True
                log.info("port %s: %s; trying again", self._spec, problem)
            if self._sleep(retry_s):
                return
            retry_s = min(2 * retry_s, MOST_RETRY_S)

    def _connect(self) -> tuple[socket.socket | None, str]:
        """A greeted connection, or why there is none."""
        connection = socket.socket(self._family, socket.SOCK_STREAM)
        try:
            connection.settimeout(GREETING_S)
            if self._spec.local is not None:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                connection.bind(self._spec.local)
            connection.connect(self._remote)
            connection.sendall(GREETING)
            answer = b""
            while len(answer) < len(GREETING) and (data := connection.recv(len(GREETING) - len(answer))):
                answer += data
            if answer == GREETING:
                prepare(connection)
                return connection, ""
            self._state["unidentified"] += 1
            self._state["unidentified_bytes"] += len(answer)
            problem = "the peer is not a netsum switch" if answer else "the switch closed the connection"
        except OSError as error:
            problem = str(error)
        connection.close()
        return None, problem

    def _ends_before(self, watched: socket.socket) -> bool:
        """Wait for the connection's end; whether the thread was asked to end before."""
        with watched:
            poller = select.poll()
            poller.register(watched, select.POLLRDHUP)
            poller.register(self._ending, select.POLLIN)
            return any(descriptor == self._ending for descriptor, _ in poller.poll())
