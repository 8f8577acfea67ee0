"""A service's memory: made once for each tenant, kept over its jobs.

Addresses are mapped at once and pages come with use, so an arena may be as large as the quota.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from emulator.native.pages import address_of, aligned_bytes, reserved_bytes
from hostagent.protocol.quantizer.blocks import log2_ceiling
from hostagent.protocol.services.aggregator import JobTerms
from hostagent.rackserver.hierarchy.training_lineage import MOST_DRAW, lineage_facts, put_lineage
from hostagent.rackserver.services.key_memory import put_key
from hostagent.rackserver.services.records import KEY, MAX_KEYS, OPERATION, OPERATIONS, SERVICE

Array = np.ndarray[Any, Any]
NO_STEP = -1
NO_JOB = -1


class ServiceMemory:
    """Keys, weights, state and open operations of one tenant."""

    def __init__(self, server: Any, quota_bytes: int, common: Array, loads_address: int) -> None:
        """``server``: the SERVER record. ``quota_bytes``: 0 for none. ``common``: int64[2], bytes that all services may
        take, and have taken."""
        arena_bytes = min(quota_bytes or int(common[0]), int(common[0]))
        self._arena = reserved_bytes(arena_bytes)
        self.keys: Any = reserved_bytes(MAX_KEYS * KEY.itemsize).view(KEY)
        self._listed = np.zeros(MAX_KEYS, np.int32)
        self._operations: Any = aligned_bytes(OPERATIONS * OPERATION.itemsize).view(OPERATION)
        self.record: Any = aligned_bytes(SERVICE.itemsize).view(SERVICE)
        record = self.record
        record["address"] = self.address = address_of(record)
        for name in ("lanes", "cores"):
            record[name] = server[name]
        record["server"] = server["address"]
        record["open_step"] = NO_STEP
        record["arena"], record["arena_bytes"] = address_of(self._arena), arena_bytes
        self._common = common
        record["common"] = address_of(common)
        record["keys"], record["listed"] = address_of(self.keys), address_of(self._listed)
        record["operations"], record["loads"] = address_of(self._operations), loads_address
        record["scale"] = 1.0
        self.job = NO_JOB
        self._forget_operations()

    def _forget_operations(self) -> None:
        self._operations["hash"] = -1
        self._operations["left"] = self._operations["number"] = 0

    def attach(self, terms: JobTerms, home: int, rack: int = 0) -> None:
        """The service's job from now on. One of another number undoes a step that the last job left unfinished.
        ``rack``: the server's number."""
        record = self.record
        options = terms.service.options if terms.service is not None else {}
        workers = int(str(options.get("ranks", terms.workers)))
        record["workers"], record["workers_log2"] = workers, log2_ceiling(workers)
        record["home"], record["own_bit"] = home, (terms.full & -terms.full).bit_length() - 1
        record["rack"] = rack
        for name in ("first_slot", "window"):
            record[name] = getattr(terms, name)
        if terms.job != self.job:
            self.undo()
            for name in ("apart", "gives", "draw", "staged_age", "elected"):
                record[name] = 0
            record["own_draw"] = 1 + secrets.randbelow(MOST_DRAW)
        self.job = terms.job

    def release(self) -> None:
        """End the service: the memory that it has taken is free for others."""
        self._common[1] -= self.used_bytes

    def undo(self) -> None:
        """Back to the last whole step."""
        step = int(self.record["step"][0])
        self._forget_operations()
        self.record["open_step"] = NO_STEP
        for name in ("decision", "receives", "open_not_finite"):
            self.record[name] = 0
        for number in self.numbers():
            key = self.keys[number]
            key["pushed_step"] = NO_STEP
            if key["born"] > step:
                key["states"], key["born"] = 0, NO_STEP
            for name, count in (("versions", 2 * key["chunks"]), ("pushes", key["chunks"])):
                steps = self.view(key[name], count, np.int64)
                steps[steps > step] = NO_STEP

    def numbers(self) -> Iterator[int]:
        """Numbers of the keys known, in the order in which they came."""
        yield from (int(number) for number in self._listed[: int(self.record["keys_known"][0])])

    def view(self, address: int, count: int, dtype: Any) -> Array:
        """Elements in the arena, by their address."""
        offset = int(address) - int(self.record["arena"][0])
        return self._arena[offset : offset + int(count) * np.dtype(dtype).itemsize].view(dtype)

    @property
    def step(self) -> int:
        """Number of the last whole step."""
        return int(self.record["step"][0])

    @property
    def used_bytes(self) -> int:
        """Bytes in use of the arena."""
        return int(self.record["arena_used"][0])

    def put(self, number: int, tensors: list[Array], step: int, updates: int) -> bool:
        """Weights and state tensors of a key, new or of the same size, as of a step; False when there is no room."""
        elements = tensors[0].size
        if not put_key(self.address, number, elements, len(tensors) - 1):
            return False
        key, lanes = self.keys[number], int(self.record["lanes"][0])
        chunks = int(key["chunks"])
        for buffer, tensor in enumerate(tensors):
            for side in range(2):
                held = self.view(key["buffers"][2 * buffer + side], chunks * lanes, np.float32)
                held[:elements] = tensor.reshape(-1)
        versions = self.view(key["versions"], 2 * chunks, np.int64)
        versions[:chunks], versions[chunks:] = step, NO_STEP
        key["updates"], key["written"] = updates, 1
        return True

    @property
    def age(self) -> int:
        """How often the service has changed; see ``hierarchy.resync``."""
        return int(self.record["age"][0])

    @property
    def is_incomplete(self) -> bool:
        """A run of WRITEs has begun and not ended."""
        return bool(self.record["incomplete"][0])

    def lineage(self) -> dict[str, Any]:
        """What `stand_at` takes; see ``hierarchy.training_lineage``."""
        return lineage_facts(self.record[0])

    def stand_at(self, step: int, age: int, lineage: Mapping[str, Any] | None) -> None:
        """The last whole step, after all keys were put."""
        self.record["step"], self.record["age"], self.record["revertible"] = step, age, 0
        put_lineage(self.record[0], lineage, age)
        self.undo()

    def tensor(self, number: int, buffer: int = 0) -> Array:
        """A copy of a key's weights (or a state tensor) after the last whole step."""
        key, lanes, step = self.keys[number], int(self.record["lanes"][0]), self.step
        chunks = int(key["chunks"])
        versions = self.view(key["versions"], 2 * chunks, np.int64).reshape(2, chunks)
        second = (versions[1] <= step) & ((versions[1] > versions[0]) | (versions[0] > step))
        sides = [
            self.view(key["buffers"][2 * buffer + side], chunks * lanes, np.float32).reshape(chunks, lanes)
            for side in range(2)
        ]
        result: Array = np.where(second[:, None], sides[1], sides[0]).reshape(-1)[: int(key["elements"])].copy()
        return result
