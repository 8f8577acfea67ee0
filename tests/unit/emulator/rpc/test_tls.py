"""TLS and mutual TLS between a P4Runtime server and the client of this project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from emulator.p4runtime.device import Device
from emulator.p4runtime.server import P4RuntimeServer, ServerError
from emulator.rpc.statistics import StatisticsError, read_statistics, statistics_handler
from emulator.rpc.tls import ClientTls, ServerTls, TlsError
from tests.clients.p4runtime_scenario import TIMEOUT_S, Controller
from tests.fakes.fake_switch import fake_target
from tests.labs.certificates import Certificates, make_certificates


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@contextmanager
def serving(tls: ServerTls, *extra_handlers: Any) -> Iterator[str]:
    server = P4RuntimeServer(Device(0, fake_target()), "127.0.0.1:0", extra_handlers, tls)
    try:
        yield server.address
    finally:
        server.stop()


def status_of(address: str, tls: ClientTls | None) -> Any:
    """Status of the answer to an arbitration update."""
    credentials = tls.credentials() if tls is not None else None
    controller = Controller(address, stream_s=TIMEOUT_S, credentials=credentials)
    try:
        return controller.arbitrate(1).arbitration.status.message
    finally:
        controller.close()


def test_a_client_that_trusts_the_servers_ca(made: Certificates) -> None:
    with serving(ServerTls(made.path("server.crt"), made.path("server.key"))) as address:
        assert status_of(address, ClientTls(made.path("ca.crt"))) == "Is primary"


@pytest.mark.parametrize("trusts", ["nothing", "another CA"])
def test_a_client_that_does_not_is_refused(made: Certificates, trusts: str, tmp_path: Path) -> None:
    tls = None if trusts == "nothing" else ClientTls(make_certificates(tmp_path).path("ca.crt"))
    with serving(ServerTls(made.path("server.crt"), made.path("server.key"))) as address:
        with pytest.raises(grpc.RpcError) as caught:
            status_of(address, tls)
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


def test_mutual_tls_asks_for_the_clients_certificate(made: Certificates) -> None:
    server = ServerTls(made.path("server.crt"), made.path("server.key"), made.path("ca.crt"), requires_client=True)
    own = ClientTls(made.path("ca.crt"), made.path("client.crt"), made.path("client.key"))
    with serving(server) as address:
        assert status_of(address, own) == "Is primary"
        with pytest.raises(grpc.RpcError) as caught:
            status_of(address, ClientTls(made.path("ca.crt")))
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


def test_statistics_are_read_over_tls(made: Certificates, tmp_path: Path) -> None:
    tls = ServerTls(made.path("server.crt"), made.path("server.key"))
    with serving(tls, statistics_handler(lambda: {"pid": 7})) as address:
        assert read_statistics(address, tls=ClientTls(made.path("ca.crt"))) == {"pid": 7}
        with pytest.raises(StatisticsError, match=r"absent\.crt: No such file"):
            read_statistics(address, tls=ClientTls(str(tmp_path / "absent.crt")))


def test_files_that_cannot_be_used_are_named(made: Certificates, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no certificate")
    with pytest.raises(TlsError, match=r"absent\.crt: No such file"):
        ClientTls(str(tmp_path / "absent.crt")).credentials()
    with pytest.raises(TlsError, match=r"notes\.txt: not a PEM file"):
        ClientTls(str(text)).credentials()
    with pytest.raises(TlsError, match="needs its private key"):
        ClientTls(None, made.path("client.crt")).credentials()
    with pytest.raises(TlsError, match="no CA certificate"):
        ServerTls(made.path("server.crt"), made.path("server.key"), requires_client=True).credentials()


def test_a_key_of_another_certificate_is_refused(made: Certificates) -> None:
    with (
        pytest.raises(ServerError, match="TLS: the certificate and the key cannot be used"),
        serving(ServerTls(made.path("server.crt"), made.path("client.key"))),
    ):
        pass
