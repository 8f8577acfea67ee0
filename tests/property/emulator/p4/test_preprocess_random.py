"""Random macros: our preprocessor gives the tokens that the system's cpp gives (seeded; skips without cpp)."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from emulator.p4.errors import Diagnostics
from emulator.p4.preprocess.preprocessor import Preprocessor

CPP = shutil.which("cpp")
OBJECTS, FUNCTIONS = "ABCD", "fgh"


class Macros:
    """Object-like and function-like macros that name each other, use ``#`` and ``##``, and are called anywhere."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.arity = {name: self.random.randint(1, 2) for name in FUNCTIONS}

    def call(self, depth: int = 0) -> str:
        name = self.random.choice(FUNCTIONS)
        if self.random.random() < 0.2:
            return name
        return f"{name}({','.join(self.argument(depth) for _ in range(self.arity[name]))})"

    def argument(self, depth: int) -> str:
        if self.random.random() < 0.3 and depth < 2:
            return self.call(depth + 1)
        return self.random.choice([*OBJECTS, "1", "(1,2)", "", "x", "f", "g 1", "(h)"])

    def piece(self, parameters: str) -> str:
        chance = self.random.random()
        if chance < 0.25:
            return self.random.choice(OBJECTS)
        if chance < 0.5 and parameters:
            name = self.random.choice(parameters)
            return self.random.choice(
                ["#" + name, f"{name}##{self.random.choice([*parameters, 'x', '1'])}", name, name]
            )
        return self.call() if chance < 0.7 else self.random.choice(["1", "x", "+", "(1)", "(2,3)"])

    def text(self, count: int, parameters: str = "") -> str:
        return " ".join(self.piece(parameters) for _ in range(count))

    def program(self) -> str:
        lines = [f"#define {name} {self.text(self.random.randint(0, 4))}" for name in OBJECTS]
        for name in FUNCTIONS:
            parameters = "pq"[: self.arity[name]]
            body = self.text(self.random.randint(0, 5), parameters)
            lines.append(f"#define {name}({','.join(parameters)}) {body}")
        return "\n".join([*lines, self.text(8), self.text(8), ";"]) + "\n"


def tokens(text: str) -> list[str]:
    diagnostics = Diagnostics()
    found = Preprocessor(diagnostics).run("main.p4", text, {})
    assert not diagnostics.errors, [str(e) for e in diagnostics.errors]
    return found.texts[:-1]


@pytest.mark.skipif(CPP is None, reason="no cpp on this machine to compare with")
@pytest.mark.parametrize("start", range(0, 120, 30))
def test_random_macros_as_cpp(start: int, tmp_path: Path) -> None:
    compared = 0
    for seed in range(start, start + 30):
        program = Macros(seed).program()
        path = tmp_path / f"{seed}.p4"
        path.write_text(program)
        command = [str(CPP), "-C", "-undef", "-nostdinc", "-x", "assembler-with-cpp", str(path)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode or result.stderr:
            continue  # a call with too few arguments, met only while rescanning
        wanted = "\n".join(line for line in result.stdout.splitlines() if not re.match(r"\s*#", line))
        assert tokens(program) == tokens(wanted), f"seed {seed}:\n{program}"
        compared += 1
    assert compared > 10
