"""The P4 program that a controller is to load, from what its command line says."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hostagent.cli.compiled import parse_defines

if TYPE_CHECKING:
    from hostagent.controller.drivers.p4.driver import Program


def packed(program: str, defines: Sequence[str] | None, includes: Sequence[Path] | None) -> bytes:
    """The program and its includes as a device config package. Raises ProgramNotFound, PackageError, OSError."""
    from emulator.p4.library import find_program
    from emulator.p4runtime.pipeline.package import pack

    return pack(find_program(program), parse_defines(list(defines or ())), tuple(includes or ()))


def load_program(
    program: str | None,
    defines: Sequence[str] | None = None,
    includes: Sequence[Path] | None = None,
    p4info: Path | None = None,
    device_config: Path | None = None,
) -> Program | None:
    """What ``netsum controller`` is to load; None where that can't be, which it has said on stderr then."""
    from emulator.p4.library import ProgramNotFound
    from emulator.p4runtime.pipeline.package import PackageError
    from hostagent.controller.drivers.p4.driver import Program, ProgramError, read_program

    try:
        if program is not None:
            return Program(packed(program, defines, includes))
        return read_program(None, p4info, device_config)
    except (ProgramError, PackageError, ProgramNotFound, OSError) as error:
        print(f"netsum controller: {error}", file=sys.stderr)
        return None
