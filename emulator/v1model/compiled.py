"""A program ready for a switch: compiled, or to be interpreted; and the cache that makes the second start fast.

What a cached program is keyed by is everything that decides its machine code: the texts of the source and of all files
it includes, the macros, this compiler's own sources, and the machine. A small index (by path and macros) remembers
which files a program includes, so that a warm load reads files and runs no front end.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from emulator.native.folders import cache_root
from emulator.native.gc_pause import gc_paused
from emulator.native.jit_cache import machine_key
from emulator.p4 import ir
from emulator.p4.deep_stack import with_room
from emulator.p4.errors import CompileError, Diagnostic, Kind
from emulator.p4.llvm.machine import make_object
from emulator.v1model.control_view import ControlView
from emulator.v1model.layout import ArrayLayout, PipelineLayout, Word, lay_out
from emulator.v1model.target import V1MODEL_TARGET

T = TypeVar("T")

ENGINES = ("llvm", "interpreter")
WITH_SOURCE = "llvm, with source"
"""A third choice of engine: machine code together with the program it was made from, for traces."""


class Checked(Protocol):
    """What compilation starts from; the front end's result, or a test's."""

    @property
    def program(self) -> ir.Program: ...
    @property
    def p4info(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    name: str
    engine: str
    view: ControlView
    layout: PipelineLayout | None
    """None for the interpreter."""
    object_code: bytes
    """An object file with `layout.SYMBOL`; empty for the interpreter."""
    program: ir.Program | None
    """As the front end left it; kept for the interpreter, and `WITH_SOURCE`."""
    p4info_bytes: bytes = b""
    """Serialised P4Info; empty where there is none."""
    warnings: tuple[str, ...] = ()
    sources: tuple[tuple[str, str], ...] = field(default=())
    """(path, SHA-256) of every file read."""
    packed_program: bytes = field(default=b"", repr=False)
    """Program that the machine code was made from, for `with_egress_queues`."""

    @property
    def p4info(self) -> Any:
        from emulator.rpc.p4protos import p4info_pb2

        return p4info_pb2.P4Info.FromString(self.p4info_bytes)


def compile_program(checked: Checked, *, engine: str = "llvm", cache: bool = True) -> CompiledProgram:
    """Compile the front end's result to what a switch loads. ``cache`` is about machine code on disk."""
    if engine not in (*ENGINES, WITH_SOURCE):
        raise ValueError(f"unknown engine {engine!r}: choose one of {', '.join(ENGINES)}")
    return _nested(checked.program, lambda: _compile_program(checked, engine, cache))


def _compile_program(checked: Checked, engine: str, cache: bool) -> CompiledProgram:
    from emulator.v1model.make_control_view import make_view

    program, p4info = checked.program, checked.p4info
    view = make_view(program, p4info)
    rest: dict[str, Any] = {
        "p4info_bytes": p4info.SerializeToString() if p4info is not None else b"",
        "warnings": tuple(str(w) for w in getattr(checked, "warnings", ())),
        "sources": tuple(getattr(checked, "sources", ())),
    }
    if engine == "interpreter":
        from emulator.p4.ir.verify import verify

        verify(program, V1MODEL_TARGET)
        return CompiledProgram(program.name, engine, view, None, b"", program, **rest)
    layout, text = generate(program)
    code = _cached_object(text) if cache else make_object(text)
    kept = program if engine == WITH_SOURCE else None
    packed = zlib.compress(pickle.dumps(program), 1)
    return CompiledProgram(program.name, ENGINES[0], view, layout, code, kept, packed_program=packed, **rest)


def with_egress_queues(compiled: CompiledProgram, *, cache: bool = True) -> CompiledProgram:
    """The same program with machine code for a switch that has egress queues: another function over the same memory.
    Takes as long as compilation the first time; an interpreted program is as it was."""
    if compiled.layout is None:
        return compiled
    file = program_file("egress queues", hashlib.sha256(compiled.packed_program).hexdigest())
    queued = fetch_program(file) if cache else None
    if queued is None:
        program = with_room(lambda: pickle.loads(zlib.decompress(compiled.packed_program)))
        layout, text = generate(program, egress_queues=True)
        code = _cached_object(text) if cache else make_object(text)
        queued = replace(compiled, layout=layout, object_code=code, program=None, packed_program=b"")
        if cache:
            store_program(file, queued)
    return queued


def generate(program: ir.Program, *, egress_queues: bool = False) -> tuple[PipelineLayout, str]:
    """Memory layout and LLVM text of a program."""
    with gc_paused():
        return _nested(program, lambda: _generate(program, egress_queues))


def _nested(program: ir.Program, work: Callable[[], T]) -> T:
    """``work`` with the deepest stack that is available; raises `CompileError` where it overflows."""
    try:
        return with_room(work)
    except RecursionError:
        message = "something in this program is nested too deeply to be compiled"
        raise CompileError((Diagnostic(Kind.SYNTAX, message, ir.Span(program.name, 1, 1, 1, 2)),)) from None


def _generate(program: ir.Program, egress_queues: bool) -> tuple[PipelineLayout, str]:
    # a switch whose programs are all in the cache needs none of these
    from emulator.p4.ir.verify import verify
    from emulator.p4.passes import run_passes
    from emulator.v1model.llvm import library, pipeline

    verify(program, V1MODEL_TARGET)
    lowered = run_passes(program, V1MODEL_TARGET)
    layout = lay_out(lowered)
    module, sizes = pipeline.write_module(lowered, layout, V1MODEL_TARGET, egress_queues=egress_queues)
    needed = ((Word.QUEUES, sizes.queues), (Word.EGRESS_QUEUES, sizes.egress_queues))
    layout = replace(layout, arrays=(*layout.arrays, *(ArrayLayout(word, size) for word, size in needed if size)))
    text = str(module)
    if library.needed(module):
        text = library.link(text)
    return layout, text


# --- The cache --------------------------------------------------------------------------------------------------


@functools.cache
def compiler_digest() -> str:
    """SHA-256 over this compiler's own sources and the machine."""
    digest = hashlib.sha256(machine_key().encode())
    root = Path(__file__).resolve().parents[1]
    for part in ("native", "p4", "v1model", "bmv2json", "ports"):
        for folder, _, names in sorted(os.walk(root / part)):
            for name in sorted(names):
                if name.endswith((".py", ".p4")):
                    with open(os.path.join(folder, name), "rb", buffering=0) as file:
                        digest.update(file.read())
    return digest.hexdigest()


def _folder() -> Path:
    return cache_root() / "programs"


def _store(path: Path, content: bytes) -> None:
    """Atomic, also with several processes at once; a cache that cannot be written is not an error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError:
        return


def _fetch(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def fetch_program(path: Path) -> CompiledProgram | None:
    """A program kept by `store_program`; None where there is none, or the file is damaged or of something else."""
    content = _fetch(path)
    if content is None:
        return None
    try:
        compiled = pickle.loads(content)
    except Exception:  # whatever a damaged file makes pickle raise
        return None
    return compiled if isinstance(compiled, CompiledProgram) else None


def store_program(path: Path, compiled: CompiledProgram) -> None:
    """Keep a program for `fetch_program`. A cache that cannot be written is not an error."""
    _store(path, with_room(lambda: pickle.dumps(compiled)))


def program_file(*settings: object) -> Path:
    """Where a program is kept that this compiler, in its present version, makes from ``settings`` (by their repr)."""
    return _folder() / f"{hashlib.sha256(repr((compiler_digest(), settings)).encode()).hexdigest()}.program"


def _cached_object(text: str) -> bytes:
    key = hashlib.sha256(f"{machine_key()}\n{text}".encode()).hexdigest()
    path = _folder() / f"{key}.o"
    code = _fetch(path)
    if code is None:
        code = make_object(text)
        _store(path, code)
    return code


def load(
    path: str | Path,
    defines: Mapping[str, str] | None = None,
    *,
    engine: str = "llvm",
    include_paths: Sequence[str | Path] = (),
    cache: bool = True,
) -> CompiledProgram:
    """Find a program (by its path, else among those shipped) and compile it, or take it from the cache."""
    from emulator.p4.library import find_program

    source = Path(find_program(str(path)))
    index = _index(source, engine, defines or {}, include_paths)
    if cache and (known := _warm(index)) is not None:
        return known
    compiled = _compile_file(source, defines or {}, include_paths, engine, cache=cache)
    if cache:
        store_program(index, compiled)
    return compiled


def load_checked(
    path: str, checked: Checked, defines: Mapping[str, str] | None = None, *, include_paths: Sequence[str | Path] = ()
) -> CompiledProgram:
    """`load` for a program that the front end has been through already: for the next `load` to find it."""
    index = _index(Path(path), ENGINES[0], defines or {}, include_paths)
    if (known := _warm(index)) is not None:
        return known
    compiled = compile_program(checked)
    store_program(index, compiled)
    return compiled


def _index(path: Path, engine: str, defines: Mapping[str, str], include_paths: Sequence[str | Path]) -> Path:
    """Where the program made with these settings is kept."""
    return program_file("file", str(path), engine, tuple(sorted(defines.items())), tuple(map(str, include_paths)))


def _warm(index: Path) -> CompiledProgram | None:
    """The cached program, if every file it was made from still has the same content."""
    compiled = fetch_program(index)
    if compiled is None or not compiled.sources:
        return None
    return compiled if all(_unchanged(Path(p), digest) for p, digest in compiled.sources) else None


def _unchanged(path: Path, digest: str) -> bool:
    content = _fetch(path)
    return content is not None and hashlib.sha256(content).hexdigest() == digest


def _compile_file(
    path: Path, defines: Mapping[str, str], include_paths: Sequence[str | Path], engine: str, *, cache: bool
) -> CompiledProgram:
    from emulator.p4.frontend import compile_source
    from emulator.v1model.architecture import V1MODEL

    checked = compile_source(
        str(path), architecture=V1MODEL, defines=defines, include_paths=tuple(map(str, include_paths))
    )
    return compile_program(checked, engine=engine, cache=cache)
