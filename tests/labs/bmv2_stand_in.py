"""Stand-ins for p4c-bm2-ss and simple_switch_grpc: their names and options, our compiler and switch behind them.

They try the harness's bmv2 driver where neither can be had: the processes, the interfaces, P4Runtime, real time. They
say nothing about bmv2 itself.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def install(folder: Path) -> None:
    """Put executables of both names into a folder, for the PATH."""
    root = Path(__file__).resolve().parents[2]
    for name in ("p4c-bm2-ss", "simple_switch_grpc"):
        script = folder / name
        command = f'exec "{sys.executable}" -m tests.labs.bmv2_stand_in {name} "$@"'
        script.write_text(f'#!/bin/sh\nPYTHONPATH="{root}" {command}\n')
        script.chmod(0o755)


def compiler(arguments: list[str]) -> None:
    """P4Info as p4c writes it; in place of its JSON a package of the source."""
    from emulator.p4runtime.pipeline.package import pack
    from emulator.v1model.command import run_compile

    parser = argparse.ArgumentParser()
    parser.add_argument("--std", required=True)
    parser.add_argument("-D", dest="defines", action="append", default=[])
    parser.add_argument("-I", dest="folders", action="append", default=[])
    parser.add_argument("--p4runtime-files", required=True)
    parser.add_argument("-o", required=True)
    parser.add_argument("program")
    given = parser.parse_args(arguments)
    defines = dict(text.partition("=")[::2] for text in given.defines)
    status = run_compile(
        given.program, p4info=given.p4runtime_files, defines=defines, include_paths=given.folders, strict_bmv2=True
    )
    if status:
        sys.exit(status)
    Path(given.o).write_bytes(pack(given.program, defines, given.folders))


def switch(arguments: list[str]) -> None:
    """The options that the driver gives; target options stand behind ``--``."""
    own, _, rest = " ".join(arguments).partition(" -- ")
    parser = argparse.ArgumentParser()
    parser.add_argument("-i", dest="ports", action="append", default=[])
    parser.add_argument("--device-id", default="0")
    parser.add_argument("--no-p4", action="store_true", required=True)
    given = parser.parse_args(own.split())
    target = argparse.ArgumentParser()
    target.add_argument("--grpc-server-addr", required=True)
    address = target.parse_args(rest.split()).grpc_server_addr
    ports = [word for text in given.ports for word in ("--port", "{}=if:{}".format(*text.split("@")))]
    words = ["switch", *ports, "--p4runtime", address, "--device-id", given.device_id, "--die-with-parent"]
    os.execv(sys.executable, [sys.executable, "-m", "hostagent.cli.main", *words])


if __name__ == "__main__":
    {"p4c-bm2-ss": compiler, "simple_switch_grpc": switch}[sys.argv[1]](sys.argv[2:])
