"""The preprocessor: the C standard's own examples, directives, places; and the same tokens as the system's cpp."""

# ruff: noqa: E501 (a program on one line reads better than one that is folded)
from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from emulator.p4.errors import Diagnostics
from emulator.p4.preprocess.preprocessor import Preprocessor
from emulator.p4.syntax.lexer import TOKEN
from emulator.p4.syntax.source import Tokens, read_from_disk, unpack_place

CPP = shutil.which("cpp")


def run(text: str, files: dict[str, str] | None = None, **defines: str) -> tuple[Tokens, Diagnostics]:
    diagnostics = Diagnostics()
    files = files or {}
    preprocessor = Preprocessor(diagnostics, search=("inc",), read_file=files.get)
    return preprocessor.run("main.p4", text, defines), diagnostics


def texts(text: str, files: dict[str, str] | None = None, **defines: str) -> str:
    tokens, diagnostics = run(text, files, **defines)
    assert not diagnostics.errors, [str(e) for e in diagnostics.errors]
    return " ".join(tokens.texts[:-1])


EXAMPLES = {
    "object": "#define A b\nA",
    "rescan": "#define A B\n#define B c A\nA",
    "function": "#define f(x, y) x + y\nf(1, (2, 3))",
    "no parenthesis": "#define f(x) x\nf + f (1)",
    "across lines": "#define f(x) [x]\nf\n(\n1\n)",
    "paste": "#define P(a, b) a ## b\nP(x, 1) P(, y) P(z,) P(8w, 3)",
    "paste does not expand": "#define X 1\n#define P(a) a##X a\nP(X)",
    "expanded by another": "#define N 3\n#define P(a, b) a##b\n#define Q(a, b) P(a, b)\nP(x, N) Q(x, N)",
    "stringify": '#define S(x) #x\nS( a  + "b\\n" )',
    "self reference": "#define foo (4 + foo)\nfoo",
    "mutual": "#define x (4 + y)\n#define y (2 * x)\nx y",
    "recursion of functions": "#define f(a) a*g\n#define g(a) f(a)\nf(2)(9)",
    "argument prescan": "#define f(x) x+1\nf(f(f(1)))",
    "empty argument": "#define f(x, y) [x|y]\nf(,) f(1,) f(,2)",
    "no parameters": "#define f() 7\nf() f( )",
    "variadic": "#define v(a, ...) a{__VA_ARGS__}\nv(1, 2, 3) v(1)",
    "gnu comma": "#define v(a, ...) f(a, ## __VA_ARGS__)\nv(1) v(1, 2)",
    "named rest": "#define v(a, r...) a r\nv(1, 2, 3)",
    "undef": "#define A 1\n#undef A\nA",
    "conditions": "#define A 2\n#if A == 1\none\n#elif A == 2 && defined(A) && !defined B\ntwo\n#else\nother\n#endif",
    "nested conditions": "#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif",
    "arithmetic": "#if (1 << 4) - 6 / 4 * 3 % 5 == 13 && -1 < 0 && (2 > 1 ? 3 : 0) == 3\nyes\n#endif",
    "unsigned": "#if -1 > 0u\nyes\n#endif",
    "short circuit": "#if 0 && (1 / 0)\nno\n#else\nyes\n#endif",
    "comment": "a/**/b // c\n/* x\ny */ d",
    "continued": "#define A 1 + \\\n  2\nA a\\\nb",
    "skipped quotes": "#if 0\nit's \"open\n#endif\nok",
    "hash in text": "#define f(x) x\nf({#})",
    "standard example 3": """#define x 3
#define f(a) f(x * (a))
#undef x
#define x 2
#define g f
#define z z[0]
#define h g(~
#define m(a) a(w)
#define w 0,1
#define t(a) a
#define p() int
#define q(x) x
#define r(x,y) x ## y
#define str(x) # x
f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);
g(x+(3,4)-w) | h 5) & m
(f)^m(m);
p() i[q()] = { q(1), r(2,3), r(4,), r(,5), r(,) };
""",
    "standard example 5": "#define t(x,y,z) x ## y ## z\nint j[] = { t(1,2,3), t(,4,5), t(6,,7), t(8,9,), t(10,,), t(,11,), t(,,12), t(,,) };",
    "standard example 7": """#define debug(...) fprintf(stderr, __VA_ARGS__)
#define showlist(...) puts(#__VA_ARGS__)
debug("Flag"); debug("X = %d", x);
showlist(The first, second, and third items.);""",
    "lanes": """#define R1(M,p) M(p)
#define R4(M,p) R1(M,p##0) R1(M,p##1) R1(M,p##2) R1(M,p##3)
#define R16(M,p) R4(M,p##0) R4(M,p##1) R4(M,p##2) R4(M,p##3)
#define ADD(i) r_##i.read(v, slot); v = v + hdr.l##i; r_##i.write(slot, v);
R16(ADD, x)""",
    "line": "__LINE__\n\n#define L __LINE__\nL __LINE__",
    "counter": "__COUNTER__ __COUNTER__",
    "pp numbers": "#define E 1\n0x1E+E 1..5 8w1 16s0b1_0",
    "numbers that end in E": "0x5E++1 0x5E+1 0x5E-1 0x5E--1 0x5E+ +1 8w0x1E++8w0x2E",
}


@pytest.mark.skipif(CPP is None, reason="no cpp on this machine to compare with")
@pytest.mark.parametrize("name", EXAMPLES)
def test_same_tokens_as_cpp(name: str, tmp_path: Path) -> None:
    path = tmp_path / "main.p4"
    path.write_text(EXAMPLES[name] + "\n")
    command = [str(CPP), "-C", "-undef", "-nostdinc", "-x", "assembler-with-cpp", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    wanted = []
    for line in result.stdout.splitlines():
        if not re.match(r"\s*#", line):
            wanted.append(line)
    tokens, diagnostics = run(EXAMPLES[name] + "\n")
    assert not diagnostics.errors
    assert tokens.texts[:-1] == p4_tokens("\n".join(wanted))


def p4_tokens(text: str) -> list[str]:
    """cpp's output scanned as P4."""
    return run(text)[0].texts[:-1]


def test_conditionals_act_inside_strings_of_several_lines() -> None:
    source = '"a\n#if defined(A) && A > 1\nb \\\nc\n # else\nd\n#endif\n# no directive\n" x'
    assert texts(source, A="2") == '"a\n\nb c\n\n\n\n# no directive\n" x'
    assert texts(source) == '"a\n\n\n\nd\n\n# no directive\n" x'
    tokens, _ = run(source, A="2")
    assert unpack_place(tokens.places[1])[1:] == (9, 3)


KNOWN = [
    ("f(2)(9)", "2 * 9 * g", "#define f(a) a*g\n#define g(a) f(a)\n"),
    ("xstr(INCFILE(2).h)", '"vers2.h"', "#define str(s) # s\n#define xstr(s) str(s)\n#define INCFILE(n) vers ## n\n"),
]


def test_standards_results_without_cpp() -> None:
    assert texts(KNOWN[0][2] + KNOWN[0][0]) == KNOWN[0][1]
    assert texts(KNOWN[1][2] + KNOWN[1][0]) == KNOWN[1][1]


def test_a_byte_order_mark_and_other_ends_of_lines_are_no_text() -> None:
    assert (
        texts('\ufeff#define A b \\\r\n c\r\n#include "d.p4"\r\nA\r', {"inc/d.p4": "\ufeff#define D\rd\r\n"}) == "d b c"
    )


def test_a_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / "dos.p4"
    file.write_bytes(b"\xef\xbb\xbfconst bit<8> a = 1;\r\n")
    tokens = Preprocessor(Diagnostics()).run(str(file), read_from_disk(str(file)) or "", {})
    assert tokens.sources.digests() == ((str(file), hashlib.sha256(file.read_bytes()).hexdigest()),)
    assert tokens.sources.line_at(tokens.places[0]) == "const bit<8> a = 1;"


def test_include_finds_the_including_files_folder_first() -> None:
    files = {"sub/a.p4": '#include "b.p4"\na', "sub/b.p4": "own", "inc/b.p4": "searched"}
    assert texts('#include "sub/a.p4"\n#include <b.p4>\n#include "b.p4"', files) == "own a searched searched"


def test_include_by_macro_and_guards() -> None:
    guard = "#ifndef G\n#define G\nonce\n#endif"
    assert texts("#define H <g.p4>\n#include H\n#include <g.p4>", {"inc/g.p4": guard}) == "once"


def test_include_of_itself_is_an_error() -> None:
    _, diagnostics = run('#include "main.p4"', {"main.p4": '#include "main.p4"'})
    assert "nested depth" in diagnostics.errors[0].message


def test_defines_from_the_command_line() -> None:
    assert texts("LANES f(3)", None, LANES="64", **{"f(x)": "[x]"}) == "64 [ 3 ]"


def test_conditional_must_end_in_its_file() -> None:
    _, diagnostics = run('#include "a.p4"\n#endif', {"a.p4": "#if 1\n"})
    assert [d.message.split(":")[0] for d in diagnostics.errors] == ["unterminated conditional", "#endif without #if"]


def test_places_are_the_users() -> None:
    tokens, _ = run("a\n  #define M(x) x + 1\n  b M(2) /* c\n */ d \\\n e\n")
    places = [(t, *unpack_place(p)[1:]) for t, p in zip(tokens.texts, tokens.places, strict=True)]
    assert places[:4] == [("a", 1, 1), ("b", 3, 3), ("2", 3, 5), ("+", 3, 5)]
    assert places[5:7] == [("d", 4, 5), ("e", 5, 2)]
    assert unpack_place(tokens.spelled[3])[1:] == (2, 18)


def test_line_directive_renames() -> None:
    tokens, _ = run('a\n#line 7 "other.p4"\nb __LINE__ __FILE__\n# 30 "third.p4" 1\nc')
    assert tokens.texts[:-1] == ["a", "b", "7", '"other.p4"', "c"]
    spans = [str(tokens.span(i)) for i in range(5)]
    assert (spans[1], spans[4]) == ("other.p4:7:1", "third.p4:30:1")


def test_unknown_directives_are_skipped() -> None:
    assert texts("#pragma once\n#ident x\n#!shebang\na") == "a"


def test_wrong_condition_is_one_error() -> None:
    _, diagnostics = run("#if 1 +\na\n#elif 1\nb\n#else\nc\n#endif\n#if (1\n#endif")
    assert len(diagnostics.errors) == 2


def test_redefinition_warns_only_when_it_differs() -> None:
    _, diagnostics = run("#define A 1\n#define A 1\n#define A 2\n")
    assert [d.message for d in diagnostics.warnings] == ['"A" redefined']


def test_every_character_is_some_token() -> None:
    assert all(TOKEN.match(chr(c)) for c in range(1, 256))
