"""What a push-pull puts on the wire and when: chunk by chunk, unasked, once, by the core that owns the block."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.ports.batch import FrameBatch
from hostagent.protocol.frames import parse_frame
from hostagent.protocol.quantizer.classes import ONE_NAN
from hostagent.protocol.reference import ReferenceChild, ReferenceJob
from hostagent.protocol.served import (
    Action,
    Announcement,
    Hyperparameters,
    ServedFlag,
    ServedOptimizer,
    Status,
    read_answer,
)
from hostagent.protocol.services.aggregator import ServiceTerms
from hostagent.rackserver.core import RackServer
from hostagent.rackserver.frames.loops import serve
from hostagent.rackserver.frames.tx_slots import close_runs
from hostagent.rackserver.frames.validate import ANNOUNCE, MAX, SERVED
from hostagent.rackserver.services import checkpoint
from hostagent.rackserver.services.service_memory import ServiceMemory
from hostagent.rackserver.tenants.report import figures_of
from hostagent.rackserver.tenants.tenants import Registry
from tests.labs.rack_aggregator import terms_of
from tests.labs.rack_pusher import NOT_FINITE, Array, Pusher

rng = np.random.default_rng(5)


def numbers(count: int) -> Array:
    return (rng.integers(-(2**18), 2**18, count) / 2.0**10).astype(np.float32)


@pytest.mark.parametrize("elements", [1, 8191, 8192, 8193, 100_001])
def test_keys_of_all_sizes_around_a_block_come_back_whole(elements: int) -> None:
    pusher, weights = Pusher(lanes=1024), numbers(elements)
    pusher.write(3, weights)
    assert pusher.read(3, elements).tobytes() == weights.tobytes()


def test_a_chunk_is_stepped_and_answered_before_the_others_have_come() -> None:
    pusher, weights, gradient = Pusher(), numbers(200), numbers(200)
    pusher.write(0, weights)
    first = pusher.begin_push(0, 200, 1)
    for index in (2, 0, 3, 1):
        part = slice(64 * index, 64 * (index + 1))
        result = pusher.send_all(first + index, SERVED, pusher.words(gradient[part]))
        stepped = (weights - gradient)[part]
        assert result.view(np.float32)[: stepped.size].tolist() == stepped.tolist()
        assert pusher.service.step == (1 if index == 1 else 0)  # whole with the last one only


def test_weights_come_unasked_and_once() -> None:
    workers, chunks = 3, 4
    pusher = Pusher(workers)
    pusher.write(0, numbers(64 * chunks))
    before = pusher.sent
    first = pusher.begin_push(0, 64 * chunks, 1)
    frames = [
        pusher.frame(worker, first + index, SERVED, pusher.words(numbers(64)))
        for index in range(chunks)
        for worker in range(workers)
    ]
    results = pusher.send(frames)
    assert sorted(results) == [(worker, first + index) for worker in range(workers) for index in range(chunks)]
    assert all(result.size == 64 for result in results.values())
    # the announcement, the exponents and the gradients are all that workers send
    assert pusher.sent - before == workers * (1 + 1 + chunks)


def test_a_worker_may_be_a_step_ahead_of_one_that_has_not_its_weights_yet() -> None:
    pusher, weights, gradient = Pusher(2), numbers(64), numbers(64)
    pusher.write(0, weights)
    first = pusher.begin_push(0, 64, 1)
    last = [pusher.frame(worker, first, SERVED, pusher.words(gradient)) for worker in range(2)]
    pusher.send(last)  # say that worker 1 has lost its result; worker 0 goes on
    pusher.operation += 1
    ahead = pusher.frame(0, pusher.chunk, MAX, np.zeros(0, np.uint32))
    assert pusher.send([ahead]) == {}
    pusher.operation -= 1
    again = pusher.send([last[1]])
    assert again[1, first].view(np.float32).tolist() == (weights - 2 * gradient).tolist()


def test_values_that_are_not_finite_need_no_memory_of_the_tenant() -> None:
    pusher, weights, gradient = Pusher(), numbers(128), numbers(128)
    pusher.write(0, weights)
    pusher.service.record["arena_bytes"] = pusher.service.record["arena_used"]  # its quota is used up
    gradient[5] = np.nan
    first = pusher.begin_push(0, 128, 1, [NOT_FINITE, pusher.exponent])
    classes = np.zeros(64, np.uint32)
    classes[5] = ONE_NAN
    assert pusher.send_all(first, SERVED, classes).size == 0
    finite = pusher.send_all(first + 1, SERVED, pusher.words(gradient[64:]))
    assert finite.view(np.float32).tolist() == (weights - gradient)[64:].tolist()
    assert pusher.service.step == 0
    pusher.send_all(first + 2, MAX, np.array([pusher.exponent], np.uint32))
    tail = pusher.send_all(first + 3, SERVED, pusher.words(np.nan_to_num(gradient[:64], nan=0.0))).view(np.float32)
    assert np.isnan(tail[5])
    others = np.arange(64) != 5
    assert tail[others].tolist() == (weights - gradient)[:64][others].tolist()
    assert pusher.service.step == 1


def test_a_block_is_touched_by_the_core_that_owns_it_alone() -> None:
    cores, chunks = 3, 48
    pusher = Pusher(2, lanes=1024, window=64, cores=cores)
    pusher.write(0, numbers(1024 * chunks))
    first = pusher.begin_push(0, 1024 * chunks, 1)
    batch = FrameBatch(2 * chunks)
    for index in range(chunks):
        for worker in range(2):
            port, frame = pusher.frame(worker, first + index, SERVED, pusher.words(numbers(1024)))
            batch.append(frame, port)
    server = pusher.aggregator.server
    addresses, lengths, ports = batch.record[0].tolist()[:3]
    answered: list[set[int]] = []
    for core in range(cores):
        pusher.send([])  # makes room in the ports
        serve(server.address, core, addresses, lengths, ports, batch.count)
        close_runs(server.address)
        answered.append({parse_frame(data).header.chunk - first for _, data in pusher.aggregator.answers()})
    assert set.union(*answered) == set(range(chunks))
    assert sum(map(len, answered)) == chunks
    blocks = [{index // 8 for index in chunks_of_core} for chunks_of_core in answered]  # of 8 chunks, 32 KB
    assert sum(map(len, blocks)) == chunks // 8
    assert {len(mine) for mine in blocks} == {chunks // 8 // cores}
    assert pusher.service.step == 1


def test_a_service_can_be_emptied_only_before_its_first_step() -> None:
    pusher = Pusher()
    for key in range(3):
        pusher.write(key, numbers(200))
    used = pusher.service.used_bytes
    cores: Any = pusher.aggregator.server.statistics()["cores"]
    assert cores[0]["owned_bytes"] == 3 * 4 * 200
    anew = Announcement(Action.WRITE, 0, 64, terms=Hyperparameters(flags=ServedFlag.ANEW))
    first = pusher.begin(anew)
    weights = numbers(64)
    pusher.send_all(first, SERVED, weights.view(np.uint32))
    pusher.chunk += 1
    assert list(pusher.service.numbers()) == [0]
    assert pusher.service.used_bytes < used
    cores = pusher.aggregator.server.statistics()["cores"]
    assert cores[0]["owned_bytes"] == 4 * 64
    assert pusher.read(0, 64).tobytes() == weights.tobytes()
    first = pusher.begin_push(0, 64, 1)
    pusher.send_all(first, SERVED, pusher.words(numbers(64)))
    with pytest.raises(AssertionError, match=f"refused with status {Status.STEP}"):
        pusher.begin(anew)


def test_what_the_quota_does_not_hold_is_counted() -> None:
    pusher = Pusher()
    with pytest.raises(AssertionError, match=f"refused with status {Status.QUOTA}"):
        pusher.begin(Announcement(Action.WRITE, 0, 1 << 30))
    (tenant,) = figures_of(pusher.aggregator.server).tenants
    assert tenant.refused == {"memory": 1}


def test_a_refusal_by_quota_tells_what_is_needed_in_use_and_allowed() -> None:
    pusher = Pusher()
    pusher.write(0, numbers(1 << 14))
    used = pusher.service.used_bytes
    assert 8 << 14 < used < 9 << 14
    pusher.operation += 1
    wanted = Announcement(Action.WRITE, 1, 1 << 23)
    room = read_answer(pusher.send_all(pusher.chunk, ANNOUNCE, wanted.words())).room
    assert room is not None
    assert (room.used, room.limit, room.is_shared) == (used, 1 << 26, False)
    assert 8 << 23 < room.needed < 9 << 23
    text = f"it needs {room.needed:,} bytes, and {used:,} of 67,108,864 of the service's quota are in use"
    assert room.describe().startswith(text)


def test_a_push_that_finds_no_room_tells_of_all_that_it_would_take() -> None:
    pusher = Pusher()
    elements = 1 << 22
    assert pusher.service.put(0, [np.zeros(elements, np.float32)], 0, 0)
    used, pusher.operation = pusher.service.used_bytes, pusher.operation + 1
    adam = Hyperparameters(ServedOptimizer.ADAM, lr=1.0, flags=int(ServedFlag.CLIP), max_norm=1.0)
    push = Announcement(Action.PUSH, 0, elements, step=1, terms=adam)
    answer = read_answer(pusher.send_all(pusher.chunk, ANNOUNCE, push.words()))
    assert answer.status == Status.QUOTA
    assert answer.room is not None
    assert answer.room.needed >= (2 * 2 + 1) * 4 * elements  # two state tensors in two versions, and the gradient
    assert pusher.service.used_bytes == used


def two_services(memory_bytes: int) -> tuple[RackServer, ServiceMemory, ServiceMemory]:
    """A rack server and two services in its memory, which lasts as long as the server."""
    server = RackServer(64, registry=Registry(memory_bytes))
    job = ReferenceJob(1, 8, (ReferenceChild(0, 1, 1),))
    for number in range(2):
        terms = terms_of(number, job, 64, ServiceTerms(f"of {number}"))
        server.install(replace(terms, first_slot=8 * number))
    return server, server.service("of 0"), server.service("of 1")


def test_the_same_keys_of_two_namespaces_do_not_collide() -> None:
    _server, one, other = two_services(1 << 20)
    values = [numbers(64), numbers(100)]
    assert one.put(3, values[:1], 1, 1)
    assert other.put(3, values[1:], 1, 1)
    assert [service.tensor(3).tobytes() for service in (one, other)] == [weights.tobytes() for weights in values]


def test_services_share_the_servers_memory_and_get_back_what_one_gave_up() -> None:
    _server, one, other = two_services(1 << 22)
    values = [numbers((1 << 22) // 12)]
    assert one.put(0, values, 1, 1)
    assert not other.put(0, values, 1, 1)
    one.release()
    assert other.put(1, values, 1, 1)


def test_a_write_that_finds_no_room_takes_none_and_the_service_stays_whole() -> None:
    pusher = Pusher()
    pusher.write(0, numbers(64))
    used = pusher.service.used_bytes
    with pytest.raises(AssertionError, match=f"refused with status {Status.QUOTA}"):
        pusher.begin(Announcement(Action.WRITE, 1, (1 << 26) // 5))
    pusher.chunk += 1
    assert pusher.service.used_bytes == used
    assert not pusher.service.is_incomplete
    state = Announcement(Action.WRITE, 0, 64, buffer=3)
    for _ in range(2):
        pusher.begin(state)
        pusher.chunk += 1


def test_writing_weights_between_steps_keeps_the_optimizers_state() -> None:
    pusher, gradient = Pusher(), numbers(64)
    terms = Hyperparameters(ServedOptimizer.SGD, lr=1.0, beta1=0.5)
    pusher.write(0, numbers(64))
    pusher.push(0, gradient, 1, terms)
    weights = numbers(64)
    pusher.write(0, weights, step=1, updates=1)
    assert pusher.push(0, gradient, 2, terms).tolist() == (weights - 1.5 * gradient).tolist()


def test_momentum_begins_as_the_gradient_whenever_it_begins() -> None:
    pusher, weights, gradient = Pusher(), numbers(64), numbers(64)
    terms = Hyperparameters(ServedOptimizer.SGD, lr=1.0, beta1=0.5, beta2=0.5)
    pusher.write(0, weights)
    pusher.push(0, gradient, 1)
    assert pusher.push(0, gradient, 2, terms).tolist() == (weights - 2 * gradient).tolist()
    assert pusher.push(0, gradient, 3, terms).tolist() == (weights - 3 * gradient).tolist()


def test_state_of_another_optimizer_is_not_stepped() -> None:
    pusher = Pusher()
    pusher.write(0, numbers(64))
    pusher.push(0, numbers(64), 1, Hyperparameters(ServedOptimizer.SGD, lr=1.0, beta1=0.5))
    with pytest.raises(AssertionError, match=f"refused with status {Status.OPTIMIZER}"):
        pusher.push(0, numbers(64), 2, Hyperparameters(ServedOptimizer.ADAM, lr=0.1, beta1=0.9, beta2=0.9, eps=1e-8))


def test_a_service_is_incomplete_during_a_series_of_writes(tmp_path: Path) -> None:
    pusher = Pusher()
    pusher.write(0, numbers(64))

    def is_incomplete() -> bool:
        writing, pusher.operation = pusher.operation, 1000 + pusher.chunk
        answer = pusher.send_all(pusher.chunk, ANNOUNCE, Announcement(Action.QUERY, 0, 64).words())
        pusher.chunk, pusher.operation = pusher.chunk + 1, writing
        return read_answer(answer).incomplete

    assert not is_incomplete()
    for flags, incomplete in ((ServedFlag.MORE, True), (0, False)):
        first = pusher.begin(Announcement(Action.WRITE, 0, 64, terms=Hyperparameters(flags=int(flags))))
        pusher.chunk += 1
        assert is_incomplete()
        pusher.send_all(first, SERVED, numbers(64).view(np.uint32))
        assert is_incomplete() == incomplete
        checkpoint.save(pusher.service, tmp_path / "kept")
        assert checkpoint.read(tmp_path / "kept").facts["torn"] == incomplete
