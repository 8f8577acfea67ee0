"""A job of a service: operations on a rack server's keys, with torch's memory and torch's errors."""

from __future__ import annotations

import itertools
import os
import secrets
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

import torch.distributed as dist
from torch import Tensor

from hostagent.protocol.operation import NOTHING, Operation, Span, served_operation
from hostagent.protocol.served import Action, Announcement, Answer, Hyperparameters, ServedFlag
from hostagent.protocol.services.aggregator import ServiceTerms
from hostagent.torch_backend.creation import agree_on_name, controller_address
from hostagent.torch_backend.errors import RefusedError, as_torch_error
from hostagent.torch_backend.rack.layout import KeyLayout
from hostagent.torch_backend.rack.rendezvous import Rendezvous
from hostagent.torch_backend.tensors import dtype_name
from hostagent.transport.channel import Channel
from hostagent.transport.errors import TransportError

SERVICE_VARIABLE = "NETSUM_SERVICE"
"""``NAME`` or ``NAME:NONCE``: the default service of a RackOptimizer."""


@dataclass(frozen=True, slots=True)
class RackService:
    """A service of the rack server: its namespace, and the secret for access.

    The first job of a namespace creates the service and sets its nonce. Weights, state and the number of the last
    completed step outlive jobs; a job with the same name and nonce continues from there.
    """

    name: str
    nonce: str = ""
    weight: int = 1
    """Share of the server's cores against other services."""
    quota_bytes: int = 0
    """Memory it may use; 0: the server's limit only."""
    workers: int = 0
    """Maximum number of ranks of its jobs from now on; 0: as declared before, or the number of its first job. Weights
    and state do not depend on it. For services declared with ``--services`` the file determines it."""

    def __post_init__(self) -> None:
        """Raises RefusedError for negative numbers."""
        for name in ("weight", "quota_bytes", "workers"):
            if getattr(self, name) < 0:
                raise RefusedError(f"netsum's RackService: {name}={getattr(self, name)}; use 0 or more")


@dataclass(slots=True)
class Ticket:
    """An operation in flight."""

    number: int
    operation: Operation

    @property
    def answer(self) -> Answer:
        """The server's, once the operation has finished."""
        assert self.operation.served is not None, "every operation of a RackClient is a served one"
        return self.operation.served.answer

    @property
    def not_finite(self) -> int:
        """How many of its chunks had a NaN or an infinity on some rank, once it has finished."""
        assert self.operation.served is not None, "every operation of a RackClient is a served one"
        return self.operation.served.not_finite


class RackClient:
    """This rank's end of a job of the service; a new one after every failure."""

    def __init__(
        self,
        rank: int,
        size: int,
        service: RackService,
        timeout_s: float,
        join: Callable[[], Channel],
        rendezvous: Rendezvous | None = None,
    ) -> None:
        """Joins at once; see ``connect``. ``rendezvous``: of the ranks, where there are others."""
        self.rank, self.size, self.service, self.timeout_s = rank, size, service, timeout_s
        self._join, self._rendezvous = join, rendezvous
        self.has_failed = False
        """An operation has failed; ``rejoin`` joins a new job."""
        self._channel = join()

    def rejoin(self) -> None:
        """Leave the job, failed or not, and join a new one of the same service; all ranks must. Raises NetsumError,
        naming a rank that will not, as it has closed its own or ended."""
        self._channel.close()
        if self._rendezvous is not None:
            self._rendezvous.gather(self.timeout_s)
        self._channel = self._join()
        self.has_failed = False

    def close(self) -> None:
        """Leave the job; the service stays."""
        if _held.get(self.service.name) is self:
            del _held[self.service.name]
        if self._rendezvous is not None:
            self._rendezvous.leave()
        self._channel.close()

    def submit(self, announcement: Announcement, source: Tensor | None = None, target: Tensor | None = None) -> Ticket:
        """Start an operation. ``source`` and ``target`` are dense tensors of the key's elements, of one type."""
        memory = target if target is not None else source
        spans = [
            NOTHING if tensor is None else Span(tensor.data_ptr(), 0, tensor.numel()) for tensor in (source, target)
        ]
        dtype, element_bytes = ("float32", 4) if memory is None else (dtype_name(memory), memory.element_size())
        operation = served_operation(announcement, dtype, element_bytes, spans[0], spans[1], (source, target))
        try:
            number = self._channel.submit(operation)
        except TransportError as error:
            raise as_torch_error(error, self._describe(operation)) from None
        return Ticket(number, operation)

    def wait(self, ticket: Ticket) -> Answer:
        """Block until an operation has finished; raises NetsumError, naming who or what is lost."""
        failure = None
        if not self._channel.wait(ticket.number, self.timeout_s):
            failure = self._channel.expire(ticket.number, self.timeout_s)
        failure = failure or self._channel.failure(ticket.number)
        if failure is not None:
            self.has_failed = True
            raise as_torch_error(failure, self._describe(ticket.operation)) from None
        return ticket.answer

    def _describe(self, operation: Operation) -> str:
        return f"service {self.service.name!r}, {operation.describe()}"

    def query(self, layout: KeyLayout, age: int = 0) -> Answer:
        """The server's answer for a key; with several racks, the answer of servers of that age."""
        return self._check_conflict(
            self.wait(self.submit(Announcement(Action.QUERY, layout.key, layout.elements, age=age)))
        )

    def agree(self, layout: KeyLayout) -> Answer:
        """As ``query``; the first operation of a job. Servers of several racks agree on the last completed step; if
        they cannot, the answer's ``newest`` is not 0, and the caller calls ``resynchronize``."""
        terms = Hyperparameters(flags=int(ServedFlag.AGREE))
        return self._check_conflict(
            self.wait(self.submit(Announcement(Action.QUERY, layout.key, layout.elements, terms=terms)))
        )

    def resynchronize(self, layouts: Sequence[KeyLayout], age: int) -> None:
        """Write all keys of the rack servers of that age, weights and optimizer state, to the servers that are behind.

        Collective. The data go from server to server; the ranks only announce which. A server that is behind keeps what
        it has until the last key has arrived: if this is interrupted the next job starts over, or continues from the
        newest server that is left. Raises NetsumError; RefusedError if a server holds another training.
        """
        newest = self.query(layouts[-1], age)
        self.check_alike(layouts[-1], newest, len(layouts))
        lineage = Hyperparameters(flags=int(ServedFlag.LINEAGE), rescale=0.0)
        last = layouts[-1]
        self.wait(self.submit(Announcement(Action.QUERY, last.key, last.elements, terms=lineage, age=age)))
        for layout in layouts:
            held = self.query(layout, age)
            for buffer in range(1 + held.state_tensors):
                flags = ServedFlag.SHARE
                if layout is layouts[0] and buffer == 0:
                    flags |= ServedFlag.ANEW
                if layout is not last or buffer < held.state_tensors:
                    flags |= ServedFlag.MORE
                write = Announcement(
                    Action.WRITE,
                    layout.key,
                    layout.elements,
                    buffer=buffer,
                    step=held.step,
                    keys=len(layouts),
                    updates=held.updates,
                    terms=Hyperparameters(flags=int(flags)),
                    age=age,
                )
                self.wait(self.submit(write))

    def _check_conflict(self, answer: Answer) -> Answer:
        """Refuse racks of different trainings."""
        if answer.conflicting_racks is not None:
            one, other = sorted(answer.conflicting_racks)
            raise RefusedError(
                f"netsum: service {self.service.name!r}: the servers of racks {one} and {other} hold different "
                "trainings, perhaps from the checkpoint of another run, or from a copy that was trained separately. "
                "Nothing has been changed. Restart the server with the wrong one without its checkpoint of this "
                "service (move that file away): it then gets the other's weights. Or use another service"
            )
        return answer

    def check_alike(self, layout: KeyLayout, answer: Answer, keys: int) -> None:
        """Refuse another model's service."""
        if answer.keys != keys or answer.elements != layout.elements:
            raise RefusedError(
                f"netsum: service {self.service.name!r} holds another model: {answer.keys} keys, key {layout.key} of "
                f"{answer.elements} elements, where this model makes {keys} and {layout.elements}; name another service"
            )


_held: WeakValueDictionary[str, RackClient] = WeakValueDictionary()
"""By name: services that this process is in a job of."""
_drawn = itertools.count(1)
"""Services drawn by this process: the n-th of one rank is the n-th of the others."""


def connect(service: RackService | str | None, timeout_s: float, workers: int = 0) -> RackClient:
    """A job of the service with all ranks of torch.distributed's default group; without one this process is alone.

    ``workers``: as in RackService, if it is not 0.

    Raises LostError where the controller is not there, RefusedError where it refuses.
    """
    store = dist.distributed_c10d._get_default_store() if dist.is_available() and dist.is_initialized() else None
    rank, size = (dist.get_rank(), dist.get_world_size()) if store is not None else (0, 1)
    agreed = agree_on_service(service, store)
    if workers:
        agreed = replace(agreed, workers=workers)
    holder = _held.get(agreed.name)
    if holder is not None and not holder.has_failed:
        raise RefusedError(
            f"netsum: this process has a RackOptimizer of service {agreed.name!r} already, and a service has one job "
            "at a time: name another service for this one (server=...), or close() the first"
        )
    terms = ServiceTerms(agreed.name, agreed.nonce.encode(), agreed.workers, agreed.weight, agreed.quota_bytes)

    group = f"service {agreed.name}"
    rendezvous = Rendezvous(store, agree_on_name(store, group, rank), rank, size) if store is not None else None

    def join() -> Channel:
        from hostagent.transport.process import open_job

        name = agree_on_name(store, group, rank) if store is not None else f"{group}.1.{uuid.uuid4().hex}"
        try:
            return open_job(controller_address(), name, rank, size, timeout_s, terms)
        except TransportError as error:
            raise as_torch_error(error, f"rank {rank} cannot join service {agreed.name!r}") from error

    client = RackClient(rank, size, agreed, timeout_s, join, rendezvous)
    _held[agreed.name] = client
    return client


def agree_on_service(service: RackService | str | None, store: Any) -> RackService:
    """``service``, or NETSUM_SERVICE, or a new service with a random name that the ranks share by the store."""
    chosen = service if service is not None else os.environ.get(SERVICE_VARIABLE)
    if isinstance(chosen, RackService):
        return chosen
    if chosen is not None and not isinstance(chosen, str):
        raise RefusedError(f"netsum's RackOptimizer: server={chosen!r}; use a RackService, NAME or NAME:NONCE")
    if not chosen:
        chosen = f"rack-{uuid.uuid4().hex[:12]}:{secrets.token_hex(16)}"
        if store is not None:
            chosen = str(store.compare_set(f"netsum/rack service {next(_drawn)}", "", chosen).decode())
    name, _, nonce = chosen.partition(":")
    return RackService(name, nonce)
