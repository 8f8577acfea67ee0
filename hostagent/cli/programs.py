"""``netsum stf``, ``trace`` and ``ptf``: packets through a P4 program."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path

from hostagent.cli.options import AS_JSON, DEFINE, INCLUDE, parse_defines
from hostagent.cli.parsing import argument, command, flag, integer, option, repeated

PROGRAM = argument("program", help="P4 source or bmv2 JSON file, or name of a shipped program.")
PTF_MISSING = "netsum ptf: PTF is not installed here: pip install ptf"


def _stf_commands() -> str:
    from emulator.harness.stf.usage import TARGET, USAGE

    lines = "\n  ".join(USAGE.values())
    return f"Lines of a test ('#' starts a comment):\n  {lines}\n\n{TARGET}"


@command(
    PROGRAM,
    argument("tests", metavar="TEST.stf", nargs="+", type=Path, help="Packet tests of the program."),
    option("--engine", metavar="ENGINE", help="Execution engine: llvm, interpreter, or both."),
    flag("-v", "--verbose", help="Counters of the switch and log of the program, printed after each test."),
    DEFINE,
    INCLUDE,
    AS_JSON,
    epilog=_stf_commands,
)
def stf(
    program: str,
    tests: list[Path],
    *,
    engine: str = "llvm",
    verbose: bool = False,
    define: list[str] | None = None,
    include: list[Path] | None = None,
    as_json: bool = False,
) -> int:
    """Send packets into a P4 program and compare its output, as p4c's STF tests do.

    An expectation is a prefix unless '$' ends it, '*' is any nibble, and the number of packets of each port that the
    test names must be exact. The exit status is 0 if and only if all expectations were met.

    Example:
      netsum examples demo && netsum stf router.p4 demo/router.stf --engine both
    """
    from emulator.harness.stf.command import run_stf

    return run_stf(
        program,
        [str(test) for test in tests],
        engine=engine,
        as_json=as_json,
        verbose=verbose,
        defines=parse_defines(define),
        include_paths=[str(folder) for folder in include or ()],
    )


@command(
    PROGRAM,
    repeated("--hex", dest="hex_digits", metavar="DIGITS", help="Packet in hexadecimal. Repeatable."),
    option("--pcap", metavar="FILE", type=Path, help="Capture file with the packets."),
    option("--port", metavar="N", type=integer(0, 511), help="Ingress port of the packets."),
    option("--entries", metavar="FILE", type=Path, help="File with table entries and so on, as lines of an STF test."),
    option("--limit", metavar="N", type=integer(1), help="Number of packets to read from the capture."),
    option("--interval", metavar="TIME", help="Time between packets given in hexadecimal, for example 1ms."),
    DEFINE,
    INCLUDE,
    AS_JSON,
)
def trace(
    program: str,
    *,
    hex_digits: list[str] | None = None,
    pcap: Path | None = None,
    port: int = 0,
    entries: Path | None = None,
    limit: int | None = None,
    interval: str = "0ns",
    define: list[str] | None = None,
    include: list[Path] | None = None,
    as_json: bool = False,
) -> int:
    """Show what a P4 program does with packets: parser states, tables, actions and statements by source line.

    With --json, one object per packet, each on a line.

    Example:
      netsum trace router.p4 --port 1 --entries routes.stf \\
        --hex "020000000002 020000000001 0800"
    """
    from emulator.harness.trace_command import TraceRequest, run_trace

    request = TraceRequest(
        program, tuple(hex_digits or ()), None if pcap is None else str(pcap), port,
        None if entries is None else str(entries), limit, interval, as_json, parse_defines(define),
        [str(folder) for folder in include or ()],
    )  # fmt: skip
    return run_trace(request)


@command(argument("folder", metavar="DIR", type=Path, help="Folder for the files, created where it is missing."))
def examples(folder: Path) -> int:
    """Copy the example files of the documentation: a program with its pytest file, packet tests of the router in STF
    and for PTF, a torch script.

    Example:
      netsum examples demo && pytest demo/test_hub.py
    """
    import shutil

    from emulator.p4.library import examples_folder

    source = examples_folder()
    files = sorted(path.relative_to(source) for path in source.rglob("*.*") if "__pycache__" not in path.parts)
    taken = [str(folder / name) for name in files if (folder / name).exists()]
    if taken:
        print(f"netsum examples: {', '.join(taken)}: would be overwritten; name another folder", file=sys.stderr)
        return 1
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, folder / name)
        print(folder / name)
    return 0


@command(forwards="words")
def ptf(words: list[str]) -> int:
    """Run PTF with P4Runtime's messages (`p4.v1`) ready to import, whatever protobuf is installed.

    All options are PTF's; `netsum ptf -- --help` lists them.

    Example:
      netsum ptf --test-dir mytests --interface 1@veth1 \\
        --test-params "grpcaddr='127.0.0.1:9559'"
    """
    script = find_ptf()
    if script is None:
        print(PTF_MISSING, file=sys.stderr)
        return 2
    # makes the modules p4.v1.* and p4.config.v1.* from the installed descriptors, by their usual names
    import emulator.rpc.p4protos  # noqa: F401

    sys.argv = [script, *words]
    runpy.run_path(script, run_name="__main__")
    return 0


def find_ptf() -> str | None:
    """PTF's launcher: a script in the folder of this Python, or in PATH."""
    import shutil

    if importlib.util.find_spec("ptf") is None:
        return None
    installed = Path(sys.executable).parent / "ptf"
    return str(installed) if installed.is_file() else shutil.which("ptf")
