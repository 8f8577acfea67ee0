"""A server's checkpoints in a folder: one file for each service, and one server for each folder.

A service's file is read completely when the server starts, so that a damaged one is an error then and not during a
training. Its tensors are read again with the service's first job, which determines the assignment of blocks to cores.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from hostagent.rackserver.services.checkpoint import CheckpointError, Identity, identity_of, put, read
from hostagent.rackserver.services.service_memory import ServiceMemory

SUFFIX = ".npz"
LOCK = "server.lock"
LONGEST_NAME = 200
"""Bytes of a file's name before its end: file systems allow 255."""


def file_name(service: str) -> str:
    """File name for a namespace: characters that a file name cannot have are percent-encoded, as in a URL."""
    name = quote(service, safe=" ")
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 65]}-{hashlib.sha256(service.encode()).hexdigest()}"
    return name + SUFFIX


class CheckpointFolder:
    """Held by one server at a time, until it is closed. Raises CheckpointError for what can't be used."""

    def __init__(self, path: Path) -> None:
        """Makes the folder where there is none."""
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise CheckpointError(f"--checkpoint {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise CheckpointError(f"--checkpoint {path}: another server keeps its checkpoints there") from error
        self._known: dict[str, Path] = {}

    def close(self) -> None:
        """Another server may have it."""
        os.close(self._lock)

    def place_of(self, service: str) -> Path:
        """Where a service's checkpoint is, or will be."""
        return self.path / file_name(service)

    def read_all(self) -> Mapping[Identity, int]:
        """The services that there are, and their last whole steps; `restore` knows them from now on. Raises
        CheckpointError."""
        found = {}
        for path in sorted(self.path.glob(f"*{SUFFIX}")):
            try:
                snapshot = read(path)
                identity = identity_of(snapshot, path)
            except CheckpointError as error:
                raise CheckpointError(f"{error}; move it away, or use --no-restore") from error
            found[identity] = snapshot.step
            self._known[identity.name] = path
        return found

    def restore(self, name: str, service: ServiceMemory) -> None:
        """Put a service's file into its memory, where there is one. Raises CheckpointError."""
        path = self._known.get(name)
        if path is not None:
            put(read(path), service, path)
