"""Certificates of gRPC servers and clients: PEM files to credentials (TLS, and mutual TLS)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc


class TlsError(Exception):
    """The files cannot be used; the text names the file and the reason."""


@dataclass(frozen=True, slots=True)
class ServerTls:
    """What a server needs: its certificate and key; with ``requires_client`` also the CA of its clients."""

    certificate: str
    key: str
    ca: str | None = None
    """Root certificates that clients' certificates are verified against; also used where they are optional."""
    requires_client: bool = False

    def credentials(self) -> Any:
        """Raises TlsError."""
        if self.requires_client and self.ca is None:
            raise TlsError("client certificates are required, and there is no CA certificate to verify them against")
        pair = (_read(self.key), _read(self.certificate))
        ca = _read(self.ca) if self.ca is not None else None
        return grpc.ssl_server_credentials((pair,), ca, self.requires_client)


@dataclass(frozen=True, slots=True)
class ClientTls:
    """What a client needs: the server's CA (None: those of the system); for mutual TLS its certificate and key."""

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    def credentials(self) -> Any:
        """Raises TlsError."""
        if (self.certificate is None) != (self.key is None):
            raise TlsError("a client certificate needs its private key, and the key its certificate")
        ca, key, certificate = (_read(name) if name is not None else None for name in self._files())
        return grpc.ssl_channel_credentials(ca, key, certificate)

    def _files(self) -> tuple[str | None, str | None, str | None]:
        return self.ca, self.key, self.certificate


def _read(name: str) -> bytes:
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise TlsError(f"{name}: {error.strerror}") from error
    if b"-----BEGIN" not in content:
        raise TlsError(f"{name}: not a PEM file")
    return content
