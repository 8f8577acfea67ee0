"""A service in a file: every key's weights and state after the last whole step, in the shape of torch's ``state_dict``.

The file is numpy's ``.npz``: per key ``KEY/weights`` and ``KEY/STATE`` (float32), and a JSON text ``service`` with the
step, the steps skipped, and each key's updates. It is written beside its place and moved there, so that a file is whole
or not at all.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from hostagent.rackserver.services import ServiceMemory

VERSION = 1
STATE_NAMES = {1: ("momentum_buffer",), 2: ("exp_avg", "exp_avg_sq"), 3: ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")}
"""torch's names of so many state tensors."""


class CheckpointError(Exception):
    """The file is not a checkpoint, or does not fit the service; the text says which and why."""


def state_of(service: ServiceMemory) -> dict[str, Any]:
    """``{"step", "skipped", "keys": {number: {"weights", "updates", "state": {name: tensor}}}}``, all copies."""
    keys: dict[int, Any] = {}
    for number in service.numbers():
        record = service.keys[number]
        if not record["written"]:
            continue
        names = STATE_NAMES.get(int(record["states"]), ())
        state = {name: service.tensor(number, place) for place, name in enumerate(names, 1)}
        keys[number] = {"weights": service.tensor(number), "updates": int(record["updates"]), "state": state}
    return {"step": service.step, "skipped": int(service.record["skipped"][0]), "keys": keys}


def save(service: ServiceMemory, path: Path) -> None:
    """Write the service's last whole step. Not while a batch is processed."""
    held = state_of(service)
    facts = {"version": VERSION, "step": held["step"], "skipped": held["skipped"]}
    facts["updates"] = {str(number): key["updates"] for number, key in held["keys"].items()}
    arrays = {"service": np.array(json.dumps(facts))}
    for number, key in held["keys"].items():
        arrays[f"{number}/weights"] = key["weights"]
        arrays.update({f"{number}/{name}": tensor for name, tensor in key["state"].items()})
    beside = path.with_name(path.name + ".part")
    with beside.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def restore(service: ServiceMemory, path: Path) -> None:
    """Put a file's step into a service, whose own keys of those numbers are replaced. Raises CheckpointError."""
    try:
        with np.load(path, allow_pickle=False) as file:
            facts = json.loads(str(file["service"]))
            arrays = {name: file[name] for name in file.files if name != "service"}
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path} is no checkpoint of a service: {error}") from error
    if facts.get("version") != VERSION:
        raise CheckpointError(f"{path}: version {facts.get('version')}, this server reads {VERSION}")
    for text, updates in facts["updates"].items():
        names = [name for name in arrays if name.startswith(f"{text}/") and name != f"{text}/weights"]
        order = STATE_NAMES.get(len(names), ())
        tensors = [arrays[f"{text}/weights"], *(arrays[f"{text}/{name}"] for name in order)]
        if not service.put(int(text), tensors, int(facts["step"]), int(updates)):
            raise CheckpointError(f"{path}: key {text} does not fit the tenant's memory, or has another shape")
    service.record["skipped"] = facts["skipped"]
    service.stand_at(int(facts["step"]))
