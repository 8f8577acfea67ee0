"""``netsum switch`` as a process: readiness, ends, and messages for what the operator can mend."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from emulator.ports.pcap.capture import read_capture
from emulator.ports.pcap.writer import IN
from emulator.rpc.statistics import StatisticsError, read_statistics
from emulator.v1model.compiled import ENGINES
from tests.clients.p4runtime_scenario import Controller
from tests.labs.shared_memory import shm_folder

__all__ = ["shm_folder"]

pytestmark = pytest.mark.usefixtures("shm_folder")

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "hostagent.cli.main", "switch"]
PROGRAM = ROOT / "tests" / "programs" / "small.p4"
TIMEOUT_S = 100
"""Compiled loops may have to be compiled first, on a busy machine."""

Start = Callable[..., tuple["subprocess.Popen[str]", dict[str, Any]]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a switch and wait for its JSON line."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: str, command: list[str] = COMMAND) -> tuple[subprocess.Popen[str], dict[str, Any]]:
        words = [*command, "--grpc-server-addr", "127.0.0.1:0", "--quiet", *arguments]
        process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        return process, json.loads(line)

    yield run
    for process in started:
        process.kill()
        process.communicate()


def fails(*arguments: str) -> tuple[int, str]:
    """Exit status and stderr of a switch that does not start."""
    done = subprocess.run([*COMMAND, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_without_a_program_it_waits_for_one(start: Start, shm_folder: Path) -> None:
    process, ready = start("--device-id", "4", "--port", "7=shm:t-wait", "--port", "8=udp:127.0.0.1:0")
    assert (ready["ready"], ready["device_id"], ready["pid"], ready["program"]) == (True, 4, process.pid, None)
    assert ready["ports"]["7"] == "7=shm:t-wait"
    assert not ready["ports"]["8"].endswith(":0")
    controller = Controller(ready["p4runtime"], device_id=4)
    assert controller.arbitrate(1).arbitration.status.message == "Is primary"
    with pytest.raises(grpc.RpcError) as caught:
        controller.read_texts("table_entry {}")
    assert caught.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    host, port = ready["ports"]["8"].partition("udp:")[2].split(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(bytes(64), (host, int(port)))
    statistics = wait_for(ready["p4runtime"], lambda s: s["loop"]["no_program"] == 1)
    assert (statistics["ports"]["8"]["frames_in"], statistics["ports"]["8"]["bytes_in"]) == (1, 64)
    process.send_signal(signal.SIGTERM)
    assert process.wait(TIMEOUT_S) == 0
    assert list(shm_folder.iterdir()) == []
    controller.close()


def wait_for(address: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Statistics once they are so; for what another process does in its own time."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        statistics = read_statistics(address)
        if condition(statistics) or time.monotonic() > deadline:
            return statistics
        time.sleep(0.01)


@pytest.mark.parametrize("engine", ENGINES)
def test_frames_from_host_to_host(start: Start, engine: str) -> None:
    """The program decides by what P4Runtime has written, and the counts tell."""
    left, right = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for host in (left, right):
        host.bind(("127.0.0.1", 0))
        host.settimeout(TIMEOUT_S)
    remote = f"127.0.0.1:{right.getsockname()[1]}"
    ports = ("--port", "1=udp:127.0.0.1:0", "--port", f"2=udp:127.0.0.1:0,{remote}")
    process, ready = start(str(PROGRAM), "--engine", engine, "-D", "REGISTER_SIZE=3", *ports)
    assert (ready["program"], ready["engine"]) == ("small", engine)
    controller = Controller(ready["p4runtime"])
    controller.arbitrate(1)
    ids = {
        item.preamble.alias: item.preamble.id
        for kind in ("tables", "actions")
        for item in getattr(controller.p4info(), kind)
    }
    params = 'params { param_id: 1 value: "\\002" } params { param_id: 2 value: "\\177" }'
    default = f"table_entry {{ table_id: {ids['hosts']} is_default_action: true action {{ action {{"
    try:
        controller.write_texts(("MODIFY", f"{default} action_id: {ids['drop']} }} }} }}"))
        controller.write_texts(
            ("MODIFY", f'{default} action_id: {ids["flood"]} params {{ param_id: 1 value: "1" }} }} }} }}')
        )
        where = ready["ports"]["1"].partition("udp:")[2].split(",")[0].split(":")
        left.sendto(bytes(60), (where[0], int(where[1])))
        wait_for(ready["p4runtime"], lambda s: s["loop"]["frames"] == 1)
        controller.write_texts(("MODIFY", f"{default} action_id: {ids['forward']} {params} }} }} }}"))
        left.sendto(bytes(60), (where[0], int(where[1])))
        assert right.recv(2048) == bytes(5) + b"\x7f" + bytes(54)
        statistics = wait_for(ready["p4runtime"], lambda s: s["ports"]["2"]["frames_out"] == 1)
        assert statistics["ports"]["1"]["frames_in"] == 2
        assert statistics["ports"]["2"]["bytes_out"] == 60
        assert sum(statistics["drops"].values()) == 1
        assert len(controller.read_texts("register_entry {}")) == 3
    finally:
        controller.close()
        left.close()
        right.close()
    process.send_signal(signal.SIGTERM)
    assert process.wait(TIMEOUT_S) == 0


def test_a_switch_whose_loops_are_compiled_loads_no_compiler(start: Start, shm_folder: Path) -> None:
    start()  # compiles them where nobody has
    ports = ("--port", "1=udp:127.0.0.1:0", "--port", "2=shm:t-quick", "--port", "3=tcp:127.0.0.1:0")
    process, ready = start(str(PROGRAM), "--cpu-port", "5", *ports)
    host, port = ready["ports"]["1"].partition("udp:")[2].split(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(bytes(64), (host, int(port)))
    host, port = ready["ports"]["3"].partition("tcp:")[2].split(":")
    socket.create_connection((host, int(port)), TIMEOUT_S).close()
    assert wait_for(ready["p4runtime"], lambda s: s["loop"]["frames"] == 1)["loop"]["frames"] == 1
    assert "numba" not in Path(f"/proc/{process.pid}/maps").read_text()


def test_a_capture_of_all_ports_continues_after_a_kill(start: Start, tmp_path: Path, shm_folder: Path) -> None:
    """Without a compiler in the process, as the test above."""
    path = tmp_path / "all.pcapng"
    start()  # compiles the loops where nobody has
    words = (str(PROGRAM), "--port", "1=udp:127.0.0.1:0", "--port", "2=shm:t-capture", "--capture", str(path))
    for further in ((), ("--capture-append",)):
        process, ready = start(*words, *further)
        host, port = ready["ports"]["1"].partition("udp:")[2].split(":")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(bytes(64), (host, int(port)))
        found = wait_for(ready["p4runtime"], lambda s: s["capture"]["frames"] == 1)["capture"]
        assert (found["interfaces"], found["frames"], found["is_full"]) == (2, 1, False)
        assert "numba" not in Path(f"/proc/{process.pid}/maps").read_text()
        until_written(path, 1 if not further else 2)
        process.kill() if not further else process.terminate()
        process.wait(TIMEOUT_S)
    capture = read_capture(str(path))
    assert capture.interfaces == ("port 1", "port 2") * 2
    assert [(int(each["interface"]), int(each["direction"])) for each in capture.records] == [(0, IN), (2, IN)]
    now_ns = time.time_ns()
    assert all(now_ns - 10**9 * TIMEOUT_S < each <= now_ns for each in capture.records["time_ns"])


def until_written(path: Path, frames: int) -> None:
    """A loop writes what it has kept before it sleeps."""
    deadline = time.monotonic() + TIMEOUT_S
    while len(read_capture(str(path)).records) < frames and time.monotonic() < deadline:
        time.sleep(0.01)


def test_killed_and_started_again_on_the_same_ports(start: Start, shm_folder: Path) -> None:
    process, first = start("--port", "1=shm:t-killed")
    process.kill()
    process.wait()
    words = ("--port", "1=shm:t-killed", "--grpc-server-addr", first["p4runtime"])
    process, second = start(*words)
    assert second["p4runtime"] == first["p4runtime"]
    process.terminate()
    assert process.wait(TIMEOUT_S) == 0
    assert list(shm_folder.iterdir()) == []


def test_a_program_that_does_not_compile(tmp_path: Path, shm_folder: Path) -> None:
    (tmp_path / "wrong.p4").write_text("#include <core.p4>\n\ncontrol c() { apply { x = 1; } }\n")
    status, message = fails(str(tmp_path / "wrong.p4"), "--port", "1=shm:t-wrong")
    assert status == 1
    assert message.startswith(f"{tmp_path}/wrong.p4:3:23: error: ")
    assert message.splitlines()[-1] == f"netsum switch: {tmp_path}/wrong.p4 does not compile"
    assert list(shm_folder.iterdir()) == []


def test_a_program_that_is_not_there() -> None:
    status, message = fails("nothing.p4")
    assert (status, message.count("\n")) == (1, 1)
    assert message.startswith("netsum switch: there is no P4 program 'nothing.p4'")


def test_it_ends_while_it_compiles(tmp_path: Path) -> None:
    """An include that never comes to its end stands for a long compilation."""
    fifo = tmp_path / "endless.p4"
    os.mkfifo(fifo)
    (tmp_path / "main.p4").write_text('#include "endless.p4"\n')
    words = [*COMMAND, str(tmp_path / "main.p4"), "--grpc-server-addr", "127.0.0.1:0"]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    writer = open_when_read(fifo, process)
    process.send_signal(signal.SIGTERM)
    output, message = process.communicate(timeout=TIMEOUT_S)
    os.close(writer)
    assert (process.returncode, output, message) == (0, b"", b"")


def open_when_read(fifo: Path, process: subprocess.Popen[bytes]) -> int:
    """The writing end, as soon as the process has opened the reading end."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # ENXIO: nobody reads yet
            time.sleep(0.01)
    raise AssertionError(process.communicate()[1])


def test_sigint_ends_it_too(start: Start) -> None:
    process, _ = start()
    process.send_signal(signal.SIGINT)
    assert process.wait(TIMEOUT_S) == 0


def test_it_dies_with_its_parent(start: Start) -> None:
    launcher = "import subprocess, sys; sys.exit(subprocess.Popen(sys.argv[1:]).wait())"
    parent, ready = start("--die-with-parent", command=[sys.executable, "-c", launcher, *COMMAND])
    assert ready["pid"] != parent.pid
    watched = os.pidfd_open(ready["pid"])
    parent.kill()
    assert wait_readable(watched)
    os.close(watched)


def wait_readable(descriptor: int) -> bool:
    import select

    return bool(select.select([descriptor], [], [], TIMEOUT_S)[0])


def test_address_in_use(start: Start) -> None:
    _, ready = start()
    status, message = fails("--grpc-server-addr", ready["p4runtime"])
    assert status == 1
    assert message.splitlines()[-1].startswith(f"netsum switch: cannot listen on {ready['p4runtime']}: ")


def test_udp_port_in_use() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        status, message = fails("--port", f"1=udp:127.0.0.1:{port}", "--grpc-server-addr", "127.0.0.1:0")
    assert status == 1
    assert message.count("\n") == 1
    assert message.startswith("netsum switch: ")
    assert str(port) in message


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (["--color"], 2, "netsum switch: unknown option --color"),
        (["--engine", "jvm"], 2, "--engine: 'jvm' is none of llvm, interpreter"),
        (["--port", "1"], 2, "netsum switch: --port: port '1'"),
        (["--port", "1=tin:can"], 2, "unknown kind 'tin'"),
        (["--port", "1=shm:a", "--port", "1=shm:b"], 2, "port number 1 is already"),
        (["--grpc-server-addr", "here"], 2, "'here' is not HOST:PORT"),
        (["--device-id", "-1"], 1, "--device-id -1"),
    ],
)
def test_wrong_options(arguments: list[str], status: int, complaint: str) -> None:
    found_status, message = fails(*arguments)
    assert found_status == status
    assert complaint in message


def test_no_statistics() -> None:
    with pytest.raises(StatisticsError, match=r"127\.0\.0\.1:1"):
        read_statistics("127.0.0.1:1", timeout_s=2)
