"""Every package folder has a README that names its modules."""

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


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_readme_names_every_module_of_its_folder(folder: str) -> None:
    text = (ROOT / folder / "README.md").read_text()
    # The twin of X, X_code, is described once for all in emulator/native/README.md.
    stems = {stem.removesuffix("_code") for stem in modules(ROOT / folder)}
    assert [stem for stem in sorted(stems) if not re.search(rf"\b{stem}\b", text)] == []
