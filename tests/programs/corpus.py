"""Collections of small P4 programs in one file, each with the errors it must give, and where.

A case begins with ``//# CONTEXT: what it is about``; its text goes to the next case. The context says what is written
around the text (`CONTEXTS`). ``//! KIND`` at a line's end: an error of that kind (of `errors.Kind`) is expected
on that line. A case without such a mark is a legal program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from emulator.p4.errors import CompileError
from emulator.p4.frontend import Checks, compile_source, run_stages
from emulator.v1model.architecture import V1MODEL
from tests.programs.text import HEAD, INGRESS, PARSER, REST, TYPES

_CASE = re.compile(r"^//# ([a-z0-9-]+): (.+)$", re.MULTILINE)
_MARK = re.compile(r"//! ([A-Z ]+)$")

CORE = "#include <core.p4>\n"
DECLARED = (
    CORE
    + """header h_t { bit<8> a; bit<16> b; }
header g_t { bit<8> a; }
struct s_t { bit<8> x; bool f; }
struct s2_t { bit<8> y; }
enum E { A, B }
enum F { A, B }
enum bit<8> SE { P = 1, Q = 2 }
enum bit<8> SF { P = 1, Q = 2 }
struct G<T> { T t; }
type bit<8> n_t;
type bit<8> n2_t;
extern X { X(); void go(); }
bit<8> fun(in bit<8> x) { return x; }
struct m_t {
    bit<8> m8; bit<16> m16; bit<32> m32; int<8> i8; int<16> i16; bool f; error e; s_t s; s2_t s2;
    tuple<bit<8>, bool> t; h_t h; g_t g; h_t[4] st; h_t[2] st2; E en; SE se; n_t n; n2_t n2;
}
"""
)
_CONTROL = DECLARED + "control C(inout m_t m) {\n"
_PARSER = DECLARED + "parser P(packet_in p, inout m_t m) {\n"

_EMPTY_INGRESS = PARSER + INGRESS + " apply { } }\n"


def _around(part: str, place: str, before: str = "") -> tuple[str, str]:
    """A whole program with the case's text at the first such place of one part."""
    first, _, second = part.partition(place)
    opening, closing = ("apply {", "}") if place.startswith("apply") else ("", "")
    rest = "" if part is REST else INGRESS + " apply { } }\n" + REST
    return HEAD + TYPES + before + first + opening + "\n", closing + second + rest


CONTEXTS = {
    "top": ("", ""),
    "core": (CORE, ""),
    "control": (_CONTROL, "\napply { }\n}\n"),
    "apply": (_CONTROL + "apply {\n", "\n}\n}\n"),
    "action": (
        DECLARED
        + "control C0(in bit<8> x) { apply { } }\ncontrol C(inout m_t m) {\nC0() c0;\n"
        + "table t0 { actions = { NoAction; } }\naction a() {\n",
        "\n}\napply { }\n}\n",
    ),
    "parser": (_PARSER, "\n}\n"),
    "state": (_PARSER + "state start {\n", "\ntransition accept;\n}\n}\n"),
    "v1model": (HEAD + TYPES + PARSER + INGRESS + "\napply {\n", "\n}\n}\n" + REST),
    "v1model-local": (HEAD + TYPES + PARSER + INGRESS + "\n", "\napply { }\n}\n" + REST),
    "v1model-blocks": (HEAD, PARSER.replace("packet.extract(hdr.one);", "") + INGRESS + " apply { } }\n" + REST),
    "v1model-parser": _around(PARSER, "packet.extract(hdr.one);"),
    "v1model-verify": _around(REST, "apply { }", _EMPTY_INGRESS),
    "v1model-deparser": _around(REST, "packet.emit(hdr);", _EMPTY_INGRESS),
    "v1model-whole": (HEAD, ""),
}
"""Text before and after a case's own. A ``control`` case may have its own ``apply``."""


@dataclass(frozen=True, slots=True)
class Case:
    file: str
    context: str
    title: str
    text: str
    """The whole program."""
    expected: tuple[tuple[int, str], ...]
    """(line of the whole program, kind in capitals), in order of lines."""
    first_line: int
    """Of the case's own text in the whole program, from 1."""

    @property
    def name(self) -> str:
        return f"{self.file}: {self.context}: {self.title}"


def read_cases(path: Path) -> list[Case]:
    content = path.read_text()
    heads = list(_CASE.finditer(content))
    ends = [head.start() for head in heads[1:]] + [len(content)]
    return [_case(path.stem, h[1], h[2], content[h.end() + 1 : end]) for h, end in zip(heads, ends, strict=True)]


def _case(file: str, context: str, title: str, own: str) -> Case:
    before, after = CONTEXTS[context]
    if context in ("control", "v1model-local") and re.search(r"^apply \{", own, re.MULTILINE):
        after = "\n}\n" + (REST if context == "v1model-local" else "")
    text = before + own + after
    marks = ((number, _MARK.search(line)) for number, line in enumerate(text.split("\n"), 1))
    expected = tuple((number, mark[1]) for number, mark in marks if mark is not None)
    return Case(file, context, title, text, expected, before.count("\n") + 1)


_RUNNING = """
struct headers_t { h_t h; }
parser RP(packet_in p, out headers_t h, inout m_t m, inout standard_metadata_t s) { state start { transition accept; } }
control RV(inout headers_t h, inout m_t m) { apply { } }
control RI(inout headers_t h, inout m_t m, inout standard_metadata_t s) { C() c; apply { c.apply(m); } }
control RE(inout headers_t h, inout m_t m, inout standard_metadata_t s) { apply { } }
control RD(packet_out p, in headers_t h) { apply { p.emit(h); } }
V1Switch(RP(), RV(), RI(), RE(), RV(), RD()) main;
"""


def running(case: Case) -> str | None:
    """The case's control as part of a whole program; None for other cases."""
    if case.context not in ("control", "apply", "action"):
        return case.text if case.context.startswith("v1model") else None
    return case.text.replace(CORE, HEAD, 1) + _RUNNING


def errors_of(case: Case, more_checks: Checks = ()) -> list[tuple[int, str, str]]:
    """(line, kind, message) of what the compiler says; programs with a ``main`` go all the way to P4Info."""
    try:
        if case.context.startswith("v1model"):
            compile_source(case.text, architecture=V1MODEL, more_checks=more_checks)
        else:
            run_stages(case.text, architecture=V1MODEL, until="check")
    except CompileError as error:
        return [(d.span.line, d.kind.name, d.message) for d in error.diagnostics]
    return []
