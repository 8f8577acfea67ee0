"""The forwarding pipeline config of a device: the one that runs and, after VERIFY_AND_SAVE, the one to come.

State is carried from program to program as P4Runtime itself would: read out as entities, written in as updates
(``state_migration``). COMMIT does so from the spare switch that has taken the writes since VERIFY_AND_SAVE, and
RECONCILE_AND_COMMIT from the live one, by way of a spare one, so that a state the new program cannot hold is found
before anything changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from emulator.p4runtime.errors import RequestError, invalid
from emulator.p4runtime.pipeline.device_config import DeviceConfig, read_device_config
from emulator.p4runtime.pipeline.package import PackageError
from emulator.p4runtime.pipeline.schema import Schema
from emulator.p4runtime.pipeline.schema_build import build_schema, check_agreement
from emulator.p4runtime.pipeline.state_migration import carry_over
from emulator.p4runtime.translation import (
    TranslationRules,
    Translator,
    data_plane_p4info,
    translated_types,
)
from emulator.p4runtime.view import View
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import RowControl


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program ready to load."""

    p4info: Any
    program: Any
    """What ``SwitchLike.load`` takes."""
    removed: frozenset[int] = frozenset()
    """Ids of the objects that P4Info names and the program lacks."""


class CompileFailure(Exception):
    """The program's author is at fault; the text holds all diagnostics, for people."""


class SwitchLike(RowControl, Protocol):
    def load(self, program: Any) -> None:
        """Replace the program; all state starts from zero."""


@dataclass(frozen=True, slots=True)
class Target:
    """What the server controls, as functions: this package knows neither engines nor threads."""

    switch: SwitchLike
    """The live one."""
    access: Callable[[], AbstractContextManager[Any]]
    """Keeps its data plane still."""
    compile: Callable[[DeviceConfig], Compiled]
    """Raises CompileFailure. May take seconds; called without any lock."""
    spare_switch: Callable[[], SwitchLike]
    """A switch without ports."""
    now_ns: Callable[[], int] = time.monotonic_ns
    """The live switch's clock."""
    has_port: Callable[[int], bool] = lambda port: True
    """Whether the live switch has a port of this number."""
    packets_wait: Callable[[], bool] = lambda: False
    """Whether packets may be waiting at the live switch; asked inside ``access``."""
    ports_down: Callable[[], frozenset[int]] = frozenset
    """Numbers of the live switch's ports that are down now."""
    translation: TranslationRules = field(default_factory=TranslationRules)
    """Rules for types with a translation."""
    packet_out: Callable[[bytes], bool] | None = None
    """Sends a frame into the CPU port; False when it has no room. Raises PortError for too long a frame. None: there is
    no such port."""


@dataclass(frozen=True, slots=True)
class Config:
    """A verified ForwardingPipelineConfig."""

    compiled: Compiled
    message: Any
    """As it was set, with the switch's own P4Info where none was given."""
    schema: Schema
    """Schema with the data plane's widths."""
    own: Any = None
    """The P4Info with the data plane's widths, where types have a translation."""


def make_config(message: Any, compiled: Compiled) -> Config:
    """The config to keep: the message, completed by our P4Info. INVALID_ARGUMENT where the P4Info given disagrees."""
    kept = p4runtime_pb2.ForwardingPipelineConfig()
    kept.CopyFrom(message)
    if message.HasField("p4info") and message.p4info.ByteSize():
        check_agreement(compiled.p4info, message.p4info)
    else:
        kept.p4info.CopyFrom(compiled.p4info)
    # The given P4Info agrees with ours in all that the schema holds, so either builds the same one.
    own = data_plane_p4info(compiled.p4info, compiled.program.view) if translated_types(compiled.p4info) else None
    return Config(compiled, kept, build_schema(own or compiled.p4info, compiled.removed), own)


class Pipeline:
    """Not thread-safe but for `verify`: the caller serialises the rest."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._committed: Config | None = None
        self._saved: Config | None = None
        self._live_view: View | None = None
        self._saved_view: View | None = None
        self._saved_switch: SwitchLike | None = None
        self._translator: Translator | None = None
        """The latest."""

    @property
    def view(self) -> View | None:
        """What Read and Write refer to: the saved program's, if there is one ("SetForwardingPipelineConfig")."""
        return self._saved_view or self._live_view

    @property
    def live_view(self) -> View | None:
        """The running program's."""
        return self._live_view

    @property
    def config(self) -> Any | None:
        """The ForwardingPipelineConfig that `view` is about."""
        current = self._saved or self._committed
        return current.message if current else None

    def verify(self, message: Any) -> Config:
        """Unpack and compile. Raises INVALID_ARGUMENT with what is wrong; changes nothing."""
        try:
            compiled = self._target.compile(read_device_config(message))
        except (PackageError, CompileFailure) as error:
            raise invalid(str(error)) from error
        return make_config(message, compiled)

    def save(self, config: Config) -> None:
        switch = self._target.spare_switch()
        switch.load(config.compiled.program)
        self._saved, self._saved_switch = config, switch
        self._saved_view = self._view(config, switch, nullcontext)

    @property
    def has_saved(self) -> bool:
        return self._saved is not None

    def commit(self, config: Config) -> None:
        """Load a program and clear all state; a saved program is forgotten."""
        self._load_live(config)
        self._forget_saved()

    def restart(self) -> None:
        """Load the running program again, with all state cleared; a saved program is kept."""
        if self._committed is not None:
            self._load_live(self._committed)

    def commit_saved(self) -> None:
        """Load the saved program, with what was written since it was saved."""
        assert self._saved is not None
        assert self._saved_view is not None
        source = self._saved_view
        self._load_live(self._saved, state=source)
        self._forget_saved()

    def reconcile_and_commit(self, config: Config) -> None:
        """Load a program and keep the state. Raises INVALID_ARGUMENT, with nothing changed, where that cannot be."""
        if self.view is None:
            return self.commit(config)
        spare = self._target.spare_switch()
        spare.load(config.compiled.program)
        trial = self._view(config, spare, nullcontext)
        with self._target.access():  # nothing may pass between reading the state and writing it back
            try:
                carry_over(_unlocked(self.view), trial)
            except RequestError as error:
                raise invalid(f"the program cannot take over the present state: {error.message}") from error
            self._load_live(config, state=trial, locked=True)
        self._forget_saved()
        return None

    def _load_live(self, config: Config, *, state: View | None = None, locked: bool = False) -> None:
        target = self._target
        view = self._view(config, target.switch, target.access)
        with nullcontext() if locked else target.access():
            target.switch.load(config.compiled.program)
            if state is not None:
                carry_over(state, _unlocked(view))
        self._committed, self._live_view = config, view

    def _view(self, config: Config, switch: SwitchLike, access: Callable[[], AbstractContextManager[Any]]) -> View:
        target = self._target
        translator = None
        if config.own is not None:
            older = self._translator
            translator = Translator(config.compiled.p4info, config.own, target.translation, older)
            self._translator = translator
        return View(
            config.schema,
            switch,
            access,
            now_ns=target.now_ns,
            has_port=target.has_port,
            packets_wait=target.packets_wait,
            ports_down=target.ports_down,
            translator=translator,
        )

    def _forget_saved(self) -> None:
        self._saved = self._saved_view = self._saved_switch = None


def _unlocked(view: View) -> View:
    """The same view, for a caller who is inside ``access`` already; notes are shared."""
    return replace(view, access=nullcontext)
