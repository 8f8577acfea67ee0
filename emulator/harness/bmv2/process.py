"""p4c and simple_switch_grpc as processes, on their own veth interfaces."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator.harness.errors import HarnessError, NotSupported
from emulator.harness.virtual import Source
from emulator.p4runtime.pipeline.device_config import JsonConfig, read_config_file
from emulator.p4runtime.pipeline.programs import p4info_beside
from emulator.rpc.p4protos import p4info_pb2

SWITCH, COMPILER = "simple_switch_grpc", "p4c-bm2-ss"
OWN_COMMAND = b"hostagent.cli.bmv2"
"""Stands in the script that netsum installs as simple_switch_grpc."""
PORTS = range(8)
"""Interfaces are made before a test says which ports it uses."""
PATIENCE_S = 60


def require() -> None:
    """Raises `NotSupported` where bmv2 can't be run."""
    for program in (SWITCH, COMPILER):
        if find_executable(program) is None:
            but = " but for netsum's own" if shutil.which(program) else ""
            raise NotSupported(f"--target bmv2: {program} is not on the PATH{but}")
    if os.geteuid() != 0:
        raise NotSupported("--target bmv2 makes veth interfaces: it needs root")


def find_executable(program: str) -> str | None:
    """The first in PATH that is not the one of the same name that netsum installs: tests would try our switch again."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which(program, path=folder)
        if found is not None and OWN_COMMAND not in _beginning(found):
            return found
    return None


def _beginning(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(4096)
    except OSError:
        return b""


@dataclass(frozen=True, slots=True)
class Compiled:
    p4info: Any
    json: bytes


def compile_program(source: Source, folder: Path) -> Compiled:
    """Raises HarnessError with what p4c says. bmv2's JSON is taken as it is, with the P4Info next to it."""
    if isinstance(config := read_config_file(source.path), JsonConfig):
        p4info = p4info_beside(source.path)
        if p4info is None:
            raise HarnessError(
                f"{source.path}: bmv2 needs the program's P4Info in the same folder, named as p4c names it"
            )
        return Compiled(p4info_pb2.P4Info.FromString(p4info[1]), config.content)
    info, code = folder / "p4info.txt", folder / "program.json"
    defines = [f"-D{name}={value}" for name, value in source.defines]
    includes = [f"-I{path}" for path in source.include_paths]
    words = [COMPILER, "--std", "p4-16", *defines, *includes, "--p4runtime-files", str(info), "-o", str(code)]
    done = subprocess.run([*words, source.path], capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode:
        raise HarnessError(f"{COMPILER} refuses {source.path}:\n{done.stderr.strip()}")
    from google.protobuf import text_format

    return Compiled(text_format.Parse(info.read_text(), p4info_pb2.P4Info()), code.read_bytes())


class Veths:
    """A pair for each port; the test holds one end, the switch the other. Names carry the process's number."""

    def __init__(self, number: int) -> None:
        mark = f"{os.getpid() % 100000}{chr(ord('a') + number % 26)}"
        self.ours = {port: f"nh{mark}{port}" for port in PORTS}
        self.theirs = {port: f"ns{mark}{port}" for port in PORTS}

    def __enter__(self) -> Veths:
        try:
            for port in PORTS:
                _ip("link", "add", self.ours[port], "type", "veth", "peer", "name", self.theirs[port])
                for name in (self.ours[port], self.theirs[port]):
                    _without_ipv6(name)
                    _ip("link", "set", name, "up")
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            raise NotSupported(f"--target bmv2: no veth interfaces: {getattr(error, 'stderr', '') or error}") from None
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.ours.values():
            subprocess.run(["ip", "link", "delete", name], capture_output=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def _without_ipv6(name: str) -> None:
    """Otherwise the kernel sends router solicitations and neighbour discovery on the interface."""
    try:
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
    except OSError:
        return


class SwitchProcess:
    """A running simple_switch_grpc; ``address`` is its P4Runtime server's."""

    def __init__(self, interfaces: dict[int, str]) -> None:
        self.address = f"127.0.0.1:{_free_port()}"
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the process
        self._process = subprocess.Popen(self._command(interfaces), stdout=self._log, stderr=self._log)

    def _command(self, interfaces: dict[int, str]) -> Sequence[str]:
        ports = [word for port, name in interfaces.items() for word in ("-i", f"{port}@{name}")]
        switch = find_executable(SWITCH) or SWITCH
        return [switch, "--device-id", "0", *ports, "--no-p4", "--", "--grpc-server-addr", self.address]

    def wait_until_it_listens(self) -> None:
        """Raises HarnessError with what the process has said."""
        end = time.monotonic() + PATIENCE_S
        host, _, port = self.address.partition(":")
        while time.monotonic() < end:
            if self._process.poll() is not None:
                break
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise HarnessError(f"{SWITCH} does not listen at {self.address}; it said:\n{self.said()}")

    def said(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-2000:]

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
