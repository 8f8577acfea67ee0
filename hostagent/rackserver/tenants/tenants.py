"""Who may use the server, how many workers each tenant has, and how much memory: one service for each namespace.

A service begins with its declaration by the operator (`declare`, from ``--services``), with its checkpoint (`restore`)
or, where the server is open, with the first job that names it; that job's nonce is the service's from then on. Later
jobs must bring the same nonce and stay within the declared workers, or declare another number, which an operator's
declaration alone forbids: weights and state do not depend on it, and a service has one job at a time. Keys, weights and
the service's number outlive its jobs.

No I/O and no clock. All refusals are `AggregatorRefused`, name the tenant, and are counted.

Nonces are stored and compared as digests, in constant time, and an unknown namespace is compared too: the time of a
refusal reveals neither a prefix of a nonce nor the existing namespaces.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from hostagent.protocol.services.aggregator import (
    MOST_CHILDREN,
    AggregatorRefused,
    JobCounters,
    RefusalCode,
    ServiceTerms,
)

NAME_CHARACTERS = 128
NONCE_BYTES = 16
"""Bytes of a nonce drawn by the server: 128 bits."""
MOST_NONCE_BYTES = 256
MOST_WEIGHT = 1000
"""A tenant's share of the cores is its weight over the sum of all: more of a difference would be none."""


class Refused(Enum):
    """Why a tenant was refused; values of the metric's label."""

    NONCE = "nonce"
    """Wrong, or for a namespace that a closed server does not know: the refusal does not distinguish them."""
    WORKERS = "workers"
    """More workers than the service declared, or a worker's number beyond them."""
    TERMS = "terms"
    """The terms can't be, or are other than the service's own."""
    MEMORY = "memory"
    """Beyond the tenant's quota, or the server's memory."""


@dataclass(slots=True)
class Tenant:
    """One service. Changed by the registry alone."""

    name: str
    number: int
    """Number, from 0 in the order of declaration; never another tenant's."""
    workers: int
    """The most that its jobs may have; they are numbered from 0."""
    weight: int
    quota_bytes: int
    """0: the server's memory is the only limit."""
    digest: bytes
    by_operator: bool = False
    """Declared by the operator, and no job may declare more."""
    jobs: set[int] = field(default_factory=set)
    refused: dict[Refused, int] = field(default_factory=dict)
    ended_frames: dict[str, int] = field(default_factory=dict)
    """Contributions of jobs that are no more, by verdict."""
    ended_bytes: dict[str, int] = field(default_factory=dict)


class Registry:
    """The tenants of one server. ``memory_bytes``: what all of them may use together; 0: half of the
    machine's."""

    def __init__(self, memory_bytes: int = 0, *, closed: bool = False) -> None:
        """``closed``: only declared services are admitted."""
        self.memory_bytes = memory_bytes
        self.closed = closed
        self.unknown_services = 0
        """Refusals of unknown namespaces, and, on a closed server, of jobs without a service."""
        self.without_service = Tenant("", -1, 0, 1, 0, b"")
        """Counters of removed jobs that had no service."""
        self._tenants: dict[str, Tenant] = {}
        self._by_job: dict[int, Tenant] = {}
        self._unknown = _digest(secrets.token_bytes(NONCE_BYTES))

    # --- Services ---------------------------------------------------------------------------------------------------

    def create(self, name: str, workers: int, *, weight: int = 1, quota_bytes: int = 0) -> bytes:
        """A new service with a nonce drawn here (ASCII text), which is returned and kept nowhere. As Parameter Hub's
        CreateService."""
        nonce = secrets.token_hex(NONCE_BYTES).encode()
        self.declare(ServiceTerms(name, nonce, workers, weight, quota_bytes))
        return nonce

    def declare(self, terms: ServiceTerms, *, by_operator: bool = True) -> Tenant:
        """Make a service known. Raises AggregatorRefused(INVALID), also where the namespace is taken."""
        _check_terms(terms)
        if terms.name in self._tenants:
            raise AggregatorRefused(f"tenant {terms.name!r} is already declared; choose another namespace")
        tenant = Tenant(
            terms.name,
            len(self._tenants),
            terms.workers,
            terms.weight or 1,
            terms.quota_bytes,
            _digest(terms.nonce),
            by_operator,
        )
        self._tenants[terms.name] = tenant
        return tenant

    def restore(self, name: str, workers: int, weight: int, quota_bytes: int, digest: bytes) -> bool:
        """Make a service known again, as it was before the server was started again. A declared one is as declared;
        where only such are let in no other comes back: False."""
        if name not in self._tenants:
            if self.closed:
                return False
            self._tenants[name] = Tenant(name, len(self._tenants), workers, weight, quota_bytes, digest)
        return True

    def admit(self, job: int, terms: ServiceTerms, children: int) -> Tenant:
        """Assign a job to its tenant, for ``children`` contributors (each one worker or more); returns the tenant.

        Weight and quota are those of the declaration; the terms set them for a new service only. The terms may change
        the number of workers. A known job is admitted again, as after a restart. Raises AggregatorRefused and then has
        changed nothing.
        """
        tenant = self._tenants.get(terms.name)
        owner = self._by_job.get(job)
        if owner is not None and owner is not tenant:
            self._count(tenant, Refused.TERMS)
            raise AggregatorRefused(f"tenant {terms.name!r}: job {job} is another tenant's", RefusalCode.FORBIDDEN)
        matches = hmac.compare_digest(_digest(terms.nonce), tenant.digest if tenant is not None else self._unknown)
        if tenant is None and not self.closed:
            terms = replace(terms, workers=terms.workers or children)
            _check_terms(terms)
            _check_children(terms.name, children, terms.workers)
            tenant = self.declare(terms, by_operator=False)
        elif tenant is None or not matches:
            self._count(tenant, Refused.NONCE)
            raise AggregatorRefused(
                f"tenant {terms.name!r}: no such service, or another nonce; use the one that the service was made with",
                RefusalCode.FORBIDDEN,
            )
        else:
            tenant.workers = self._workers_of(tenant, terms, children)
        tenant.jobs.add(job)
        self._by_job[job] = tenant
        return tenant

    def check_open(self, job: int) -> None:
        """A job without a service, which only sums: AggregatorRefused where only declared services are let in."""
        if self.closed:
            self._count(None, Refused.TERMS)
            raise AggregatorRefused(
                f"job {job} has no service, and this server accepts only its --services; sum elsewhere",
                RefusalCode.FORBIDDEN,
            )

    def _workers_of(self, tenant: Tenant, terms: ServiceTerms, children: int) -> int:
        """The service's number from this job on. Raises AggregatorRefused."""
        _check_terms(replace(terms, workers=terms.workers or tenant.workers))
        declared = terms.workers or tenant.workers
        wanted = max(declared, children)
        if wanted > tenant.workers and (tenant.by_operator or not terms.workers):
            self._count(tenant, Refused.WORKERS)
            source, instead = "an earlier job had, or declared", f"declare more with RackOptimizer(workers={wanted})"
            if tenant.by_operator:
                source, instead = "--services declares", "have more declared there"
            raise AggregatorRefused(
                f"tenant {tenant.name!r}: worker {wanted - 1} is beyond the {tenant.workers} workers that {source}; "
                f"start {tenant.workers} at most, or {instead}",
                RefusalCode.FORBIDDEN,
            )
        if children > declared:
            self._count(tenant, Refused.WORKERS)
        _check_children(tenant.name, children, declared)
        return tenant.workers if tenant.by_operator else declared

    def leave(self, job: int, counters: JobCounters | None = None) -> None:
        """Remove a job; its service and keys stay. An unknown job is not an error. ``counters``: the job's, which are
        added to the tenant's, or to those of jobs without a service."""
        tenant = self._by_job.pop(job, self.without_service)
        tenant.jobs.discard(job)
        if counters is not None:
            for total, counted in ((tenant.ended_frames, counters.frames), (tenant.ended_bytes, counters.bytes)):
                for name, value in counted.items():
                    total[name] = total.get(name, 0) + value

    def tenant(self, name: str) -> Tenant:
        """Raises AggregatorRefused(UNKNOWN)."""
        if name not in self._tenants:
            raise AggregatorRefused(f"there is no tenant {name!r}", RefusalCode.UNKNOWN)
        return self._tenants[name]

    def of_job(self, job: int) -> Tenant | None:
        """The tenant of a job; None for an unknown job or one without a service."""
        return self._by_job.get(job)

    def __iter__(self) -> Iterator[Tenant]:
        yield from self._tenants.values()

    def _count(self, tenant: Tenant | None, reason: Refused) -> None:
        if tenant is None:
            self.unknown_services += 1
        else:
            tenant.refused[reason] = tenant.refused.get(reason, 0) + 1


def _digest(nonce: bytes) -> bytes:
    return hashlib.sha256(nonce).digest()


def _check_terms(terms: ServiceTerms) -> None:
    """Raises AggregatorRefused(INVALID) where no service can be so."""
    name = terms.name
    problem = ""
    if not 1 <= len(name) <= NAME_CHARACTERS or not name.isprintable():
        problem = f"a namespace has 1 to {NAME_CHARACTERS} printable characters"
    elif len(terms.nonce) > MOST_NONCE_BYTES:
        problem = f"a nonce has {MOST_NONCE_BYTES} bytes at most"
    elif not 1 <= terms.workers <= MOST_CHILDREN * MOST_CHILDREN:
        problem = f"{terms.workers} workers; declare 1 to {MOST_CHILDREN * MOST_CHILDREN}"
    elif not 0 <= terms.weight <= MOST_WEIGHT:
        problem = f"weight {terms.weight}; use 1 to {MOST_WEIGHT}"
    elif terms.quota_bytes < 0:
        problem = f"a quota of {terms.quota_bytes} bytes"
    if problem:
        raise AggregatorRefused(f"tenant {name[:NAME_CHARACTERS]!r}: {problem}")


def _check_children(name: str, children: int, workers: int) -> None:
    if children > workers:
        raise AggregatorRefused(
            f"tenant {name!r}: {children} workers joined, but the job declares {workers}; declare the actual number",
            RefusalCode.FORBIDDEN,
        )
