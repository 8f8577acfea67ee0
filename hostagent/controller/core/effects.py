"""What the core asks of the shell, in order. The core performs nothing itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hostagent.controller.drivers.job import JobConfig
from hostagent.protocol.services.session_pb2 import ServerMessage


@dataclass(frozen=True, slots=True)
class Send:
    """A message to one process, on the connection it has now."""

    connection: int
    message: ServerMessage


@dataclass(frozen=True, slots=True)
class Disconnect:
    """A connection that another one has replaced, or that said goodbye: end its stream."""

    connection: int


@dataclass(frozen=True, slots=True)
class Save:
    """Write this to the state file before anything that follows it."""

    snapshot: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Install:
    """Install a job on the aggregator; answered by `Controller.installed` or `install_failed` with the same epoch."""

    config: JobConfig


@dataclass(frozen=True, slots=True)
class Remove:
    """The aggregator may forget a job. Not answered."""

    job: int


@dataclass(frozen=True, slots=True)
class Log:
    """A line for the operator."""

    text: str


Effect = Send | Disconnect | Save | Install | Remove | Log
