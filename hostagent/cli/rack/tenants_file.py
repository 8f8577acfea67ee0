"""The file of services that a rack server is given: a TOML table for each.

[[service]]
name = "vision"
nonce = "4f1c..."      # what RackOptimizer(server="vision:4f1c...") sends; default: a random one, printed on stderr
workers = 4
weight = 2             # share of the cores, against other services; 1 if absent
quota = "2GiB"         # of memory; none if absent
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulator.ports.units import size_bytes
from hostagent.protocol.services.aggregator import AggregatorRefused, ServiceTerms
from hostagent.rackserver.tenants.tenants import Registry

FIELDS = {"name": str, "nonce": str, "workers": int, "weight": int, "quota": str}


class TenantsFileError(Exception):
    """The file can't be used; the text names it, the service and what to write."""


def declare_all(path: Path, registry: Registry) -> dict[str, bytes]:
    """Make the file's services known; nonces that were drawn, by name. Raises TenantsFileError."""
    try:
        content = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TenantsFileError(f"{path}: {error}") from error
    services = content.pop("service", [])
    if content or not isinstance(services, list) or not services:
        found = f"there is {next(iter(content))!r} in it; " if content else ""
        raise TenantsFileError(f"{path}: {found}write one [[service]] table for each service, and nothing else")
    drawn = {}
    for number, service in enumerate(services, 1):
        where = f"{path}, service {service.get('name', number)!r}"
        try:
            _check(service)
            nonce = _declare(service, registry)
        except (AggregatorRefused, ValueError) as error:
            raise TenantsFileError(f"{where}: {error}") from error
        if nonce is not None:
            drawn[str(service["name"])] = nonce
    return drawn


def _guess(field: str) -> str:
    close = difflib.get_close_matches(field, FIELDS, 1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _check(service: Mapping[str, Any]) -> None:
    for field, value in service.items():
        if field not in FIELDS:
            raise ValueError(f"unknown field {field!r}{_guess(field)}; the fields are {', '.join(FIELDS)}")
        if not isinstance(value, FIELDS[field]) or isinstance(value, bool):
            shown = field if field == "nonce" else f"{field} = {value!r}"  # a nonce is a secret
            raise ValueError(f"{shown} should be of type {FIELDS[field].__name__}")
    for field in ("name", "workers"):
        if field not in service:
            raise ValueError(f"it has no {field}")


def _declare(service: Mapping[str, Any], registry: Registry) -> bytes | None:
    """The nonce, where it was drawn."""
    name, workers, weight = service["name"], service["workers"], service.get("weight", 1)
    quota = size_bytes(service["quota"]) if "quota" in service else 0
    if "nonce" not in service:
        return registry.create(name, workers, weight=weight, quota_bytes=quota)
    registry.declare(ServiceTerms(name, service["nonce"].encode(), workers, weight, quota))
    return None
