"""Every package folder has a README with a picture of its data flow and a table of its files."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def modules(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.py") if file.name != "__init__.py")


FOLDERS = sorted(
    str(file.parent.relative_to(ROOT))
    for package in ("emulator", "hostagent", "pspin_model")
    for file in (ROOT / package).glob("**/__init__.py")
    if modules(file.parent)
)


OTHER_FOLDERS = ["mininet", "p4src", "p4src/examples", "tests"]
ARROW = re.compile(r"->|<-|-->|^ +v\b")


def lines_of(folder: str) -> list[str]:
    return (ROOT / folder / "README.md").read_text().split("\n")


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_table_names_every_module_of_the_folder(folder: str) -> None:
    rows = "\n".join(line for line in lines_of(folder) if line.startswith("|"))
    # X_code has the LLVM code of X: emulator/native/README.md describes them all.
    stems = {stem.removesuffix("_code") for stem in modules(ROOT / folder)}
    assert [stem for stem in sorted(stems) if not re.search(rf"\b{stem}\b", rows)] == []


@pytest.mark.parametrize("folder", [*FOLDERS, *OTHER_FOLDERS])
def test_a_readme_has_a_picture_and_a_table(folder: str) -> None:
    lines = lines_of(folder)
    assert any(line.startswith("    ") and ARROW.search(line) for line in lines), "an indented block with arrows"
    assert any(re.match(r"\| \[?`", line) for line in lines), "a table of files"
