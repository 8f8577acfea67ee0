"""``RackOptimizer``: a torch optimizer with its step in a rack server.

A parameter's hook sends its gradient as soon as backward has finished it; the server sums, steps, and sends the new
weights, which arrive while backward goes on with earlier layers. ``step`` waits for what is still under way. Where
gradients must all be there first (to be clipped, or looked at for NaN), ``step`` fetches the weights.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

import torch
from torch import Tensor

from hostagent.protocol.served import Action, Announcement, Answer, Hyperparameters, ServedFlag
from hostagent.torch_backend.errors import NetsumError, RefusedError
from hostagent.torch_backend.rack import state
from hostagent.torch_backend.rack.client import RackClient, RackService, connect
from hostagent.torch_backend.rack.keys import LocalKey
from hostagent.torch_backend.rack.layout import layout_of
from hostagent.torch_backend.rack.terms import (
    Policy,
    check_groups,
    hyperparameters,
    make_template,
    moves_without_gradient,
    state_names,
)

TIMEOUT_S = 300.0


class RackOptimizer(torch.optim.Optimizer):
    """SGD, NAG, Adam or AdamW in a rack server, on the summed gradients of all ranks.

    A new service gets rank 0's weights; one that exists gives its weights to every rank, and ``step_number`` is the
    last whole step it has. The model must not be wrapped in DDP: its gradients are summed here. ``p.grad`` stays the
    rank's own. Between a parameter's gradient and ``step`` its weights may change at any time.

    Collective, like everything that talks to the server: all ranks of torch.distributed's default group must make it,
    and call ``state_dict``, ``load_state_dict``, ``write_weights`` and ``rejoin``, together.
    """

    _step_supports_amp_scaling = True
    """With this torch's GradScaler does not change gradients and sets `found_inf`, which `step` refuses."""

    def __init__(
        self,
        params: Any,
        optim: Any = "sgd",
        *,
        server: RackService | str | None = None,
        workers: int = 0,
        average: bool = True,
        rescale: float = 1.0,
        max_norm: float = 0.0,
        skip_nonfinite: bool = False,
        overlap: bool = True,
        timeout_s: float = TIMEOUT_S,
        client: RackClient | None = None,
        **options: Any,
    ) -> None:
        """``optim``: torch.optim.SGD, Adam or AdamW, "sgd", "nag", "adam" or "adamw" with their ``options``, or such an
        optimizer, whose state is given to the server.

        ``server``: the service, as RackService, "NAME" or "NAME:NONCE"; by default NETSUM_SERVICE, else a new one.
        ``workers``: the most ranks that it may have from now on, where that is to change: see RackService.
        ``average``: the mean over the ranks, as DDP; else the sum. ``rescale``: multiplies it. ``max_norm``: clips it.
        ``skip_nonfinite``: leaves out a step with a NaN or an infinity in any gradient, on all ranks.
        ``overlap``: push during backward; without it all is pushed in ``step``. ``client``: a job joined already.
        Raises NetsumError.
        """
        params = list(params)
        template, is_nag = make_template(optim, params, options)
        self._template = template
        self._is_made = False
        super().__init__(template.param_groups, template.defaults)
        self._is_made = True
        self._overlap, self._paused = overlap, False
        self._parameters: list[Tensor] = [p for group in self.param_groups for p in group["params"]]
        layouts = layout_of(self.param_groups)
        self._keys = [LocalKey(layout, self._parameters) for layout in layouts]
        if not self._keys:
            raise RefusedError("netsum's RackOptimizer: no parameters")
        self._key_of = {part.index: key for key in self._keys for part in key.layout.parts}
        self.step_number = 0
        """The last whole step, counted from the service's beginning."""
        self.skipped_steps = 0
        """Steps among those that were left out because a gradient was not finite."""
        self.nonfinite_chunks = 0
        """Frames' worth of gradients so far in which some rank's were not finite."""
        self._replaces_model = False
        """The service holds another model, or a part of one, that has taken no step."""
        self._terms: list[Hyperparameters] = []
        self._stepped: list[LocalKey] = []
        """Keys of the step that has begun: those that are not frozen."""
        self._submitted = 0
        self._policy = Policy(is_nag, 1, rescale, max_norm, skip_nonfinite)
        self._client = client or connect(server, timeout_s, workers)
        if average:
            self._policy = replace(self._policy, divisor=self._client.size)
        self._handles: list[Any] = [None] * len(self._parameters)
        try:
            self._hook_all()
            self._begin()
        except BaseException:
            self.close()  # the caller gets no optimizer to close, and the service would stay in use
            raise

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refused, as the server's keys are made with the optimizer."""
        if self._is_made:
            raise RefusedError(
                "netsum's RackOptimizer: parameter groups cannot be added: pass all parameters to the constructor, "
                "those to be trained later with requires_grad False, which are not stepped until it is True"
            )
        super().add_param_group(param_group)

    # --- the step ---

    def _hook_all(self) -> None:
        """Also parameters that have been thawed."""
        for index, parameter in enumerate(self._parameters):
            if self._handles[index] is None and parameter.requires_grad:
                self._handles[index] = self._hook(index, parameter)

    def _hook(self, index: int, parameter: Tensor) -> Any:
        def ready(_: Tensor) -> None:
            if not self._paused and self._overlap and index in self._key_of:
                self._key_of[index].take_gradient(index)
                self._push_ready()

        register: Any = parameter.register_post_accumulate_grad_hook
        return register(ready)

    def _begin_step(self) -> None:
        """With the first gradient that comes: what holds for the whole step."""
        self._stepped = [key for key in self._keys if not key.is_frozen]
        for key in self._stepped:
            key.check_settled(looks=True)
            key.check_thawed(moves_without_gradient(self._template, self.param_groups[key.layout.group]))
        self._terms = self._current_terms()

    def _push_ready(self) -> None:
        """Push keys in their order, as far as they are ready: the same order on every rank."""
        if not self._terms:
            self._begin_step()
        while self._submitted < len(self._stepped) and self._stepped[self._submitted].is_ready:
            key = self._stepped[self._submitted]
            action = Action.PUSH if self._policy.split else Action.PUSH_PULL
            target = None if self._policy.split else key.weights
            key.tickets.append(self._client.submit(self._announce(key, action), key.push, target))
            self._submitted += 1

    def _announce(self, key: LocalKey, action: Action, **more: Any) -> Announcement:
        fields = {"step": self.step_number + 1} | more
        if action in (Action.PUSH, Action.PUSH_PULL):
            fields |= {"keys": len(self._stepped), "terms": self._terms[key.layout.group]}
        return Announcement(action, key.layout.key, key.layout.elements, **fields)

    def _current_terms(self) -> list[Hyperparameters]:
        return [hyperparameters(self._template, group, self._policy) for group in self.param_groups]

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Wait until the weights of the step are in the parameters. Raises NetsumError, naming the lost rank or
        server."""
        if self.__dict__.pop("found_inf", None) is not None:  # set by torch's GradScaler before it calls
            raise RefusedError(
                "netsum's RackOptimizer can't be stepped by a GradScaler, as every rank's would decide by itself: "
                "multiply the loss by a constant, and make the optimizer with rescale=1/constant, skip_nonfinite=True"
            )
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if self._terms and self._terms != self._current_terms():
            raise NetsumError(
                "netsum's RackOptimizer: lr or another option was changed between backward and step(), when gradients "
                "had been pushed with the old one: change it before backward, or make the optimizer with overlap=False"
            )
        with torch.no_grad():
            if not self._terms:
                self._begin_step()
            for key in self._stepped:
                key.check_settled(looks=False)
                key.check_unchanged()
            if not self._stepped:
                raise NetsumError("netsum's RackOptimizer: all parameters are frozen: there is nothing to step")
            for key in self._stepped[self._submitted :]:
                key.fill_missing()
            self._push_ready()
            tickets = [ticket for key in self._stepped for ticket in key.tickets]
            answers = [self._client.wait(ticket) for ticket in tickets]
            flagged = sum(ticket.not_finite for ticket in tickets)
            if self._policy.split:
                answers = self._pull(self._stepped, step=self.step_number + 1)
            self._finish_step(answers, flagged)
        return loss

    def _finish_step(self, answers: list[Answer], flagged: int) -> None:
        for key in self._stepped:
            key.settle()
            key.begin_step()
        self.step_number += 1
        self.skipped_steps = answers[-1].skipped
        self.nonfinite_chunks += flagged
        self._terms, self._submitted = [], 0
        self._hook_all()

    def _pull(self, keys: list[LocalKey], step: int) -> list[Answer]:
        tickets = [self._client.submit(self._announce(key, Action.PULL, step=step), None, key.weights) for key in keys]
        return [self._client.wait(ticket) for ticket in tickets]

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward in this block adds to ``p.grad`` and pushes nothing: the next backward outside pushes the sum."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    # --- weights and state, there and back ---

    def _begin(self) -> None:
        """Give a new service this job's weights and state; take those of one that exists."""
        if self._take_service():
            return
        self.write_weights(more=bool(self._template.state))
        if self._template.state:
            self.load_state_dict(self._template.state_dict())

    def _take_service(self) -> bool:
        """Take over the service's last whole step; False where it has none."""
        answer = self._client.agree(self._keys[-1].layout)
        if answer.newest:
            self._client.resynchronize([key.layout for key in self._keys], answer.newest)
            answer = self._client.query(self._keys[-1].layout)
        is_alike = answer.keys == len(self._keys) and answer.elements == self._keys[-1].layout.elements
        if answer.step == 0 and not is_alike:  # not trained yet
            self._replaces_model = answer.keys > 0
            return False
        if answer.incomplete:
            name = self._client.service.name
            raise RefusedError(
                f"netsum: the last write to service {name!r} was interrupted (a load_state_dict, or a transfer from "
                "another rack's server that was lost), so its weights and state are incomplete: after rejoin(), call "
                "load_state_dict again; or use another service, or restart the server from its checkpoint"
            )
        self._client.check_alike(self._keys[-1].layout, answer, len(self._keys))
        held = answer.state_tensors if answer.updates else 0
        if held and (held > 1) != (len(self._names()[self._keys[-1].layout.group]) > 1):
            name, other = self._client.service.name, "Adam" if held > 1 else "SGD"
            made = type(self._template).__name__
            raise RefusedError(
                f"netsum: service {name!r} holds the state of {other}, which {made} can't continue; use another service"
            )
        self.skipped_steps, self.nonfinite_chunks = answer.skipped, answer.not_finite
        self.step_number = answer.step
        self._take_weights()
        return True

    @torch.no_grad()
    def _take_weights(self) -> None:
        self._pull(self._keys, step=self.step_number)
        for key in self._keys:
            key.settle()

    @torch.no_grad()
    def write_weights(self, *, more: bool = False) -> None:
        """Give rank 0's weights to the server and to every rank, as after ``model.load_state_dict``.

        The last key is written when all others are there: a server that knows it knows the whole model. The first is
        written alone where the server has to forget others first. ``more``: state follows; until the last of it is
        there, a job that joins the service gets the error that it is incomplete.
        """
        if not self._submitted:  # gradients computed with the old weights are taken again
            for key in self._keys:
                key.begin_step()
            self._terms = []
        replaces, self._replaces_model = self._replaces_model, False
        begins, ends = (1, max(1, len(self._keys) - 1)) if replaces else (0, len(self._keys) - 1)
        for number, keys in enumerate((self._keys[:begins], self._keys[begins:ends], self._keys[ends:])):
            tickets = []
            for key in keys:
                memory = key.pack_weights()
                source = memory if self._client.rank == 0 else None
                updates = self._client.query(key.layout).updates
                is_last = key is self._keys[-1] and not more
                flags = (ServedFlag.ANEW if number == 0 else 0) | (0 if is_last else ServedFlag.MORE)
                terms = Hyperparameters(flags=int(flags))
                write = self._announce(key, Action.WRITE, step=self.step_number, updates=updates, terms=terms)
                tickets.append(self._client.submit(write, source, memory))
            for ticket in tickets:
                self._client.wait(ticket)
        for key in self._keys:
            key.settle()

    @torch.no_grad()
    def state_dict(self) -> dict[str, Any]:
        """As torch.optim's of the same optimizer, fetched from the server: it loads into that one, and back.

        A half-precision parameter's state has its float32 weights too, as ``master``.
        """
        packed = super().state_dict()
        packed["state"] = state.fetch(self._client, self._keys, self._names(), self._announce, self.step_number)
        return packed

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Give options, state and this model's weights (rank 0's) to the server; from torch.optim's, or our own."""
        held = dict(state_dict["state"])
        check_groups(self._template, state_dict["param_groups"])
        super().load_state_dict({**state_dict, "state": {}})
        self._template.param_groups = self.param_groups
        state.check(held, self._keys, self._names())
        todo = state.writes(self._keys, self._names(), held)
        self.write_weights(more=bool(todo))
        state.give(self._client, todo, self._announce, held, self.step_number)
        self._take_weights()

    def _names(self) -> list[tuple[str, ...]]:
        return [state_names(self._template, group) for group in self.param_groups]

    # --- the end, and a new beginning ---

    def rejoin(self) -> int:
        """After an error: join a new job of the same service and take its weights; returns the last whole step.

        What the interrupted step had changed is gone. A server that was started again has its checkpoint's step. If it
        had none this raises RefusedError; ``load_state_dict`` can then give it a state that the script has saved. While
        a rank or the server is lost it raises LostError, and can be called again.
        """
        self._client.rejoin()
        for key in self._keys:
            key.begin_step()
        self._terms, self._submitted = [], 0
        if not self._take_service():
            name = self._client.service.name
            raise NetsumError(
                f"netsum: the rack server no longer knows service {name!r}: it was started again without a checkpoint"
            )
        return self.step_number

    def __enter__(self) -> Self:
        """``with RackOptimizer(...) as optimizer:`` closes it at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the job; the service keeps weights and state."""
        for handle in self._handles:
            if handle is not None:
                handle.remove()
        self._client.close()
