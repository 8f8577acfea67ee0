"""The preprocessor beside the system's cpp as p4c runs it: the same tokens, or an error from both."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from emulator.p4.errors import CompileError, Diagnostics
from emulator.p4.preprocess.preprocessor import UNDEFINED, Preprocessor
from emulator.p4.syntax.lexer import TOKEN, p4_pieces

CPP = shutil.which("cpp")
FILES = {
    "inc/a.h": "#ifndef A\n#define A\nfrom_a __LINE__ __FILE__ __INCLUDE_LEVEL__\n#endif\n",
    "b.h": "from_b __LINE__\n#define FROM_B 3\n",
    "inc/b.h": "inc_b\n#include_next <b.h>\n",
}
CASES = r"""
__LINE__
__LINE__ \
__LINE__
x __LINE__
=====
#define f(x, y) x y __LINE__
f(1,
2)
__LINE__
f(__LINE__,
__LINE__)
=====
#line 100 "foo.p4"
__LINE__ __FILE__
#line 7
__LINE__ __FILE__
=====
#include "a.h"
#include <a.h>
#include <b.h>
#include "b.h"
FROM_B
=====
#define HDR <a.h>
#include HDR
#define HDRQ "b.h"
#include HDRQ
=====
#if 1 + 1 == 2 && defined(X) || !defined Y
yes
#else
no
#endif
=====
#define X 3
#if X > 2 ? 0 : 1
a
#elif X == 3
b
#elif 1/0
c
#else
d
#endif
=====
#if 0xFFFFFFFFFFFFFFFF > 0
big
#endif
#if -1 > 0u
unsigned
#endif
#if (2 || 1/0)
short
#endif
=====
#define EMPTY
#if EMPTY + 1
a
#endif
#ifdef EMPTY
b
#endif
=====
#define s(x) #x
#define xs(x) s(x)
#define N 4
s(N) xs(N) s( a  +  b "q\n" 'c' ) xs() s(,)
=====
#define cat(a, b) a ## b
#define xcat(a,b) cat(a,b)
#define N 4
cat(x, N) xcat(x, N) cat(,N) cat(N,) cat(,) cat(1, w0) xcat(N, w5)
=====
#define v(...) [__VA_ARGS__]
#define w(a, ...) a(x, ##__VA_ARGS__)
#define u(args...) <args>
v() v(1) v(1,2) w(1) w(1,2) w(1,2,3) u(3,4)
=====
#define rec rec x
rec rec(1)
#define f(x) f(x) g
#define g f
f(f(1)) g(2)
=====
#define f() x
f() f( ) f (1
)
=====
#define f(x) x
f
f (1)
f
(2)
=====
// comment with 'quote and "str
/* multi
 line ' " */ a
b /* c */ d
"str // not comment"
=====
#pragma foo bar
#ident "x"
#unknown directive
x
=====
#error here
=====
#warning careful
ok
=====
#if 0
#error no
it's
#if 1
#else
#endif
#elif 1
yes
#endif
=====
#undef X
#define X(a) a
#define X(b) b
X(1)
=====
#define X 1
#define X 1
#define Y 1
#define Y 2
Y
=====
#ifdef
#endif
=====
#if
#endif
=====
#else
=====
#if 1
#else
#else
#endif
=====
#define 3 x
=====
#define f(x
=====
#define f(x,x) x
=====
#define f(x) #y
f(1)
=====
#define a ## b
=====
#include
=====
#include "missing.h"
=====
#define f(x) x
f(1
=====
#define f(x, y) x
f(1)
=====
#if 1 +
#endif
=====
#if (1
#endif
=====
#if 1 2
#endif
=====
1..5 0..3 a..b 0x10..0x20 1...2 8w0x1_0 8s-1 1e+5 .5 a.b.c
=====
<<< >>> >>= |+|= &&& .. ... {#} @ @name("x") ++ += +: -> :: ==== !== <= >=
=====
#define A 1
#define B A
#undef A
B
#define A 2
B
=====
#if defined A && A
x
#endif
#if defined(A
#endif
=====
#ifndef Q
q
#elifdef Z
#else
#endif
=====
#if 'a' == 97
char
#endif
#if 08
#endif
=====
#define LPAREN (
#define f(x) <x>
#define g f LPAREN 1)
g
=====
__COUNTER__ __COUNTER__ __FILE__
#ifdef __LINE__
def
#endif
#ifdef __p4c__
p4c
#endif
=====
#define EACH(M) M(0) M(1) M(2)
#define LANE(i) bit<32> v##i;
EACH(LANE)
#undef LANE
#define LANE(i) v[i] = i;
EACH(LANE)
=====
   #   define   Q   5
  # if Q==5
Q
# endif
=====
#define a /* c */ b /* d
e */ f
a
=====
??= a
\
b
=====
#if __LINE__ == 1
l
#endif
#include __FILE__
=====
#define str(s) # s
str(\n) str("\n") str('"') str(a\b)
=====
#define x 3
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
char c[2][6] = { str(hello), str() };
"""


def _names() -> list[str]:
    return [case for case in CASES.strip("\n").split("\n=====\n")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "inc").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ours(text: str) -> list[str] | None:
    """The tokens; None when there are errors."""
    diagnostics = Diagnostics()
    try:
        tokens = Preprocessor(diagnostics, search=("inc",)).run("x.p4", text, {})
    except CompileError:
        return None
    return None if diagnostics.errors else tokens.texts[:-1]


def theirs(text: str) -> list[str] | None:
    Path("x.p4").write_text(text)
    command = [str(CPP), "-C", "-undef", "-nostdinc", "-x", "assembler-with-cpp", "-I", "inc", "x.p4"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        return None
    found: list[str] = []
    for match in TOKEN.finditer(re.sub(r"^#.*$", "", result.stdout, flags=re.MULTILINE)):
        if match.lastgroup != "space":
            found += p4_pieces(match.group()) if match.lastgroup == "number" else [match.group()]
    return found


@pytest.mark.skipif(CPP is None, reason="no cpp on this machine to compare with")
@pytest.mark.parametrize("text", _names())
def test_as_cpp(text: str, folder: Path) -> None:
    assert ours(text + "\n") == theirs(text + "\n")


def test_definitions_of_the_command_line() -> None:
    defines = {"A": "1", "F(x)": "x + A", "B": UNDEFINED, "C": ""}
    tokens = Preprocessor(Diagnostics()).run("x.p4", "A F(2) C B\n", {"B": "7", **defines})
    assert tokens.texts[:-1] == ["1", "2", "+", "1", "B"]
