"""``netsum bmv2-path``: a folder with nothing but the commands that stand in for p4c and bmv2."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from emulator.native.folders import cache_root
from hostagent.cli.parsing import command

COMMANDS = ("p4c", "p4c-bm2-ss", "simple_switch", "simple_switch_grpc", "simple_switch_CLI")


@command()
def bmv2_path() -> int:
    """Print a folder for PATH that has p4c, p4c-bm2-ss, simple_switch, simple_switch_grpc and simple_switch_CLI.

    The folder of this installation has python, pip and pytest, too, which would hide those of your scripts.

    Example:
      export PATH="$(netsum bmv2-path):$PATH"
    """
    scripts = Path(sys.executable).parent
    missing = [name for name in COMMANDS if not (scripts / name).is_file()]
    if missing:
        print(f"netsum bmv2-path: {scripts} lacks {', '.join(missing)}: install netsum again", file=sys.stderr)
        return 1
    print(linked_folder(scripts, cache_root()))
    return 0


def linked_folder(scripts: Path, root: Path) -> Path:
    """A folder under ``root`` with links to the commands in ``scripts``; the same one for the same scripts."""
    folder = root / "bmv2-path" / hashlib.sha256(bytes(scripts.absolute())).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    for name in COMMANDS:
        link, target = folder / name, scripts.absolute() / name
        if link.is_symlink() and link.readlink() == target:
            continue
        new = folder / f".{name}.{os.getpid()}"
        new.symlink_to(target)
        new.replace(link)
    return folder
