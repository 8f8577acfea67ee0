"""The file of services that a rack server is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostagent.cli.rack.tenants_file import TenantsFileError, declare_all
from hostagent.protocol.services.aggregator import ServiceTerms
from hostagent.rackserver.tenants.tenants import Registry


def declared(tmp_path: Path, text: str) -> tuple[Registry, dict[str, bytes]]:
    path = tmp_path / "services.toml"
    path.write_text(text)
    registry = Registry(closed=True)
    return registry, declare_all(path, registry)


def test_services_are_declared_and_nonces_drawn_where_none_is_given(tmp_path: Path) -> None:
    registry, drawn = declared(
        tmp_path,
        '[[service]]\nname = "a"\nnonce = "00ff"\nworkers = 4\nweight = 3\nquota = "2MiB"\n'
        '[[service]]\nname = "b"\nworkers = 1\n',
    )
    a, b = registry
    assert (a.name, a.workers, a.weight, a.quota_bytes) == ("a", 4, 3, 2 << 20)
    assert (b.name, b.quota_bytes) == ("b", 0)
    assert set(drawn) == {"b"}
    registry.admit(1, ServiceTerms("a", b"00ff", 4), 4)
    registry.admit(2, ServiceTerms("b", drawn["b"], 1), 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "one .* table for each service"),
        ("x = 1", "there is 'x' in it; write one .* table for each service"),
        ("[[service]", "line 1"),
        ('[[service]]\nname = "a"', "service 'a': it has no workers"),
        ("[[service]]\nworkers = 2", "service 1: it has no name"),
        ('[[service]]\nname = "a"\nworkers = "2"', "workers = '2' should be of type int"),
        (
            '[[service]]\nname = "a"\nworkers = 2\nnonse = ""',
            r"unknown field 'nonse' \(did you mean 'nonce'\?\); the fields are name, nonce",
        ),
        ('[[service]]\nname = "a"\nworkers = 2\nquota = "2 apples"', "'2 apples' is not a size"),
        ('[[service]]\nname = "a"\nworkers = 2\n' * 2, "tenant 'a' is already declared"),
    ],
)
def test_a_wrong_file_is_refused_by_what_is_wrong_in_it(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(TenantsFileError, match=rf"services\.toml.*{says}"):
        declared(tmp_path, text)


def test_a_nonce_that_is_no_text_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(TenantsFileError) as caught:
        declared(tmp_path, '[[service]]\nname = "a"\nworkers = 2\nnonce = 424242')
    assert "424242" not in str(caught.value)
