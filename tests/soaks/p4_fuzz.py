"""Damaged P4 programs for the front end: whatever comes in, an error or a program comes out, and soon.

``make fuzz`` runs it for minutes: ``python -m tests.soaks.p4_fuzz --seconds 300 --seed 1``.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from emulator.p4.errors import CompileError
from emulator.p4.frontend import compile_source
from emulator.p4.ir.verify import verify
from emulator.p4.library import find_program, shipped_programs
from emulator.p4.syntax.lexer import KEYWORDS
from emulator.v1model.architecture import V1MODEL
from emulator.v1model.target import V1MODEL_TARGET
from tests.programs.corpus import read_cases, running

_CORPORA = Path(__file__).parents[1] / "conformance"
FOLDERS = ("legal", "strict", "wrong")
_TOKEN = re.compile(r'[A-Za-z_][A-Za-z0-9_]*|[0-9][0-9a-zA-Z_]*|"[^"\n]*"|\s+|[^\sA-Za-z0-9_]')
_MARKS = (
    "0 1 8w255 -1 4s3 0xffffffffffffffffffffffff 99999999999999999999 1w2 0w0 { } ( ) [ ] < > << >> ; : , . .. ... = "
    "== != + - * / % & && | || ^ ~ ! ? @ # ++ |+| |-| &&& {#} += <<= +: \" ' \\ hdr meta m NoAction main V1Switch "
    "accept start"
)
_WORDS = (*sorted(KEYWORDS), *_MARKS.split(" "))
_LINES = (
    "#define A(x) x A(x)", "#include <core.p4>", '#include "x.p4"', "#if 1", "#endif", "#else", "#line 5", "#error x",
    "#define bit int", "#undef A", "/*", "*/", "//", '@name("x")', "@x[1]", "@pragma a b", "\\",
)  # fmt: skip
_NESTING = (
    "(", "{", "[", "~", "!", "-", "(bit<8>)", "if (true) ", "a.", "1 + ", "tuple<", "a ++ ", "@x ", "x", "8", "{{#},",
    "m.st[", "true ? 1 : ", "else if (m.f) {} ", "f(", '"', "/*", "#if 1\n", "state s { ", "x = ",
)  # fmt: skip
LIMIT_S = 20
"""A program that takes longer hangs: the slowest of the sources takes a hundredth of that."""


class Hang(Exception):
    pass


def sources() -> list[str]:
    """Programs to start from, half of them such as can be run: those of the corpora, and the shipped ones."""
    cases = [
        case for folder in FOLDERS for path in sorted((_CORPORA / folder).glob("*.p4")) for case in read_cases(path)
    ]
    whole = [text for case in cases if not case.expected and (text := running(case)) is not None]
    whole += [Path(find_program(name)).read_text() for name in shipped_programs()]
    return [case.text for case in cases] + whole * (len(cases) // len(whole))


# --- Damage -----------------------------------------------------------------------------------------------------


def _tokens(rng: random.Random, text: str) -> str:
    """A few words taken out, doubled, swapped, replaced or put in."""
    words = _TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 5, 20))):
        if not words:
            break
        at, other = rng.randrange(len(words)), rng.randrange(len(words))
        way = rng.randrange(9)
        if way == 0:
            del words[at]
        elif way == 1:
            words.insert(at, words[other])
        elif way == 2:
            words[at], words[other] = words[other], words[at]
        elif way == 3:
            words[at] = rng.choice(_WORDS)
        elif way == 4:
            words.insert(at, f" {rng.choice(_WORDS)} ")
        elif (like := [w for w in words if _kind(w) == _kind(words[at])]) and words[at].strip():
            words[at] = rng.choice(like)
    return "".join(words)


def _kind(word: str) -> int:
    """Names, numbers and marks: one in another's place makes programs that go far."""
    return 0 if word[0].isalpha() else 1 if word[0].isdigit() else 2


def _bytes(rng: random.Random, text: str) -> str:
    data = bytearray(text.encode("utf-8", "surrogateescape"))
    for _ in range(rng.choice((1, 2, 10))):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(3)
        if way == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            data.insert(at, rng.randrange(256))
        else:
            del data[at : at + rng.randrange(1, 30)]
    return data.decode("utf-8", "surrogateescape")


def _lines(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    for _ in range(rng.choice((1, 2, 4))):
        at = rng.randrange(len(lines))
        if rng.random() < 0.5:
            lines.insert(at, rng.choice(_LINES))
        else:
            lines[at : at + 1] = rng.choice(([], [lines[at]] * 2, [lines[at] + " \\"], [rng.choice(lines)]))
            lines = lines or [""]
    return "\n".join(lines)


def _cut(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _deep(rng: random.Random, text: str) -> str:
    """The same word many times: nesting, long chains, long names."""
    words = _TOKEN.findall(text)
    at = rng.randrange(len(words) + 1)
    word = rng.choice(_NESTING)
    return "".join(words[:at]) + word * rng.choice((3, 50, 2000, 20000)) + "".join(words[at:])


def _mix(rng: random.Random, text: str, others: list[str]) -> str:
    """A stretch of another program in the middle of this one."""
    other = rng.choice(others)
    start = rng.randrange(len(other) + 1)
    at = rng.randrange(len(text) + 1)
    return text[:at] + other[start : start + rng.randrange(200)] + text[at:]


DAMAGES: tuple[Callable[[random.Random, str], str], ...] = (_tokens, _tokens, _tokens, _bytes, _lines, _cut, _deep)


def damaged(rng: random.Random, texts: list[str]) -> str:
    """One of the texts after one to three damages; always with a line break, so that it is not a file's name."""
    text = rng.choice(texts)
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = _mix(rng, text, texts) if rng.random() < 0.1 else rng.choice(DAMAGES)(rng, text)
    return text + "\n"


# --- What must hold ---------------------------------------------------------------------------------------------


def outcome(text: str) -> str:
    """``error`` or ``program``; anything that is neither (a traceback, wrong IR) is raised."""
    try:
        checked = compile_source(text, architecture=V1MODEL)
    except CompileError as error:
        if not str(error) or not all(d.message and d.span.line >= 1 for d in error.diagnostics):
            raise AssertionError(f"an error without a text or a place: {error.diagnostics}") from error
        return "error"
    verify(checked.program, V1MODEL_TARGET)
    return "program"


def _on_alarm(_number: int, _frame: object) -> None:
    raise Hang


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"), help="folder for what breaks the compiler")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _on_alarm)
    texts, counts = sources(), {"error": 0, "program": 0, "broken": 0}
    ends = time.monotonic() + options.seconds
    seed = options.seed
    while time.monotonic() < ends:
        text = damaged(random.Random(seed), texts)
        signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
        try:
            counts[outcome(text)] += 1
        except BaseException as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            if isinstance(error, KeyboardInterrupt):
                break
            counts["broken"] += 1
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{seed}.p4").write_text(text, errors="surrogateescape")
            print(f"seed {seed}: {error!r}\n{''.join(traceback.format_exc().splitlines(keepends=True)[-5:])}")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        seed += 1
    print(f"seeds {options.seed} to {seed - 1}: {counts}")
    return 1 if counts["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
