"""Programs from files, whatever they are in: P4 source, a package of it, or the JSON that p4c writes for bmv2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from emulator.p4.errors import CompileError
from emulator.p4.library import find_program
from emulator.p4runtime.pipeline.compilation import compile_config
from emulator.p4runtime.pipeline.device_config import DeviceConfig, JsonConfig, read_config_file
from emulator.p4runtime.pipeline.package import PackageError
from emulator.p4runtime.pipeline.pipeline import CompileFailure
from emulator.v1model.compiled import CompiledProgram, load

P4INFO_ENDINGS = (".p4info.txtpb", ".p4info.txt", ".p4info.bin", ".p4info.json")
"""Suffix of the P4Info file that p4c writes next to ``PROGRAM.json`` with --p4runtime-files."""


class WrongConfig(CompileError):
    """A file of bmv2's JSON, or a package, that cannot be run."""

    def __init__(self, text: str) -> None:
        super().__init__(())
        self.args = (text,)
        self._text = text

    def __str__(self) -> str:
        return self._text


def load_program(
    path: str, defines: Mapping[str, str] | None = None, *, engine: str = "llvm", include_paths: Sequence[str] = ()
) -> CompiledProgram:
    """`compiled.load`, a package, and bmv2's JSON with the P4Info next to it, if any. Raises CompileError and
    ProgramNotFound."""
    found = find_program(path)
    try:
        config = read_config_file(found)
    except PackageError as error:
        raise WrongConfig(str(error)) from None
    if config is None:
        return load(found, defines, engine=engine, include_paths=include_paths)
    return load_config(found, config, engine)


def load_config(path: str, config: DeviceConfig, engine: str = "llvm") -> CompiledProgram:
    """``config``: of `read_config_file`. Raises CompileError."""
    given = p4info_beside(path) if isinstance(config, JsonConfig) else None
    try:
        if isinstance(config, JsonConfig) and given is not None:
            config = replace(config, p4info=given[1])
        compiled = compile_config(config, engine)
    except CompileFailure as error:
        with_p4info = f" (with the P4Info of {given[0]})" if given else ""
        raise WrongConfig(f"{path}{with_p4info}: {error}") from None
    program: CompiledProgram = compiled.program
    return program


def p4info_beside(path: str) -> tuple[Path, bytes] | None:
    """The file and the message in it, serialized."""
    for ending in P4INFO_ENDINGS:
        file = Path(path).with_suffix(ending)
        if file.is_file():
            return file, _read_p4info(file).SerializeToString(deterministic=True)
    return None


def _read_p4info(file: Path) -> Any:
    from google.protobuf import json_format, text_format
    from google.protobuf.message import DecodeError

    from emulator.rpc.p4protos import p4info_pb2

    message = p4info_pb2.P4Info()
    try:
        if file.suffix == ".bin":
            message.ParseFromString(file.read_bytes())
        elif file.suffix == ".json":
            json_format.Parse(file.read_text(), message)
        else:
            text_format.Parse(file.read_text(), message)
    except (OSError, UnicodeDecodeError, DecodeError, json_format.ParseError, text_format.ParseError) as error:
        raise WrongConfig(f"{file}: it is not P4Info: {error}") from None
    return message
