"""A server that listens before its switch is ready: calls wait until it is, or fail if it cannot start."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import grpc
import pytest

from emulator.p4runtime.commands.service import CommandsClient, commands_handler
from emulator.p4runtime.device import Device
from emulator.p4runtime.listen_before_ready import EarlyListening, Listening
from emulator.p4runtime.process import SwitchOptions, run_switch
from emulator.p4runtime.server import P4RuntimeServer
from tests.clients.p4runtime_scenario import TIMEOUT_S, Controller
from tests.fakes.fake_switch import fake_target

ADDRESS = "127.0.0.1:0"


@pytest.fixture
def server() -> Iterator[P4RuntimeServer]:
    server = P4RuntimeServer(None, ADDRESS)
    yield server
    server.stop()


def test_calls_wait_for_the_device(server: P4RuntimeServer) -> None:
    controller = Controller(server.address)
    with ThreadPoolExecutor() as pool:
        stream, call = pool.submit(controller.arbitrate, 1), pool.submit(controller.p4info)
        assert not stream.done()
        assert not call.done()
        server.serve(Device(0, fake_target()))
        assert stream.result(TIMEOUT_S).arbitration.status.message == "Is primary"
        call.result(TIMEOUT_S)
    controller.close()


def test_waiting_calls_fail_when_the_switch_cannot_start(
    server: P4RuntimeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = Controller(server.address)
    ready, is_waiting = server._servicer._ready, threading.Event()
    wait = ready.wait

    def observed(timeout_s: float | None = None) -> bool:
        is_waiting.set()
        return wait(timeout_s)

    monkeypatch.setattr(ready, "wait", observed)
    with ThreadPoolExecutor() as pool:
        call = pool.submit(controller.p4info)
        assert is_waiting.wait(TIMEOUT_S)  # a call that no handler has taken yet ends with CANCELLED instead
        server.stop(grace_s=TIMEOUT_S)
        with pytest.raises(grpc.RpcError) as caught:
            call.result(TIMEOUT_S)
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    controller.close()


def test_it_listens_when_getting_ready_takes_long() -> None:
    began: SimpleQueue[str] = SimpleQueue()
    with Listening(ADDRESS, EarlyListening(0.0, began.put)) as listening:
        address = began.get(timeout=TIMEOUT_S)
        server = listening.serve(Device(0, fake_target()))
    assert server.address == address
    controller = Controller(server.address)
    assert controller.arbitrate(1).arbitration.status.message == "Is primary"
    controller.close()
    assert server.stop()


def test_it_does_not_when_that_is_quick() -> None:
    began: SimpleQueue[str] = SimpleQueue()
    with Listening(ADDRESS, EarlyListening(3600.0, began.put)) as listening:
        server = listening.serve(Device(0, fake_target()))
    assert began.empty()
    assert server.stop()


def test_an_address_in_use_is_an_error_before_the_program_is_read(
    server: P4RuntimeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    options = SwitchOptions(program="absent.p4", grpc_server_addr=server.address)
    assert run_switch(options) == 1
    assert f"cannot listen on {server.address}: another program has that port" in capsys.readouterr().err


def test_listening_needs_nothing_of_the_data_plane() -> None:
    script = (
        "import sys\n"
        "from emulator.p4runtime.listen_before_ready import EarlyListening, Listening\n"
        "with Listening('127.0.0.1:0', EarlyListening(0.0)):\n"
        "    print(*(name for name in ('numpy', 'llvmlite', 'emulator.p4runtime.device') if name in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "\n", "imported before the port listens"


def test_a_switch_without_a_program_imports_no_compiler() -> None:
    unused = ("emulator.p4.ir.blocks", "emulator.p4.interpreter.interpreter", "emulator.p4.llvm.storage", "numba")
    script = f"import sys, emulator.p4runtime.process\nprint(*(name for name in {unused} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_other_services_wait_too(server: P4RuntimeServer) -> None:
    client = CommandsClient(server.address)

    class Echo:
        def run(self, line: str) -> str:
            return f"ran {line}"

    with ThreadPoolExecutor() as pool:
        call = pool.submit(client.run, "get_time_elapsed")
        unknown = pool.submit(call_unknown, server.address)
        server.serve(Device(0, fake_target()), (commands_handler(Echo),))  # type: ignore[arg-type]
        assert call.result(TIMEOUT_S) == "ran get_time_elapsed"
        assert unknown.result(TIMEOUT_S) is grpc.StatusCode.UNIMPLEMENTED
    assert client.run("again") == "ran again"
    client.close()


def call_unknown(address: str) -> grpc.StatusCode:
    with grpc.insecure_channel(address) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/no.such.Service/Method")(b"", timeout=TIMEOUT_S)
    code: grpc.StatusCode = caught.value.code()
    return code
