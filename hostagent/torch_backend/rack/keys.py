"""One key of the model on this rank during a step: which gradients have come, and where weights go."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hostagent.torch_backend.errors import NetsumError
from hostagent.torch_backend.rack.client import Ticket
from hostagent.torch_backend.rack.layout import KeyLayout, Part, flat


class LocalKey:
    """A key's parameters. ``push`` is what the server is sent, ``weights`` where it answers."""

    def __init__(self, layout: KeyLayout, parameters: Sequence[Tensor]) -> None:
        self.layout = layout
        self.parameters = [parameters[part.index] for part in layout.parts]
        self.tickets: list[Ticket] = []
        self._came: set[int] = set()
        self._gradients: Tensor | None = None
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
        """The key's weights, to be sent."""
        for run, parameter in self._packed_parts():
            run.copy_(flat(parameter))
        return self.weights

    def settle(self) -> None:
        """The answer is there: bring it to the parameters, and tell autograd that they have changed."""
        for run, parameter in self._packed_parts():
            flat(parameter).copy_(run)
        for parameter in self.parameters:
            torch.autograd.graph.increment_version(parameter)

    def begin_step(self) -> None:
        """Forget the last step's gradients."""
        self._came.clear()
        self._gradients = None
        self.tickets = []

    def _packed_parts(self) -> list[tuple[Tensor, Tensor]]:
        if self._packed_weights is None:
            return []
        runs = [self._packed_weights[part.first : part.first + part.count] for part in self.layout.parts]
        return list(zip(runs, self.parameters, strict=True))
