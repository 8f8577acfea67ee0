"""The ``p4c`` and ``p4c-bm2-ss`` commands: netsum's compiler behind the command lines of p4c's.

Makefiles and Mininet scripts find them by name in PATH. Output: bmv2's JSON, P4Info, the program's table entries,
preprocessed text.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.p4.frontend import Checked

DRIVER, BACK_END = "p4c", "p4c-bm2-ss"
VERSION = "1.2.5"
"""The release of p4c whose options and language are followed; scripts compare it."""
USAGE_ERROR = 1
"""As p4c's own."""
WITH_OPTIONAL_VALUE = ("--Werror", "--Wdisable", "--Wwarn", "--Winfo", "--disable-annotations")
NO_OWN_IR = "it is about p4c's own intermediate form; `netsum compile --dump-after NAME` shows netsum's"
REFUSED = {
    "--toJSON": NO_OWN_IR, "--toJson": NO_OWN_IR, "--fromJSON": NO_OWN_IR, "--fromJson": NO_OWN_IR,
    "--pp": "netsum does not print programs; -E shows the preprocessed source",
}  # fmt: skip
"""Options of p4c that netsum has not, and why."""
IGNORED = (
    "-g", "--debug", "--ndebug", "-v", "-c", "--compile", "-S", "-e", "--nocpp", "--emit-externs", "--testJson",
    "--loopsUnroll", "--parser-inline-opt", "--preferSwitch",
)  # fmt: skip
IGNORED_WITH_VALUE = (
    "-T", "--Wwarn", "--Winfo", "--maxErrorCount", "--top4", "--dump", "--disable-annotations",
    "--excludeFrontendPasses", "--excludeMidendPasses",
)  # fmt: skip
"""How p4c works and what it tells of that; the program's meaning is the same. A preprocessed program is one that the
preprocessor leaves as it is."""
TARGETS = ("bmv2", "bmv2-ss-p4org", "bmv2-v1model-p4org", "simple_switch")


def p4c() -> None:
    """Entry point of the script: the driver, which names its output after the program."""
    sys.exit(run(sys.argv[1:], DRIVER))


def p4c_bm2_ss() -> None:
    """Entry point of the script: the back end, which writes the file that ``-o`` names."""
    sys.exit(run(sys.argv[1:], BACK_END))


def run(words: Sequence[str], name: str = BACK_END) -> int:
    """The exit status: 0, or 1 for a program or a command line with errors."""
    parser = _parser(name)
    words = _passed_on(words)
    # the values of these stand behind '=' only: the next word may be the program
    options, unknown = parser.parse_known_args([f"{word}=" if word in WITH_OPTIONAL_VALUE else word for word in words])
    if unknown:
        return _refuse(name, _unknown(unknown[0], name))
    if message := _wrong(options):
        return _refuse(name, message)
    return _compile(options, name)


def _passed_on(words: Sequence[str]) -> list[str]:
    """The driver's ``-Xp4c WORD`` and ``-Xpreprocessor WORD`` without the option: compiler and preprocessor are one."""
    plain: list[str] = []
    for word in words:
        option, equals, value = word.partition("=")
        if option not in ("-Xp4c", "-Xpreprocessor"):
            plain.append(word)
        elif equals:
            plain.append(value)
    return plain


def _unknown(word: str, name: str) -> str:
    if not word.startswith("-"):
        return f"{word}: one program at a time"
    option = word.partition("=")[0]
    if option in REFUSED:
        return f"{option} is not supported: {REFUSED[option]}"
    return f"unknown option {word}: {name} --help lists those that netsum has"


def _refuse(name: str, message: str) -> int:
    print(f"{name}: {message}", file=sys.stderr)
    return USAGE_ERROR


# --- the command line -------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """argparse's own, not `hostagent.cli.parsing.Parser`, which reads what netsum's commands and simple_switch have in
    common: p4c's mistakes end with status 1, and some of its options take a value only behind ``=``, so that the next
    word may be the program; `Option` can say neither."""

    def error(self, message: str) -> Any:
        self.exit(USAGE_ERROR, f"{self.prog}: {message}\n")


def _parser(name: str) -> _Parser:
    parser = _Parser(
        prog=name,
        description="Compile a P4_16 program for v1model to the JSON of bmv2's simple_switch.",
        epilog=f"Example: {name} --arch v1model --p4runtime-files router.p4info.txtpb "
        f"-o {'build' if name == DRIVER else 'router.json'} router.p4",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("program", metavar="PROGRAM.p4")
    what = "folder for NAME.json and NAME.p4i (default: .)" if name == DRIVER else "JSON file (default: none)"
    add("-o", "--output", dest="output", metavar="PATH", help=what)
    add("-I", dest="include", metavar="FOLDER", action="append", default=[], help="folder of include files")
    add("-D", dest="define", metavar="NAME[=VALUE]", action="append", default=[], help="macro")
    add("-U", dest="undefine", metavar="NAME", action="append", default=[], help="macro to leave undefined")
    add("-E", dest="preprocess", action="store_true", help="preprocess only")
    add("--p4runtime-files", metavar="FILES", help="P4Info files, by commas; format by suffix (.txtpb, .json, .bin)")
    add("--p4runtime-file", metavar="FILE", help="P4Info file in the format of --p4runtime-format")
    add("--p4runtime-format", choices=("binary", "json", "text"), default="binary")
    add(
        "--p4runtime-entries-files",
        metavar="FILES",
        help="files for the program's table entries, a P4Runtime WriteRequest; format by suffix as above",
    )
    add("--p4runtime-entries-file", metavar="FILE", help="the same in the format of --p4runtime-format")
    add("--std", metavar="LANGUAGE", help="p4-16, the only one")
    add("--p4v", metavar="VERSION", help="16, the only one")
    add("-x", dest="language", metavar="LANGUAGE", help="p4-16, the only one")
    add("-b", "--target", dest="target", metavar="TARGET", help="bmv2, the only one")
    add("-a", "--arch", dest="arch", metavar="ARCHITECTURE", help="v1model, the only one")
    add("--Werror", metavar="", help="warnings are errors")
    add("--Wdisable", metavar="", help="no warnings; either with =KIND is without effect: warnings have no kinds here")
    add("-V", "--version", action="version", version=f"{name} {VERSION} (netsum)")
    ignored = parser.add_argument_group("accepted, and without effect", ", ".join(IGNORED + IGNORED_WITH_VALUE))
    for option in IGNORED:
        ignored.add_argument(option, action="store_true", dest="ignored", help=argparse.SUPPRESS)
    for option in IGNORED_WITH_VALUE:
        ignored.add_argument(option, dest="ignored", help=argparse.SUPPRESS)
    return parser


def _wrong(options: argparse.Namespace) -> str:
    """What the command line asks for that there is not; empty if it is right."""
    for name, value in (("--std", options.std), ("-x", options.language), ("--p4v", options.p4v)):
        if value is not None and value.replace("_", "-") not in ("p4-16", "P4-16", "16", "1.2"):
            return f"{name} {value}: netsum compiles P4_16 only"
    if options.target is not None and options.target not in TARGETS:
        return f"--target {options.target}: netsum's target is bmv2"
    if options.arch is not None and options.arch not in ("v1model", "ss"):
        return f"--arch {options.arch}: netsum's architecture is v1model"
    from emulator.v1model.command import P4INFO_SUFFIXES

    for name in ("p4runtime-files", "p4runtime-entries-files"):
        for path in _files(options, name):
            if Path(path).suffix not in P4INFO_SUFFIXES:
                return f"--{name} {path}: the suffix must be one of {', '.join(P4INFO_SUFFIXES)}"
    if not Path(options.program).is_file():
        return f"{options.program}: no such file"
    return ""


def _files(options: argparse.Namespace, name: str) -> list[str]:
    return [path for path in (getattr(options, name.replace("-", "_")) or "").split(",") if path]


# --- compilation ------------------------------------------------------------------------------------------------


def _compile(options: argparse.Namespace, name: str) -> int:
    from emulator.p4.errors import CompileError
    from emulator.p4.frontend import compile_source
    from emulator.p4.preprocess.preprocessor import UNDEFINED
    from emulator.v1model.architecture import V1MODEL

    defines: dict[str, Any] = {}
    for text in options.define:
        macro, equals, value = text.partition("=")
        defines[macro] = value if equals else "1"
    defines |= dict.fromkeys(options.undefine, UNDEFINED)
    try:
        if options.preprocess or name == DRIVER:
            status = _preprocess(options, name, defines)
            if status or options.preprocess:
                return status
        checked = compile_source(options.program, architecture=V1MODEL, defines=defines, include_paths=options.include)
        if options.Wdisable != "":
            for warning in checked.warnings:
                print(warning, file=sys.stderr)
        if options.Werror == "" and checked.warnings:
            return _refuse(name, "warnings are errors (--Werror); nothing was written")
        return _write(options, name, checked)
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        return _refuse(name, f"{error.filename}: {error.strerror}")


def _stem(options: argparse.Namespace) -> Path:
    """Path of the driver's output files, without their endings."""
    folder = Path(options.output or ".")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / Path(options.program).stem


def _preprocess(options: argparse.Namespace, name: str, defines: dict[str, Any]) -> int:
    """The driver writes NAME.p4i, the back end prints."""
    from emulator.p4.frontend import run_stages
    from emulator.p4.preprocess.preprocessor import preprocessed_text
    from emulator.v1model.architecture import V1MODEL

    stages, _ = run_stages(
        options.program, architecture=V1MODEL, defines=defines, include_paths=options.include, until="preprocess"
    )
    assert stages.tokens is not None
    text = preprocessed_text(stages.tokens)
    if name == DRIVER:
        _stem(options).with_suffix(".p4i").write_text(text)
    else:
        print(text, end="")
    return 0


def _write(options: argparse.Namespace, name: str, checked: Checked) -> int:
    from emulator.bmv2json.write import write_json
    from emulator.p4runtime.initial_entries import initial_entries

    _write_message(options, "p4runtime", lambda: checked.p4info)
    _write_message(options, "p4runtime-entries", lambda: initial_entries(checked))
    output = f"{_stem(options)}.json" if name == DRIVER else options.output
    document = write_json(checked.program, checked.p4info)
    if output is not None:
        document["program"] = options.program
        Path(output).write_text(json.dumps(document, indent=2) + "\n")
    return 0


def _write_message(options: argparse.Namespace, what: str, make: Callable[[], Any]) -> None:
    """``--WHAT-files``, formats by suffix, and ``--WHAT-file``, in the format of ``--p4runtime-format``."""
    from emulator.v1model.summaries import message_texts

    wanted = [(path, Path(path).suffix) for path in _files(options, f"{what}-files")]
    single = getattr(options, f"{what}-file".replace("-", "_"))
    if single is not None:
        wanted.append((single, {"binary": ".bin", "json": ".json", "text": ".txtpb"}[options.p4runtime_format]))
    if not wanted:
        return
    texts = message_texts(make())
    for path, suffix in wanted:
        text = texts[".txtpb" if suffix == ".txt" else suffix]
        Path(path).write_bytes(bytes.fromhex(text) if suffix == ".bin" else text.encode())
