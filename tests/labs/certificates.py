"""Certificates made with openssl for tests of TLS: a CA, and the certificates it signs for a server and a client."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Certificates:
    folder: Path

    def path(self, name: str) -> str:
        """Of ``ca``, ``server`` or ``client``, with ``.crt`` or ``.key``."""
        return str(self.folder / name)


def make_certificates(folder: Path) -> Certificates:
    """Skips the test where there is no openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    _openssl(folder, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test CA", "-days", "2")
    for name in ("server", "client"):
        _openssl(folder, "req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (folder / "names.cnf").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names.cnf", "-days", "2"]
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *signed)
    return Certificates(folder)


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)
