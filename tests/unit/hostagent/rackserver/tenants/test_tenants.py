"""Tenants: namespaces, nonces, declared workers, quotas."""

from __future__ import annotations

import hmac
from typing import Any

import pytest

from hostagent.protocol.services.aggregator import AggregatorRefused, RefusalCode, ServiceTerms
from hostagent.rackserver.tenants.tenants import Refused, Registry


def terms(name: str = "red", nonce: bytes = b"secret", workers: int = 4, **more: Any) -> ServiceTerms:
    return ServiceTerms(name, nonce, workers, **more)


def test_the_first_job_creates_the_service_and_later_ones_need_its_nonce() -> None:
    registry = Registry()
    red = registry.admit(7, terms(), children=4)
    assert registry.admit(8, terms(), children=2) is red
    assert red.jobs == {7, 8}
    for nonce in (b"secreu", b"secre", b"secret2", b""):
        with pytest.raises(AggregatorRefused, match="tenant 'red': no such service, or another nonce") as caught:
            registry.admit(9, terms(nonce=nonce), children=4)
        assert caught.value.code is RefusalCode.FORBIDDEN
    assert red.refused == {Refused.NONCE: 4}
    assert red.jobs == {7, 8}


def test_unknown_namespace_and_wrong_nonce_get_the_same_answer() -> None:
    registry = Registry(closed=True)
    nonce = registry.create("red", workers=2)
    messages = []
    for name, offered in (("red", b"wrong"), ("blue", b"wrong")):
        with pytest.raises(AggregatorRefused) as caught:
            registry.admit(1, terms(name, offered), children=2)
        messages.append(str(caught.value).replace(name, ""))
    assert messages[0] == messages[1]
    assert registry.unknown_services == 1
    assert registry.admit(1, terms("red", nonce, 2), children=2).name == "red"


def test_every_refusal_compares_whole_digests_whatever_was_right(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(closed=True)
    registry.declare(terms())
    compared: list[tuple[int, int]] = []
    real = hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for name, nonce in (("red", b""), ("red", b"secre"), ("red", b"secret" * 40), ("nobody", b"secret")):
        with pytest.raises(AggregatorRefused):
            registry.admit(1, terms(name, nonce), children=1)
    assert compared == [(32, 32)] * 4


def test_a_worker_beyond_the_declared_number_is_refused_by_its_number() -> None:
    registry = Registry()
    with pytest.raises(AggregatorRefused, match="tenant 'red': 5 workers joined, but the job declares 4"):
        registry.admit(1, terms(workers=4), children=5)
    assert list(registry) == []
    red = registry.admit(1, terms(workers=4), children=4)
    with pytest.raises(AggregatorRefused, match=r"worker 4 is beyond the 4 workers .* RackOptimizer\(workers=5\)"):
        registry.admit(2, terms(workers=0), children=5)
    assert red.refused == {Refused.WORKERS: 1}


def test_a_service_has_its_first_jobs_workers_until_a_job_declares_others() -> None:
    registry = Registry()
    red = registry.admit(1, terms(workers=0), children=2)
    assert red.workers == 2
    with pytest.raises(AggregatorRefused, match="3 workers joined, but the job declares 2"):
        registry.admit(2, terms(workers=2), children=3)
    with pytest.raises(AggregatorRefused, match="100000 workers; declare 1 to 4096"):
        registry.admit(2, terms(workers=100_000), children=3)
    for job, declared, children, workers in ((3, 5, 3, 5), (4, 0, 5, 5), (5, 1, 1, 1)):
        assert registry.admit(job, terms(workers=declared), children).workers == workers
    with pytest.raises(AggregatorRefused, match="worker 1 is beyond the 1 workers"):
        registry.admit(6, terms(workers=0), children=2)


def test_what_an_operator_declared_only_the_operator_changes() -> None:
    registry = Registry(closed=True)
    red = registry.declare(terms(workers=2))
    for declared, children in ((3, 3), (0, 3), (3, 1)):
        with pytest.raises(AggregatorRefused, match="worker 2 is beyond the 2 workers that --services declares"):
            registry.admit(1, terms(workers=declared), children)
    assert registry.admit(1, terms(workers=1), 1) is red
    assert red.workers == 2
    assert red.refused == {Refused.WORKERS: 3}


def test_a_service_outlives_its_jobs() -> None:
    registry = Registry()
    red = registry.admit(1, terms(), 4)
    registry.leave(1)
    registry.leave(1)
    assert registry.admit(5, terms(), 4) is red
    with pytest.raises(AggregatorRefused, match="job 5 is another tenant's"):
        registry.admit(5, terms("blue"), 4)
    assert list(registry) == [red]
    with pytest.raises(AggregatorRefused, match="no tenant 'blue'"):
        registry.tenant("blue")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (terms(""), "a namespace has 1 to 128 printable characters"),
        (terms("a\nb"), "a namespace has 1 to 128 printable characters"),
        (terms(workers=0), "0 workers; declare 1 to 4096"),
        (terms(weight=1001), "weight 1001"),
        (terms(quota_bytes=-1), "a quota of -1 bytes"),
        (terms(nonce=bytes(257)), "a nonce has 256 bytes at most"),
    ],
)
def test_terms_that_can_not_be_are_refused_by_what_is_wrong(wrong: ServiceTerms, says: str) -> None:
    registry = Registry()
    with pytest.raises(AggregatorRefused, match=says):
        registry.admit(1, wrong, children=0)
    assert list(registry) == []
