"""Compilation of a device config into a program a switch loads, without letting source out of its package.

The compiler reads files through `PackageReader`, which knows the package's members; the include files that come with
the switch it knows itself, and there is nothing else: an ``#include "/etc/passwd"`` from a controller finds no such
file. Programs are cached on disk by content, so a controller that pushes the same package again waits for no compiler.
"""

from __future__ import annotations

import hashlib
import posixpath
from dataclasses import dataclass
from typing import Any

from emulator.bmv2json.document import Bmv2JsonError
from emulator.p4.errors import CompileError
from emulator.p4runtime.pipeline.device_config import DeviceConfig, JsonConfig
from emulator.p4runtime.pipeline.package import Package
from emulator.p4runtime.pipeline.pipeline import Compiled, CompileFailure
from emulator.v1model.architecture import V1MODEL
from emulator.v1model.compiled import CompiledProgram, compile_program, fetch_program, program_file, store_program
from emulator.v1model.control_view import ControlView


@dataclass(frozen=True, slots=True)
class PackageReader:
    """The compiler's view of files: see ``emulator.p4.syntax.source.FileReader``."""

    package: Package

    def __call__(self, path: str) -> str | None:
        text = self.package.files.get(posixpath.normpath(path))
        return None if text is None else text.decode()


def compile_config(config: DeviceConfig, engine: str = "llvm") -> Compiled:
    """Compile, or take from the cache. Raises CompileFailure with all diagnostics."""
    kept = program_file("config", engine, _content(config))
    program = fetch_program(kept)
    if program is None:
        program = _compile_json(config, engine) if isinstance(config, JsonConfig) else _compile(config, engine)
        store_program(kept, program)
    p4info = program.p4info
    return Compiled(p4info, program, _removed(p4info, program.view) if isinstance(config, JsonConfig) else frozenset())


def _removed(p4info: Any, view: ControlView) -> frozenset[int]:
    """Ids of what a client's P4Info names and the JSON lacks: p4c removes it from that only."""
    kinds: list[tuple[Any, tuple[Any, ...]]] = [
        (p4info.tables, view.tables),
        (p4info.counters, view.counters),
        (p4info.registers, view.registers),
        (p4info.meters, view.meters),
        (p4info.action_profiles, view.profiles),
        (p4info.digests, view.digests),
        (p4info.value_sets, view.value_sets),
    ]
    actions = [action for table in view.tables for action in table.actions]
    ids: set[int] = {each.preamble.id for each in p4info.actions} - {action.id for action in actions}
    for described, present in kinds:
        names = {each.name for each in present}
        ids.update(each.preamble.id for each in described if each.preamble.name not in names)
    return frozenset(ids)


def _compile_json(config: JsonConfig, engine: str) -> CompiledProgram:
    from emulator.bmv2json.program import load_json
    from emulator.rpc.p4protos import p4info_pb2

    p4info = p4info_pb2.P4Info.FromString(config.p4info) if config.p4info else None
    try:
        return compile_program(load_json(config.content, p4info), engine=engine)
    except Bmv2JsonError as error:
        raise CompileFailure(f"the bmv2 JSON: {error}") from error
    except RecursionError:
        raise CompileFailure("the bmv2 JSON is nested too deeply") from None


def _compile(package: Package, engine: str) -> CompiledProgram:
    from emulator.p4.frontend import compile_source  # a warm start needs no front end

    try:
        checked = compile_source(
            package.main,
            architecture=V1MODEL,
            defines=package.defines,
            include_paths=package.include_paths,
            file_reader=PackageReader(package),
        )
    except CompileError as error:
        raise CompileFailure(str(error)) from error
    return compile_program(checked, engine=engine)


def _content(config: DeviceConfig) -> tuple[object, ...]:
    """All of a config that decides what is compiled from it, with digests in place of long texts."""
    if isinstance(config, JsonConfig):
        return "json", _digest(config.content), _digest(config.p4info)
    files = tuple(sorted((name, _digest(text)) for name, text in config.files.items()))
    return "package", config.main, tuple(sorted(config.defines.items())), config.include_paths, files


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
