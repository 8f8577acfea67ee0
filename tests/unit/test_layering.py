"""The arrows of the house: who may import whom, lazy imports and ``TYPE_CHECKING`` included; no import circles between
files; no crowded folders; unit tests where their modules are. See CONTRIBUTING.md for the picture."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("emulator", "hostagent", "pspin_model")

# Layers of one package, lowest first: a module may import its own layer and lower ones of the same list.
EMULATOR = ("p4", "v1model", "bmv2json", "switch", "p4runtime", "harness")
HOSTAGENT = ("protocol", "transport", "torch_backend", "launch")
BESIDE = ("rackserver", "controller", "collectives", "planner", "compute")  # of hostagent, on protocol and transport
FOR_EVERYONE = ("emulator.native", "emulator.rpc", "emulator.ports", "emulator.sweep")  # two ends use them
ON_TOPOLOGIES = ("hostagent.planner", "hostagent.collectives", "hostagent.launch")  # plans, faults: emulator.network
ASSEMBLERS = ("hostagent.cli", "hostagent.lab")

LARGEST_FOLDER = 25
"""Modules directly in one folder: what a reader can survey."""


def part(module: str, depth: int = 2) -> str:
    return ".".join(module.split(".")[:depth])


def imported(path: Path) -> set[str]:
    """Every module of ours that a file imports, anywhere in it, with ``from a import b`` resolved to ``a.b``'s file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports out in full, so that this test sees them"
            module = node.module or ""
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] in PACKAGES}


def allowed(importer: str, target: str) -> bool:
    """Do the rules of CONTRIBUTING.md let module ``importer`` import ``target`` (both dotted names)?"""
    if part(importer) in ASSEMBLERS:
        return True
    own, other = importer.split("."), target.split(".")
    if own[0] != other[0]:
        if part(target) in FOR_EVERYONE:
            return True
        lends = ("hostagent.protocol.wire", "hostagent.protocol.services")
        if own[0] == "pspin_model":
            return target.startswith(lends)
        return part(importer) in ON_TOPOLOGIES and part(target) == "emulator.network"
    if own[:2] == other[:2] or len(own) == 1 or len(other) == 1:
        return True
    if own[0] == "emulator":
        return emulator_allows(own[1], other[1])
    if own[0] == "hostagent":
        return hostagent_allows(own[1], other[1])
    return True


def emulator_allows(own: str, other: str) -> bool:
    if other in ("native", "rpc"):
        return own not in ("native", "rpc")
    if own in ("native", "rpc"):
        return False
    if other == "ports":
        return own != "p4"
    if own == "ports":
        return False
    if own == "network":
        return other in ("switch", "v1model", "p4")
    if own in EMULATOR and other in EMULATOR:
        return EMULATOR.index(other) <= EMULATOR.index(own)
    return own == "harness" and other == "network"


def hostagent_allows(own: str, other: str) -> bool:
    if own == "collectives" and other == "planner":  # schedules run in the order that is planned
        return True
    if own in BESIDE:
        return other in ("protocol", "transport")
    if own in HOSTAGENT and other in HOSTAGENT:
        return HOSTAGENT.index(other) <= HOSTAGENT.index(own)
    return False


@cache
def modules() -> list[tuple[str, Path]]:
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found.append((dotted.removesuffix(".__init__"), path))
    return found


@pytest.mark.parametrize(("module", "path"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_imports_follow_the_arrows(module: str, path: Path) -> None:
    wrong = sorted(target for target in imported(path) if not allowed(module, target))
    assert not wrong, f"{module} may not import {', '.join(wrong)}"


@cache
def import_graph() -> dict[str, frozenset[str]]:
    """Module -> the modules whose files it names in imports.

    A package's ``__init__`` is named by ``from package import x`` (where ``x`` is not a module) and, as it runs first,
    by every import of a module in a package that the importer is not in.
    """
    names = {module for module, _ in modules()}
    graph: dict[str, frozenset[str]] = {}
    for module, path in modules():
        found: set[str] = set()
        for target in imported(path):
            file = target
            while file not in names and "." in file:
                file = file.rpartition(".")[0]
            while file in names and not f"{module}.".startswith(f"{file}."):
                found.add(file)
                file = file.rpartition(".")[0]
            if file == target and file != module:  # a package that the importer is in, imported by its own name
                found.add(file)
        graph[module] = frozenset(found)
    return graph


def circles(graph: dict[str, frozenset[str]]) -> list[set[str]]:
    """The strongly connected components of more than one module (Tarjan 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        stack.append(module)
        for target in graph[module]:
            if target not in order:
                visit(target)
            if target in stack:
                lowest[module] = min(lowest[module], lowest[target])
        if lowest[module] == order[module]:
            component = set(stack[stack.index(module) :])
            del stack[stack.index(module) :]
            if len(component) > 1:
                found.append(component)

    for module in graph:
        if module not in order:
            visit(module)
    return found


def test_no_import_circles_between_files() -> None:
    found = [sorted(circle) for circle in circles(import_graph())]
    assert not found, "these files import each other: " + "; ".join(" <-> ".join(circle) for circle in found)


def test_a_circle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a"}, "g": {"f"}}
    found = circles({module: frozenset(targets) for module, targets in graph.items()})
    assert sorted(map(sorted, found)) == [["a", "b", "c"], ["d", "e"]]


def test_no_folder_is_crowded() -> None:
    folders = Counter(".".join(path.relative_to(ROOT).parent.parts) for _, path in modules() if path.stem != "__init__")
    crowded = {folder: count for folder, count in folders.items() if count > LARGEST_FOLDER}
    assert not crowded, (
        f"more than {LARGEST_FOLDER} modules directly in {crowded}: make folders for what belongs together"
    )


@pytest.mark.parametrize(
    ("importer", "target", "expected"),
    [
        ("emulator.p4.lower.lowering", "emulator.v1model.architecture", False),
        ("emulator.v1model.externs", "emulator.p4.ir", True),
        ("emulator.ports.cable.shm", "emulator.switch.core", False),
        ("hostagent.transport.loop.loop", "emulator.ports.cable.shm", True),
        ("hostagent.controller.core.core", "emulator.p4runtime.pipeline.package", False),
        ("hostagent.protocol.wire", "hostagent.transport.loop.loop", False),
        ("pspin_model.machine", "hostagent.protocol.wire", True),
        ("pspin_model.machine", "hostagent.protocol.worker", False),
        ("emulator.p4.frontend", "emulator.rpc.p4protos", True),
        ("emulator.native.jit", "emulator.ports.batch", False),
        ("hostagent.torch_backend.group", "hostagent.launch.status", False),
        ("hostagent.cli.main", "emulator.switch.process", True),
        ("hostagent.planner.placement", "emulator.network.topology", True),
        ("hostagent.controller.core.core", "emulator.network.topology", False),
        ("hostagent.collectives.execute", "hostagent.transport.loop.loop", True),
        ("emulator.network.frames", "emulator.switch.core", True),
        ("emulator.network.frames", "emulator.p4runtime.server", False),
        ("emulator.switch.core", "hostagent.protocol.wire", False),
    ],
)
def test_the_rule_itself(importer: str, target: str, expected: bool) -> None:
    assert allowed(importer, target) is expected


TESTS = sorted(path for path in (ROOT / "tests").rglob("test_*.py"))


def test_no_test_module_imports_another() -> None:
    """What they share is in tests/programs, tests/labs, tests/oracles or tests/generators."""
    found = []
    for path in TESTS:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found += [f"{path.relative_to(ROOT)}: {name}" for name in names if "test_" in name and name[:6] == "tests."]
    assert not found, "\n".join(found)


UNIT_TESTS = sorted((ROOT / "tests" / "unit").rglob("test_*.py"))


@pytest.mark.parametrize("path", UNIT_TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_unit_tests_mirror_the_product(path: Path) -> None:
    """tests/unit/FOLDER/test_NAME.py tests FOLDER/NAME.py or the package FOLDER/NAME; directly in tests/unit are the
    tests of the repository as a whole."""
    folder = path.parent.relative_to(ROOT / "tests" / "unit")
    tested = ROOT / folder / path.stem.removeprefix("test_")
    assert folder == Path() or tested.with_suffix(".py").is_file() or (tested / "__init__.py").is_file(), (
        f"{path.relative_to(ROOT)}: there is no module {tested.relative_to(ROOT)}.py, and no package of that name"
    )
