"""Checkpoints of a running server: when they are written, what a server that starts again knows, and what can't be."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from hostagent.cli.rack.checkpointing import DEFAULT_SECONDS, Checkpointer, Pace
from hostagent.protocol.reference import ReferenceChild, ReferenceJob
from hostagent.protocol.services.aggregator import AggregatorRefused, ServiceTerms
from hostagent.rackserver.core import RackServer
from hostagent.rackserver.services.checkpoint import CheckpointError, read
from hostagent.rackserver.services.checkpoint_folder import CheckpointFolder, file_name
from hostagent.rackserver.services.service_memory import ServiceMemory
from hostagent.rackserver.tenants.tenants import Registry
from tests.labs.rack_aggregator import terms_of

LANES = 64
WEIGHTS = np.arange(100, dtype=np.float32)
SERVICE = ServiceTerms("a/service", b"secret", workers=1, weight=3, quota_bytes=1 << 20)
JOB = ReferenceJob(1, 8, (ReferenceChild(0, 0x020000000001, 0x0A000001),))


class Server:
    """A rack server with a folder, and one tenant's job."""

    def __init__(self, folder: Path, pace: Pace = Pace()) -> None:  # noqa: B008  # frozen
        self.folder = CheckpointFolder(folder)
        self.registry = Registry()
        self.steps = {}
        for identity, step in self.folder.read_all().items():
            self.registry.restore(
                identity.name, identity.workers, identity.weight, identity.quota_bytes, identity.digest
            )
            self.steps[identity.name] = step
        self.rack = RackServer(LANES, slots=64, registry=self.registry, restore=self.folder.restore)
        self.told: list[str] = []
        self.checkpointer = Checkpointer(self.rack, nullcontext, self.folder, pace, self.told.append)

    def join(self, service: ServiceTerms = SERVICE) -> ServiceMemory:
        self.rack.install(terms_of(7, JOB, LANES, service))
        return self.rack.service(service.name)

    def train(self, step: int) -> None:
        """The service as after that step."""
        service = self.rack.service(SERVICE.name)
        service.put(4, [WEIGHTS + step, WEIGHTS * step], step, step)
        service.stand_at(step, age=step, lineage=None)

    def look(self, now_s: float) -> int:
        self.checkpointer.look(now_s)
        place = self.folder.place_of(SERVICE.name)
        return read(place).step if place.exists() else -1


def test_a_service_comes_back_with_its_terms_weights_state_and_step(tmp_path: Path) -> None:
    first = Server(tmp_path)
    first.join()
    first.train(5)
    first.checkpointer.save_all()
    first.folder.close()
    second = Server(tmp_path)
    assert second.steps == {"a/service": 5}
    tenant = second.registry.tenant("a/service")
    assert (tenant.workers, tenant.weight, tenant.quota_bytes) == (1, 3, 1 << 20)
    with pytest.raises(AggregatorRefused, match="another nonce"):
        second.join(ServiceTerms("a/service", b"guess", 1))
    service = second.join()
    assert service.step == 5
    assert service.tensor(4).tobytes() == (WEIGHTS + 5).tobytes()
    assert service.tensor(4, 1).tobytes() == (WEIGHTS * 5).tobytes()
    assert int(service.keys[4]["updates"]) == 5
    second.train(6)
    second.rack.remove(7)
    assert second.join().step == 6, "a later job finds the memory, not the file"


def test_checkpoints_are_as_young_as_steps_or_seconds_say(tmp_path: Path) -> None:
    server = Server(tmp_path, Pace(steps=10, seconds=60.0))
    service = server.join()
    assert server.look(0) == -1, "weights may still be missing"
    service.put(4, [WEIGHTS], 0, 0)
    service.record["open_step"] = 1
    assert server.look(0) == 0
    for step, now_s, saved in ((9, 1, 0), (10, 2, 10), (11, 61, 10), (11, 62, 11), (11, 999, 11), (3, 1000, 3)):
        server.train(step)
        assert server.look(now_s) == saved, step


def test_a_folder_that_can_not_be_written_is_told_and_tried_again(tmp_path: Path) -> None:
    server = Server(tmp_path, Pace(steps=1))
    server.join()
    server.train(1)
    place = server.folder.place_of(SERVICE.name)
    blocking = place.with_name(place.name + ".part")
    blocking.mkdir()
    assert server.look(0) == -1
    assert "Is a directory" in str(server.checkpointer.as_json()[SERVICE.name]["problem"])
    server.look(DEFAULT_SECONDS)
    (told,) = server.told
    assert "no checkpoint of service 'a/service' at step 1: " in told
    server.checkpointer.save_all()
    assert len(server.told) == 2, "the last failure is told as well"
    blocking.rmdir()
    now_s = time.monotonic()
    assert server.look(now_s + 1) == -1, "not at every look"
    assert server.look(now_s + 2 * DEFAULT_SECONDS) == 1
    assert server.checkpointer.as_json()[SERVICE.name]["problem"] == ""


def test_a_file_that_finds_no_room_leaves_nothing_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(tmp_path, Pace(steps=1))
    server.join()
    server.train(1)
    assert server.look(0) == 1

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    server.train(2)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert server.look(1) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [file_name(SERVICE.name), "server.lock"]
    (told,) = server.told
    assert "No space left on device" in told
    assert told.endswith(f"{server.folder.place_of(SERVICE.name)} stays as it was")


def test_a_service_of_no_step_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    server = Server(tmp_path, Pace(steps=1))
    service = server.join()
    server.train(1)
    assert server.look(0) == 1
    server.train(2)
    service.record["incomplete"] = 1
    assert server.look(1) == 1
    server.checkpointer.save_all()
    assert server.look(2) == 1


def test_a_folder_belongs_to_one_server_that_reads_it_at_its_start(tmp_path: Path) -> None:
    server = Server(tmp_path)
    with pytest.raises(CheckpointError, match="another server keeps"):
        Server(tmp_path)
    server.join()
    server.train(1)
    server.checkpointer.save_all()
    server.folder.close()
    place = tmp_path / file_name(SERVICE.name)
    content = place.read_bytes()
    for damaged in (content[:100], content[:400] + b"\1\2\3" + content[403:], b""):
        place.write_bytes(damaged)
        folder = CheckpointFolder(tmp_path)
        with pytest.raises(CheckpointError, match=r"a%2Fservice\.npz.* --no-restore"):
            folder.read_all()
        folder.close()


def test_a_checkpoint_above_the_quota_is_refused_until_it_fits(tmp_path: Path) -> None:
    first = Server(tmp_path)
    first.join()
    first.train(5)
    first.checkpointer.save_all()
    first.folder.close()
    registry = Registry(closed=True)
    registry.declare(ServiceTerms(SERVICE.name, SERVICE.nonce, 1, 1, 512))
    folder = CheckpointFolder(tmp_path)
    for identity in folder.read_all():
        assert registry.restore(identity.name, 9, 9, 9, identity.digest)
    assert not registry.restore("other", 1, 1, 0, b"")
    rack = RackServer(LANES, slots=64, registry=registry, restore=folder.restore)
    for _ in range(2):
        with pytest.raises(AggregatorRefused, match=r"tenant 'a/service': .*key 4 does not fit"):
            rack.install(terms_of(7, JOB, LANES, SERVICE))
    assert rack.installed() == {}


def test_files_are_named_after_services() -> None:
    assert file_name("vision 2") == "vision 2.npz"
    assert file_name("../etc") == "..%2Fetc.npz"
    long = file_name("\N{SNOWMAN}" * 128)
    assert len(long) < 255
    assert long != file_name("\N{SNOWMAN}" * 127)
