"""The loader of bmv2's JSON on damaged documents: a program or one error that names a place, nothing else."""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path

import pytest

from emulator.bmv2json.document import Bmv2JsonError
from emulator.bmv2json.program import load_json
from emulator.bmv2json.write import write_json
from emulator.p4.frontend import compile_source
from emulator.p4.ir.verify import verify
from emulator.p4.library import find_program
from emulator.v1model.architecture import V1MODEL
from emulator.v1model.target import V1MODEL_TARGET
from tests.generators.bmv2_damage import damaged
from tests.labs.extent import tries
from tests.programs.bmv2_documents import with_table, with_unions

STF = Path(__file__).resolve().parents[3] / "conformance" / "stf"
SOURCES = ("router.p4", *(str(STF / "tables" / name) for name in ("computed_keys.p4",)))
SEEDS_PER_DOCUMENT = tries(50, 150)


@functools.cache
def documents() -> dict[str, dict[str, object]]:
    found = {"unions": with_unions(), "table": with_table("ternary", [])}
    for source in SOURCES:
        path = find_program(source)
        checked = compile_source(path, architecture=V1MODEL, include_paths=(str(STF / "include"),))
        found[Path(path).stem] = write_json(checked.program, checked.p4info)
    return found


def try_to_load(content: bytes) -> bool:
    """Whether it was a program; then it keeps the IR's rules."""
    try:
        loaded = load_json(content)
    except Bmv2JsonError:
        return False
    verify(loaded.program, V1MODEL_TARGET)
    return True


@pytest.mark.parametrize("name", ["unions", "table", "router", "computed_keys"])
def test_damaged_documents_are_refused_or_programs(name: str) -> None:
    document = documents()[name]
    assert try_to_load(json.dumps(document).encode())
    outcomes = [
        try_to_load(json.dumps(damaged(document, seed, changes=1 + seed % 3)).encode())
        for seed in range(SEEDS_PER_DOCUMENT)
    ]
    assert any(outcomes)
    assert not all(outcomes)


def test_damaged_bytes_are_refused_or_programs() -> None:
    source, content = random.Random(3), json.dumps(documents()["router"]).encode()
    for _ in range(200):
        start = source.randrange(len(content))
        junk = bytes(source.randrange(256) for _ in range(source.randrange(4)))
        try_to_load(content[:start] + junk + content[start + source.randrange(40) :])


def test_damaged_documents_with_the_right_p4info() -> None:
    document = documents()["router"]
    info = load_json(json.dumps(document).encode()).p4info
    for seed in range(SEEDS_PER_DOCUMENT):
        try:
            loaded = load_json(json.dumps(damaged(document, seed)).encode(), info)
        except Bmv2JsonError:
            continue
        verify(loaded.program, V1MODEL_TARGET)
