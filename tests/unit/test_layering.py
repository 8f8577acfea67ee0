"""The arrows of the house: who may import whom, lazy imports included. See CONTRIBUTING.md for the picture."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("emulator", "hostagent", "pspin_model")

# Layers of one package, lowest first: a module may import its own layer and lower ones of the same list.
EMULATOR = ("p4", "v1model", "bmv2json", "switch", "p4runtime", "harness")
HOSTAGENT = ("protocol", "transport", "torch_backend", "launch")
FOR_EVERYONE = ("emulator.native", "emulator.ports")  # a cable has two ends
ASSEMBLERS = ("hostagent.cli", "hostagent.lab")


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
        return own[0] == "pspin_model" and target.startswith(lends)
    if own[:2] == other[:2] or len(own) == 1:
        return True
    if own[0] == "emulator":
        return emulator_allows(own[1], other[1])
    if own[0] == "hostagent":
        return hostagent_allows(own[1], other[1])
    return True


def emulator_allows(own: str, other: str) -> bool:
    if other == "native":
        return True
    if own == "native":
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
    beside = ("rackserver", "controller")
    if own in beside:
        return other in ("protocol", "transport")
    if own in HOSTAGENT and other in HOSTAGENT:
        return HOSTAGENT.index(other) <= HOSTAGENT.index(own)
    return False


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
        ("emulator.p4.frontend", "emulator.native.p4protos", True),
        ("emulator.native.jit", "emulator.ports.batch", False),
        ("hostagent.torch_backend.group", "hostagent.launch.status", False),
        ("hostagent.cli.main", "emulator.switch.process", True),
    ],
)
def test_the_rule_itself(importer: str, target: str, expected: bool) -> None:
    assert allowed(importer, target) is expected
