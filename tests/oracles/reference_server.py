"""A server of weights in plain numpy, as slow and obvious as can be: what section 11 of PROTOCOL.md says of the wire.

The slot rule is the reference aggregator's; on top of it come served operations, withheld results, steps that are whole
or not at all, and new jobs of the same service. Optimizers work on float32 arrays, element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hostagent.protocol.counters import Verdict
from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.quantizer.blocks import EXPONENT_NOT_FINITE, dequantize, log2_ceiling
from hostagent.protocol.quantizer.classes import value_of_classes
from hostagent.protocol.reference import MODULUS, Lanes, ReferenceAggregator, ReferenceJob, SlotSet
from hostagent.protocol.served import Action, ServedFlag, Status
from hostagent.protocol.wire import FLAG_NO_DATA, Header, Kind, Operator
from hostagent.protocol.worker.plan import exponent_position, group_count, group_size, grouped_part

Floats = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(slots=True)
class Key:
    """A tensor and its optimizer state."""

    weights: Floats
    state: dict[int, Floats] = field(default_factory=dict)
    updates: int = 0

    def copy(self) -> Key:
        return Key(self.weights.copy(), {name: values.copy() for name, values in self.state.items()}, self.updates)


@dataclass(slots=True)
class Service:
    """What outlives jobs."""

    keys: dict[int, Key] = field(default_factory=dict)
    step: int = 0
    skipped: int = 0
    not_finite: int = 0
    undo: dict[int, Key] = field(default_factory=dict)
    """Keys as they were before the step in progress."""
    pushed: set[int] = field(default_factory=set)
    pulled: set[int] = field(default_factory=set)
    applied: bool = False
    """Of a split step: the optimizer has run."""

    def forget_step(self) -> None:
        """Undo a step that is not whole."""
        self.keys.update(self.undo)
        self.begin()

    def begin(self) -> None:
        """The next step has not begun."""
        self.undo, self.pushed, self.pulled, self.applied = {}, set(), set(), False


@dataclass(slots=True)
class Served:
    """One served operation, from its announcement on."""

    first: int
    action: Action
    key: int
    elements: int
    buffer: int
    step: int
    keys: int
    optimizer: int
    flags: int
    divisor: int
    numbers: np.ndarray[Any, np.dtype[np.float64]]
    """lr, momentum or beta1, dampening or beta2, eps, weight decay, rescale, max norm: float64."""
    updates: int
    lanes: int
    window: int
    data: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    classes: dict[int, Lanes] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    tail: list[int] = field(default_factory=list)

    @property
    def chunks(self) -> int:
        return 0 if self.action == Action.QUERY else -(-self.elements // self.lanes)

    @property
    def group(self) -> int:
        return int(group_size(self.lanes, self.window))

    @property
    def groups(self) -> int:
        return group_count(self.chunks, self.group) if self.action in (Action.PUSH, Action.PUSH_PULL) else 0

    @property
    def length(self) -> int:
        """Chunk numbers, as far as known."""
        tail = len(self.tail)
        return 1 + self.chunks + self.groups + tail + (group_count(tail, self.group) if self.groups else 0)

    def position(self, chunk: int) -> int:
        """Of a chunk number in the operation; beyond its length for those of others."""
        return (chunk - self.first) % MODULUS

    def number(self, position: int) -> int:
        return (self.first + position) % MODULUS

    def span(self, index: int) -> slice:
        return slice(index * self.lanes, min((index + 1) * self.lanes, self.elements))


def read_announcement(first: int, lanes: Lanes, window: int) -> Served:
    """An announcement's lanes."""
    words = [int(word) for word in lanes[:32]]
    pair = lambda at: words[at] << 32 | words[at + 1]  # noqa: E731
    numbers = lanes[12:26].astype(">u4").view(">f8").astype(np.float64)
    return Served(
        *(first, Action(words[1]), words[2], pair(3), words[5], pair(6), words[8], words[9], words[10], words[11]),
        *(numbers, pair(26), len(lanes), window),
    )


@dataclass(slots=True)
class JobState:
    """A job of a service: its operations, and results that wait."""

    service: Service
    operations: list[Served] = field(default_factory=list)
    exponents: dict[int, Lanes] = field(default_factory=dict)
    withheld: dict[int, tuple[SlotSet, Frame]] = field(default_factory=dict)


@dataclass(slots=True)
class ReferenceServer(ReferenceAggregator):
    """An aggregator for jobs with or without a service."""

    services: dict[str, Service] = field(default_factory=dict)
    states: dict[int, JobState] = field(default_factory=dict)

    def install(self, number: int, job: ReferenceJob, service: str) -> None:
        """A new job of a service; an interrupted step of an earlier one is undone."""
        held = self.services.setdefault(service, Service())
        held.forget_step()
        self.jobs[number] = job
        self.states[number] = JobState(held)

    def _operators(self, job: ReferenceJob | None, no_data: bool) -> tuple[Operator, ...]:
        return (Operator.SUM, Operator.SERVED) if no_data else tuple(Operator)

    def _accumulate(self, held: SlotSet, frame: Frame) -> None:
        if frame.header.operator == Operator.ANNOUNCE:
            held.sums[:] = frame.lanes
        else:
            ReferenceAggregator._accumulate(self, held, frame)

    def _complete(self, job: ReferenceJob, held: SlotSet, frame: Frame) -> list[tuple[int, bytes]]:
        state = self.states.get(frame.header.job)
        if state is None:
            return ReferenceAggregator._complete(self, job, held, frame)
        state.withheld[held.chunk] = (held, frame)
        return self._release(job, state)

    def _repeat(self, job: ReferenceJob, held: SlotSet, frame: Frame, full: int) -> tuple[int, bytes]:
        state = self.states.get(frame.header.job)
        if state is not None and held.chunk in state.withheld:
            lanes = np.zeros(self.lanes, np.uint32)
            lanes[:2] = held.came >> 32, held.came & 0xFFFFFFFF
            return self._answer(job, frame.header.child, frame, Kind.WAITING, lanes)
        if held.came == full and held.sums.size == 0:
            self._count(frame.header, Verdict.SERVED_AGAIN)
            return self._answer_short(job, frame.header.child, frame)
        return ReferenceAggregator._repeat(self, job, held, frame, full)

    def _answer_short(self, job: ReferenceJob, number: int, frame: Frame) -> tuple[int, bytes]:
        child = job.children[number]
        header = replace(frame.header, kind=Kind.RESULT, child=number, flags=FLAG_NO_DATA, peer=0)
        lanes = np.zeros(0 if job.short_allowed else self.lanes, np.uint32)
        addresses = Addresses(job.switch_mac, child.mac, job.switch_ip, child.ip)
        return child.port, build_frame(Frame(addresses, header, lanes, child.compute_checksum))

    def _release(self, job: ReferenceJob, state: JobState) -> list[tuple[int, bytes]]:
        """Answer every complete chunk with a known result."""
        out: list[tuple[int, bytes]] = []
        again = True
        while again:
            again = False
            for chunk, (held, frame) in list(state.withheld.items()):
                result = self._result(job, state, frame.header, held)
                if result is None:
                    continue
                again = True
                del state.withheld[chunk]
                held.sums = result
                if result.size:
                    out += self._answer_all(job, frame, Kind.RESULT, result)
                else:
                    out += [self._answer_short(job, number, frame) for number in range(len(job.children))]
        return out

    def _result(self, job: ReferenceJob, state: JobState, header: Header, held: SlotSet) -> Lanes | None:
        """A complete chunk's result; of no lanes for a short one; None when it has to wait."""
        if header.operator == Operator.ANNOUNCE:
            return self._announced(job, state, held)
        if header.operator == Operator.MAX:
            state.exponents[held.chunk] = held.sums.copy()
            self._learn_tail(state, held.chunk)
            return held.sums
        operation = next((op for op in state.operations if 0 < op.position(held.chunk) < op.length), None)
        if header.operator == Operator.SUM:
            return held.sums
        return None if operation is None else self._served(job, state, operation, held)

    def _learn_tail(self, state: JobState, chunk: int) -> None:
        for op in state.operations:
            places = [op.number(1 + exponent_position(group, op.group)) for group in range(op.groups)]
            if chunk in places and all(place in state.exponents for place in places):
                op.tail = [i for i in range(op.chunks) if self._exponent(state, op, i) == EXPONENT_NOT_FINITE]
                state.service.not_finite += len(op.tail)

    def _exponent(self, state: JobState, op: Served, index: int) -> int:
        place = op.number(1 + exponent_position(index // op.group, op.group))
        return int(state.exponents[place].view(np.int32)[index % op.group])

    def _announced(self, job: ReferenceJob, state: JobState, held: SlotSet) -> Lanes:
        op, service = read_announcement(held.chunk, held.sums, job.window), state.service
        if op.action == Action.WRITE and op.flags & ServedFlag.ANEW and service.step == 0:
            service.keys.clear()
        key = service.keys.get(op.key)
        status = self._refusal(service, op, key)
        answer = np.zeros(self.lanes, np.uint32)
        if status == Status.OK:
            state.operations.append(op)
            op.data = np.zeros(op.elements, np.float32)
            if op.action in (Action.PUSH, Action.PUSH_PULL):
                assert key is not None
                service.undo[op.key] = key.copy()
                service.pushed.add(op.key) if not op.chunks else None
            for chunk in list(state.exponents):
                self._learn_tail(state, chunk)
        key = service.keys.get(op.key)
        answer[0] = status
        answer[1:4] = service.step >> 32, service.step & 0xFFFFFFFF, len(service.keys)
        answer[5] = key.weights.size if key else 0
        answer[6:9] = len(key.state) if key else 0, service.skipped, service.not_finite
        answer[10] = key.updates if key else 0
        return answer

    def _refusal(self, service: Service, op: Served, key: Key | None) -> Status:
        if op.action == Action.QUERY:
            return Status.OK
        if key is None and (op.action != Action.WRITE or op.buffer):
            return Status.UNKNOWN_KEY
        if key is not None and key.weights.size != op.elements:
            return Status.SHAPE
        if op.action in (Action.PUSH, Action.PUSH_PULL):
            if op.step != service.step + 1:
                return Status.STEP
            if op.key in service.undo:
                return Status.TWICE
        if op.action == Action.PULL and op.step not in (service.step, service.step + 1):
            return Status.STEP
        return Status.OK

    def _served(self, job: ReferenceJob, state: JobState, op: Served, held: SlotSet) -> Lanes | None:
        service, position = state.service, op.position(held.chunk) - 1
        if op.action == Action.WRITE:
            return self._write(service, op, position, held.sums)
        if op.action == Action.PULL:
            return self._pull(service, op, position)
        is_tail = position >= op.chunks + op.groups
        if is_tail:
            place = grouped_part(position - op.chunks - op.groups, len(op.tail), op.group)[1]
            index = op.tail[place]
            start = 1 + op.chunks + op.groups
            exponents = state.exponents[op.number(start + exponent_position(place // op.group, op.group))]
            exponent = int(exponents.view(np.int32)[place % op.group])
        else:
            index = grouped_part(position, op.chunks, op.group)[1]
            exponent = self._exponent(state, op, index)
        if not is_tail and exponent == EXPONENT_NOT_FINITE:
            op.classes[index] = held.sums.copy()
            return np.zeros(0, np.uint32)
        self._take_gradient(job, op, index, exponent, held.sums)
        op.done.add(index)
        if len(op.done) == op.chunks:
            service.pushed.add(op.key)
        if op.action == Action.PUSH:
            return np.zeros(0, np.uint32)
        return self._step_chunk(service, op, index)

    def _take_gradient(self, job: ReferenceJob, op: Served, index: int, exponent: int, sums: Lanes) -> None:
        span = op.span(index)
        count = span.stop - span.start
        values, network = np.zeros(count, np.float32), sums.astype(">u4")
        log2 = log2_ceiling(len(job.children))
        dequantize(network.ctypes.data, values.ctypes.data, count, exponent, log2, op.divisor)
        for i, counts in enumerate(op.classes.get(index, np.zeros(0, np.uint32))[:count]):
            bits = value_of_classes(int(counts))
            if bits:
                values.view(np.uint32)[i] = bits
        op.data[span] = values

    def _step_chunk(self, service: Service, op: Served, index: int) -> Lanes:
        """Fused: one chunk's step; the key's step is done with its last chunk."""
        key, before = service.keys[op.key], service.undo[op.key]
        update(key, op, op.span(index), op.data[op.span(index)], before.updates + 1)
        if op.key in service.pushed:
            key.updates = before.updates + 1
            if len(service.pushed) == op.keys:
                service.step += 1
                service.begin()
        return self._words(key.weights, op.span(index))

    def _words(self, values: Floats, span: slice) -> Lanes:
        lanes = np.zeros(self.lanes, np.uint32)
        lanes[: span.stop - span.start] = values[span].view(np.uint32)
        return lanes

    def _write(self, service: Service, op: Served, index: int, sums: Lanes) -> Lanes:
        span = op.span(index)
        op.data[span] = sums.view(np.float32)[: span.stop - span.start]
        op.done.add(index)
        if len(op.done) == op.chunks:
            if op.buffer == 0:
                held = service.keys.setdefault(op.key, Key(op.data))
                held.weights = op.data
            else:
                service.keys[op.key].state[op.buffer] = op.data
            service.keys[op.key].updates, service.step = op.updates, op.step
        return sums

    def _pull(self, service: Service, op: Served, index: int) -> Lanes | None:
        if op.step == service.step + 1 and not service.applied:
            return None
        key = service.keys[op.key]
        words = self._words(key.weights if op.buffer == 0 else key.state[op.buffer], op.span(index))
        op.done.add(index)
        if op.step == service.step + 1 and len(op.done) == op.chunks and op.buffer == 0:
            service.pulled.add(op.key)
            if len(service.pulled) == op.keys:
                service.step += 1
                service.begin()
        return words

    def apply_pushed(self, state: JobState) -> bool:
        """Of a split step: run the optimizer once every key has been pushed."""
        service = state.service
        pushes = {op.key: op for op in state.operations if op.action == Action.PUSH and op.step == service.step + 1}
        if service.applied or not pushes or len(service.pushed) < next(iter(pushes.values())).keys:
            return False
        op = next(iter(pushes.values()))
        rescale, max_norm = op.numbers[5], op.numbers[6]
        norm = np.sqrt(
            sum(float((push.data.astype(np.float64) * rescale) @ (push.data * rescale)) for push in pushes.values())
        )
        scale = np.minimum(1.0, max_norm / (norm + 1e-6)) if op.flags & ServedFlag.CLIP else 1.0
        if op.flags & ServedFlag.SKIP and not np.isfinite(norm):
            service.skipped += 1
        else:
            for push in pushes.values():
                key = service.keys[push.key]
                update(key, push, slice(0, push.elements), push.data * np.float32(scale), key.updates + 1)
                key.updates += 1
        service.applied = True
        return True

    def receive(self, port: int, data: bytes) -> list[tuple[int, bytes]]:
        """As an aggregator; a step that has come together lets results go that waited for it."""
        out = ReferenceAggregator.receive(self, port, data)
        for number, state in self.states.items():
            if number in self.jobs and self.apply_pushed(state):
                out += self._release(self.jobs[number], state)
        return out


def update(key: Key, op: Served, span: slice, gradient: Floats, updates: int) -> None:
    """One optimizer step of some elements, as torch.optim's single-tensor versions."""
    f32 = np.float32
    lr, beta1, beta2, eps, decay, rescale, _ = op.numbers
    w, g = key.weights[span], gradient * f32(rescale)
    state: Callable[[int], Floats] = lambda number: key.state.setdefault(number, np.zeros_like(key.weights))[span]  # noqa: E731
    with np.errstate(all="ignore"):
        if op.optimizer >= 3:
            if op.optimizer == 4:
                w *= f32(1 - lr * decay)
            elif decay:
                g = g + w * f32(decay)
            m, v = state(1), state(2)
            m += (g - m) * f32(1 - beta1)
            v *= f32(beta2)
            v += f32(1 - beta2) * g * g
            denominator = np.sqrt(v) / f32((1 - beta2**updates) ** 0.5) + f32(eps)
            w -= f32(lr / (1 - beta1**updates)) * (m / denominator)
            return
        if decay:
            g = g + w * f32(decay)
        if beta1:
            m = state(1)
            m[:] = g if updates == 1 else m * f32(beta1) + g * f32(1 - beta2)
            g = g + m * f32(beta1) if op.flags & ServedFlag.NESTEROV else m
        w -= f32(lr) * g
