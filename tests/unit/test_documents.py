"""What the documents name is there: every Python or P4 file in backticks, in every Markdown file of the repository; the
functions of CONTRIBUTING's walks."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {".git", ".venv", ".venv-shell", "build", "dist", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
DOCUMENTS = sorted(p for p in ROOT.rglob("*.md") if not OUTSIDE & set(p.relative_to(ROOT).parts[:-1]))
FILES = {
    str(p.relative_to(ROOT))
    for ending in ("py", "p4")
    for p in ROOT.rglob(f"*.{ending}")
    if not OUTSIDE & set(p.relative_to(ROOT).parts)
}
EXAMPLES = re.compile(
    r"(my|your|train(_\w+)?|test_(mine|hub|it)|sums|peaks|program|PROGRAM|X|X_code|hub|core)\.\w+$|dev_root/"
)
"""Names of a reader's own files, and files of SwitchML (dev_root/)."""
NAMED = re.compile(r"`([\w./{},-]+\.(?:py|p4))(?::[\w.]+)?`")


def spelled_out(name: str) -> list[str]:
    """``a/{b,c}.py`` as ``a/b.py`` and ``a/c.py``."""
    parts = re.split(r"\{([^}]*)\}", name)
    choices = [part.split(",") if number % 2 else [part] for number, part in enumerate(parts)]
    return ["".join(choice) for choice in product(*choices)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_document_names_is_there(document: Path) -> None:
    folder = str(document.parent.relative_to(ROOT))
    missing = []
    for line in document.read_text().splitlines():
        for name in (each for found in NAMED.findall(line) for each in spelled_out(found)):
            near = (document.parent / name).exists() or any(f"/{file}".endswith(f"/{name}") for file in FILES)
            if not near and not EXAMPLES.match(name):
                missing.append(name)
    assert not missing, f"{folder}: no file ends with {', '.join(sorted(set(missing)))}"


# --- The walks of CONTRIBUTING.md -----------------------------------------------------------------------------------

WORD = re.compile(r"`([\w./]+)`")


def walk_steps(title: str) -> list[str]:
    """The numbered steps of a walk, each on one line."""
    section = (ROOT / "CONTRIBUTING.md").read_text().split(f"## {title}\n")[1].split("\n## ")[0]
    return [" ".join(step.split()) for step in re.split(r"^\d+\. ", section, flags=re.MULTILINE)[1:]]


def functions_named(title: str) -> list[tuple[str, str]]:
    """(file, function): "`file`, `function`" or "`function` of `file`"; further functions are the last file's."""
    found: list[tuple[str, str]] = []
    for step in walk_steps(title):
        file = ""
        for name in WORD.finditer(step):
            if name[1].endswith((".py", ".p4")):
                file = name[1]
                continue
            owner = re.match(r" of `([\w./]+)`", step[name.end() :])
            found.append((owner[1] if owner else file, name[1]))
    return found


@pytest.mark.parametrize("title", ["Follow a gradient", "Follow a message", "Follow a table entry"])
def test_the_functions_of_a_walk_are_in_the_files_it_names(title: str) -> None:
    missing = []
    for file, function in functions_named(title):
        defined = rf"^ *{function}\b" if file.endswith(".p4") else rf"^ *def {function}\("
        if not re.search(defined, (ROOT / file).read_text(), re.MULTILINE):
            missing.append(f"{file}: {function}")
    assert not missing
    assert len(functions_named(title)) >= 7


def test_the_gradient_meets_ten_files() -> None:
    assert len(walk_steps("Follow a gradient")) == 10
