"""``netsum compile``. A program that was compiled before is answered from the cache, without loading the compiler."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostagent.cli.options import AS_JSON, DEFINE, INCLUDE, UNDEFINE, parse_defines
from hostagent.cli.parsing import UsageError, argument, command, flag, option

if TYPE_CHECKING:
    from emulator.p4runtime.pipeline.device_config import DeviceConfig
    from emulator.v1model.summaries import Summary


@command(
    argument("program", nargs="?", help="P4 source, bmv2 JSON or package file, or name of a shipped program."),
    option("--dump-after", metavar="PASS", help="Stage or pass to print the program after; see --list-passes."),
    option("--p4info", metavar="FILE", type=Path, help="File to write P4Info to: .txtpb, .bin or .json."),
    DEFINE,
    UNDEFINE,
    INCLUDE,
    flag("--check-only", help="Check of syntax and types only, for any architecture; no code is generated."),
    flag("--strict-bmv2", help="Rejection of what p4c's bmv2 back end rejects, too."),
    flag("--list-passes", help="List of the passes in their order."),
    AS_JSON,
)
def compile_program(
    program: str = "",
    *,
    dump_after: str | None = None,
    p4info: Path | None = None,
    define: list[str] | None = None,
    undefine: list[str] | None = None,
    include: list[Path] | None = None,
    check_only: bool = False,
    strict_bmv2: bool = False,
    list_passes: bool = False,
    as_json: bool = False,
) -> int:
    """Compile a P4 program for v1model; errors are shown with file, line, column and a caret.

    Example:
      netsum compile p4src/allreduce.p4 -D LANES=256 --dump-after reroll
    """
    started = time.perf_counter()
    if list_passes:
        from emulator.v1model.stages import PASSES

        print("\n".join(PASSES))
        return 0
    if not program:
        raise UsageError("missing: a P4 file, or the name of a shipped program", "PROGRAM")
    folders = [str(folder) for folder in include or ()]

    def report(summary: Summary) -> None:
        print_summary(program, summary, time.perf_counter() - started, as_json)

    if not (dump_after or undefine or check_only):
        from emulator.v1model.command import run_warm

        status = run_warm(
            program,
            p4info=str(p4info) if p4info else None,
            defines=parse_defines(define),
            include_paths=folders,
            strict_bmv2=strict_bmv2,
            report=report,
        )
        if status is not None:
            return status
    from emulator.p4.preprocess.preprocessor import UNDEFINED
    from emulator.p4runtime.pipeline.device_config import read_config_file
    from emulator.p4runtime.pipeline.package import PackageError
    from emulator.v1model.command import run_compile

    try:
        config = read_config_file(program)
    except PackageError as error:
        print(f"netsum compile: {error}", file=sys.stderr)
        return 1
    if config is not None:
        if define or undefine or include or dump_after or check_only or strict_bmv2:
            raise UsageError("bmv2 JSON and packages have their options inside: only --p4info and --json apply to them")
        return _compile_config(program, config, p4info, as_json)
    return run_compile(
        program,
        dump_after=dump_after,
        p4info=str(p4info) if p4info else None,
        defines={**parse_defines(define), **dict.fromkeys(undefine or (), UNDEFINED)},
        include_paths=folders,
        check_only=check_only,
        strict_bmv2=strict_bmv2,
        report=report,
    )


def _compile_config(path: str, config: DeviceConfig, p4info: Path | None, as_json: bool) -> int:
    """The exit status."""
    from emulator.p4.errors import CompileError
    from emulator.p4runtime.pipeline.programs import load_config
    from emulator.v1model.command import write_p4info
    from emulator.v1model.summaries import Summary, message_texts

    started = time.perf_counter()
    try:
        compiled = load_config(path, config)
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    info = compiled.p4info
    summary = Summary(
        Path(path).stem, len(info.tables), len(info.actions), len(info.counters) + len(info.direct_counters),
        len(info.registers), len(compiled.object_code), (), message_texts(info), (),
    )  # fmt: skip
    if p4info is not None and (status := write_p4info(summary.p4info, str(p4info), sys.stderr)):
        return status
    print_summary(path, summary, time.perf_counter() - started, as_json)
    return 0


def print_summary(program: str, summary: Summary, seconds: float, as_json: bool) -> None:
    """A line for people, or an object for programs; ``program`` as the user named it."""
    from emulator.p4.errors import counted

    counts: dict[str, Any] = {
        "tables": summary.tables,
        "actions": summary.actions,
        "counters": summary.counters,
        "registers": summary.registers,
        "machine_code_bytes": summary.machine_code_bytes,
        "load_s": round(seconds, 3),
    }
    if as_json:
        print(json.dumps({"program": summary.name, **counts}))
        return
    kinds = ("table", "action", "counter", "register")
    objects = ", ".join(counted(counts[f"{kind}s"], kind) for kind in kinds)
    code = summary.machine_code_bytes / 1024
    print(f"{program}: {objects}; {code:.1f} KiB of machine code, loaded in {seconds:.2f} s")
