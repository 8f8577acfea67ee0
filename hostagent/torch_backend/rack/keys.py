"""One key of the model on this rank during a step: which gradients have come, and where weights go."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hostagent.torch_backend.errors import NetsumError
from hostagent.torch_backend.rack.client import Ticket
from hostagent.torch_backend.rack.layout import KeyLayout, Part, flat, is_dense

SAMPLES = 1024
"""Elements of a parameter that are looked at for changes which torch does not count, those by way of ``.data``."""
BITS = {4: torch.int32, 2: torch.int16}
"""By the size of an element: NaNs are compared, too."""


class LocalKey:
    """A key's parameters. ``push`` is what the server is sent, ``weights`` where it answers."""

    def __init__(self, layout: KeyLayout, parameters: Sequence[Tensor]) -> None:
        self.layout = layout
        self.parameters = [parameters[part.index] for part in layout.parts]
        self.tickets: list[Ticket] = []
        self._came: set[int] = set()
        self._sent: dict[int, tuple[Tensor, int]] = {}
        """Parameter -> its gradient, and torch's count of changes to it, when it was taken during backward."""
        self._gradients: Tensor | None = None
        self._samples: list[Tensor] = []
        self._settled: list[tuple[int, int]] = []
        """By parameter: where its memory was, and torch's count of changes to it, when the server's weights came."""
        self._packed_gradients, self._packed_weights = None, None
        if layout.is_packed:
            self._packed_gradients = torch.zeros(layout.elements, dtype=layout.dtype)
            self._packed_weights = torch.zeros(layout.elements, dtype=layout.dtype)

    def take_gradient(self, index: int) -> None:
        """Autograd has finished a parameter's gradient. Raises NetsumError for the second one of a step."""
        if index in self._came:
            raise NetsumError(
                f"netsum's RackOptimizer: parameter {index} got a second gradient before step(), and the first may "
                "have been sent: run every backward but the last under optimizer.no_sync()"
            )
        self._came.add(index)
        place = next(number for number, part in enumerate(self.layout.parts) if part.index == index)
        self._place(place, self.layout.parts[place])
        gradient = self.parameters[place].grad
        assert gradient is not None, "it was placed"
        self._sent[index] = gradient, gradient._version

    def check_unchanged(self) -> None:
        """Raises NetsumError where a gradient was changed after it had been taken: the server would not know."""
        for part, parameter in zip(self.layout.parts, self.parameters, strict=True):
            sent = self._sent.get(part.index)
            if sent is not None and (parameter.grad is not sent[0] or sent[0]._version != sent[1]):
                raise NetsumError(
                    f"netsum's RackOptimizer: the gradient of parameter {part.index} was changed between backward and "
                    "step(), when it had been pushed: clip with max_norm=, scale with rescale=, don't wrap the model "
                    "in DDP; or make the optimizer with overlap=False, and the ranks' own gradients may be changed"
                )

    @property
    def is_frozen(self) -> bool:
        """Has none of the parameters a gradient?"""
        return not any(parameter.requires_grad for parameter in self.parameters)

    def check_thawed(self, moves_without_gradient: bool) -> None:
        """Raises NetsumError where a frozen parameter would be stepped because it shares the key.

        ``moves_without_gradient``: gradients of zeros change weights, by decay or by what the optimizer remembers.
        """
        frozen = [
            str(part.index)
            for part, parameter in zip(self.layout.parts, self.parameters, strict=True)
            if not parameter.requires_grad
        ]
        if frozen and moves_without_gradient:
            raise NetsumError(
                f"netsum's RackOptimizer: parameters {', '.join(frozen)} were frozen after the optimizer was made, and "
                "share a key of the server with others, whose steps would change them: freeze them before, or put them "
                "into a separate parameter group"
            )

    def _place(self, place: int, part: Part) -> None:
        parameter = self.parameters[place]
        gradient = parameter.grad
        if gradient is None:
            raise NetsumError(f"netsum's RackOptimizer: the gradient of parameter {part.index} is gone")
        if gradient.layout is not torch.strided:
            raise NetsumError(f"netsum's RackOptimizer: parameter {part.index} has a sparse gradient; use a dense one")
        is_plain = gradient.dtype == parameter.dtype and gradient.stride() == parameter.stride()
        if self._packed_gradients is not None:
            target = self._packed_gradients[part.first : part.first + part.count]
            target.as_strided(parameter.shape, parameter.stride(), part.first).copy_(gradient.detach())
        elif is_plain and not gradient.is_neg():
            self._gradients = flat(gradient)
        else:
            self._gradients = flat(torch.empty_like(parameter).copy_(gradient.detach()))

    @property
    def is_ready(self) -> bool:
        """Have all gradients come?"""
        return len(self._came) == len(self.parameters)

    def fill_missing(self) -> None:
        """Parameters that backward did not reach have a gradient of zeros, as others' ranks may have reached them."""
        for place, part in enumerate(self.layout.parts):
            if part.index in self._came:
                continue
            self._came.add(part.index)
            if self.parameters[place].grad is not None:  # accumulated under no_sync()
                self._place(place, part)
            elif self._packed_gradients is None:
                self._gradients = torch.zeros(part.count, dtype=self.layout.dtype)
            else:
                self._packed_gradients[part.first : part.first + part.count] = 0

    @property
    def push(self) -> Tensor:
        """The gradients, once all are there."""
        held = self._packed_gradients if self._packed_gradients is not None else self._gradients
        assert held is not None, "a key is pushed when it is ready"
        return held

    @property
    def weights(self) -> Tensor:
        """Where the server's answer goes: the parameter itself, or a run for all of the key's."""
        return flat(self.parameters[0]) if self._packed_weights is None else self._packed_weights

    def pack_weights(self) -> Tensor:
        """The key's weights, to be sent. Raises NetsumError for a parameter that no longer is what it was."""
        for part, parameter in zip(self.layout.parts, self.parameters, strict=True):
            if (parameter.dtype, parameter.numel()) != (self.layout.dtype, part.count) or not is_dense(parameter):
                raise NetsumError(
                    f"netsum's RackOptimizer: parameter {part.index} now has {parameter.numel()} elements of "
                    f"{parameter.dtype} (it had {part.count} of {self.layout.dtype}), or no longer fills one run of "
                    "memory: make a new optimizer"
                )
        for run, parameter in self._packed_parts():
            run.copy_(flat(parameter))
        return self.weights

    def settle(self) -> None:
        """The answer has arrived: copy it to the parameters, and increment their autograd versions."""
        for run, parameter in self._packed_parts():
            flat(parameter).copy_(run)
        for parameter in self.parameters:
            torch.autograd.graph.increment_version(parameter)
        self._settled = [(parameter.data_ptr(), parameter._version) for parameter in self.parameters]
        self._samples = [_sample(parameter).clone() for parameter in self.parameters]

    def check_settled(self, *, looks: bool) -> None:
        """Raises NetsumError if weights were changed outside of step(), which the server does not know. ``looks``:
        compare samples of the elements too; not while the server may write to them."""
        for place, (part, parameter) in enumerate(zip(self.layout.parts, self.parameters, strict=True)):
            is_same = (parameter.data_ptr(), parameter._version) == self._settled[place]
            if not is_same or (looks and not torch.equal(_sample(parameter), self._samples[place])):
                raise NetsumError(
                    f"netsum's RackOptimizer: parameter {part.index} was changed outside of step(), which the server, "
                    "where the weights are, does not know: call write_weights() on all ranks after such a change (the "
                    "model's load_state_dict, an initialization, a clamp_)"
                )

    def begin_step(self) -> None:
        """Forget the last step's gradients."""
        self._came.clear()
        self._sent.clear()
        self._gradients = None
        self.tickets = []

    def _packed_parts(self) -> list[tuple[Tensor, Tensor]]:
        if self._packed_weights is None:
            return []
        runs = [self._packed_weights[part.first : part.first + part.count] for part in self.layout.parts]
        return list(zip(runs, self.parameters, strict=True))


def _sample(parameter: Tensor) -> Tensor:
    memory = flat(parameter)
    return memory[:: max(1, memory.numel() // SAMPLES)].view(BITS[memory.element_size()])
