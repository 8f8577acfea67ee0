"""A service in a file: every key's weights and state after the last whole step, in the shape of torch's ``state_dict``.

The file is numpy's ``.npz``: per key ``KEY/weights`` and ``KEY/STATE`` (float32, torch's names), and a JSON text
``service`` with the step, age and lineage, what was counted, each key's updates, and the service's own terms with the
digest of its nonce. It is written to a temporary file and renamed, so that it is complete or absent, and is readable
by its owner only.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hostagent.rackserver.hierarchy.training_lineage import check_lineage
from hostagent.rackserver.services.service_memory import ServiceMemory
from hostagent.rackserver.tenants.tenants import Tenant

VERSION = 1
STATE_NAMES = {1: ("momentum_buffer",), 2: ("exp_avg", "exp_avg_sq"), 3: ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")}
"""torch's names of the state tensors, by their number."""
FACTS = "service"
PART = ".part"
"""End of the name of a file that is being written."""

Arrays = Mapping[str, np.ndarray[Any, Any]]


class CheckpointError(Exception):
    """The file is not a checkpoint, or does not fit the service; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The terms of a service that a restarted server needs before the service's first job."""

    name: str
    workers: int
    weight: int
    quota_bytes: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A service at its last whole step; all copies."""

    facts: Mapping[str, Any]
    arrays: Arrays

    @property
    def step(self) -> int:
        """Number of the last whole step."""
        return int(self.facts["step"])

    @property
    def age(self) -> int:
        """Number of changes of the service; files of older versions have only the step."""
        return int(self.facts.get("age", self.step + 1))


def state_of(service: ServiceMemory) -> dict[str, Any]:
    """Copies: ``{"step", "skipped", "not_finite", "keys": {number: {"weights", "updates", "state": {name: ...}}}}``."""
    keys: dict[int, Any] = {}
    for number in service.numbers():
        record = service.keys[number]
        if not record["written"]:
            continue
        has_begun = record["born"] <= service.step  # else with the open step
        names = STATE_NAMES.get(int(record["states"]), ()) if has_begun else ()
        state = {name: service.tensor(number, place) for place, name in enumerate(names, 1)}
        keys[number] = {"weights": service.tensor(number), "updates": int(record["updates"]), "state": state}
    counted = {name: int(service.record[name][0]) for name in ("skipped", "not_finite")}
    return {"step": service.step, **counted, "keys": keys}


def take(service: ServiceMemory, tenant: Tenant | None = None) -> Snapshot:
    """Copy the service's last whole step. Not while a batch is processed."""
    held = state_of(service)
    facts: dict[str, Any] = {"version": VERSION} | {name: held[name] for name in ("step", "skipped", "not_finite")}
    facts |= {"age": service.age, "torn": int(service.is_incomplete), "lineage": service.lineage()}
    facts["updates"] = {str(number): key["updates"] for number, key in held["keys"].items()}
    if tenant is not None:
        fields = ("name", "workers", "weight", "quota_bytes")
        facts["tenant"] = {name: getattr(tenant, name) for name in fields} | {"digest": tenant.digest.hex()}
    arrays = {}
    for number, key in held["keys"].items():
        arrays[f"{number}/weights"] = key["weights"]
        arrays.update({f"{number}/{name}": tensor for name, tensor in key["state"].items()})
    return Snapshot(facts, arrays)


def write(snapshot: Snapshot, path: Path) -> None:
    """Write a file atomically, also across a crash of the machine. Raises OSError, leaving no temporary file."""
    temporary = path.with_name(path.name + PART)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            np.savez(file, **{FACTS: np.array(json.dumps(snapshot.facts)), **snapshot.arrays})  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def save(service: ServiceMemory, path: Path) -> None:
    """Write the service's last whole step. Not while a batch is processed."""
    write(take(service), path)


def read(path: Path) -> Snapshot:
    """What a file holds. Raises CheckpointError."""
    try:
        with np.load(path, allow_pickle=False) as file:
            facts = json.loads(str(file[FACTS]))
            arrays = {name: file[name] for name in file.files if name != FACTS}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        why = "it has pickled objects" if "allow_pickle" in str(error) else error
        raise CheckpointError(f"{path} is not a checkpoint of a service: {why}") from error
    _check(path, facts, arrays)
    return Snapshot(facts, arrays)


def _check(path: Path, facts: Any, arrays: Arrays) -> None:
    if not isinstance(facts, dict) or facts.get("version") != VERSION:
        version = facts.get("version") if isinstance(facts, dict) else None
        raise CheckpointError(f"{path} has version {version}, but this server reads version {VERSION}")
    try:
        int(facts["step"]), int(facts["skipped"]), int(facts.get("age", 0)), int(facts.get("not_finite", 0))
        if "lineage" in facts:
            check_lineage(facts["lineage"])
        for number, updates in facts["updates"].items():
            int(number), int(updates), arrays[f"{number}/weights"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{path} is not a checkpoint of a service: {error!r} in its description") from error


def identity_of(snapshot: Snapshot, path: Path) -> Identity:
    """The terms of the service in a file. Raises CheckpointError."""
    try:
        tenant = snapshot.facts["tenant"]
        numbers = (int(tenant["workers"]), int(tenant["weight"]), int(tenant["quota_bytes"]))
        return Identity(str(tenant["name"]), *numbers, bytes.fromhex(tenant["digest"]))
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} does not name its service: {error!r}") from error


def put(snapshot: Snapshot, service: ServiceMemory, path: Path) -> None:
    """Put a file's step into a service, replacing keys of the same numbers. Raises CheckpointError."""
    facts, arrays = snapshot.facts, snapshot.arrays
    for text, updates in facts["updates"].items():
        names = [name for name in arrays if name.startswith(f"{text}/") and name != f"{text}/weights"]
        order = STATE_NAMES.get(len(names), ())
        tensors = [arrays[f"{text}/weights"], *(arrays[f"{text}/{name}"] for name in order)]
        if not service.put(int(text), tensors, snapshot.step, int(updates)):
            raise CheckpointError(f"{path}: key {text} does not fit into the tenant's memory, or has a different shape")
    service.record["skipped"], service.record["not_finite"] = facts["skipped"], facts.get("not_finite", 0)
    service.record["incomplete"] = int(facts.get("torn", 0))
    service.stand_at(snapshot.step, snapshot.age, facts.get("lineage"))


def restore(service: ServiceMemory, path: Path) -> None:
    """``read`` and ``put``."""
    put(read(path), service, path)
