"""SessionClients against the controller's gRPC shell, with a driver that has no aggregator behind it."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from hostagent.controller import server
from hostagent.controller.core.core import Controller
from hostagent.controller.core.model import SECOND_NS, Limits, Settings
from hostagent.controller.core.ports import offer_from
from hostagent.controller.drivers import silence
from hostagent.controller.persistence import read_state
from hostagent.controller.server import COLLECT_NS, ControllerServer
from hostagent.protocol.services import session_pb2 as pb
from hostagent.protocol.services.session_pb2_grpc import SessionStub
from hostagent.transport.engine import heartbeat_socket
from hostagent.transport.session.session import (
    ControllerLost,
    JobFailed,
    Lease,
    Mismatch,
    MissingRanks,
    SessionClient,
    SessionRefused,
    host_identity,
    pack_heartbeat,
)
from hostagent.transport.session.terms import Terms
from tests.fakes.fake_driver import FakeDriver

PORTS = tuple(offer_from(f"{number}=shm:test-{number}") for number in range(1, 5))
SHORT = Limits(detached_ns=SECOND_NS // 10, linger_ns=SECOND_NS // 5, silence_ns=SECOND_NS // 2)
WAIT_S = 20.0


class Service:
    """A controller on a loop in a thread; may be killed and started again on the same port."""

    def __init__(self, driver: FakeDriver, state: Path | None, host: str = "127.0.0.1") -> None:
        self.driver, self.state, self.host, self.port = driver, state, host, 0
        self.settings = Settings("here", limits=SHORT)
        self.told = threading.Event()
        """A problem was reported."""

    def start(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.server = self.on_loop(self._start())
        self.port = self.server.port

    async def _start(self) -> ControllerServer:
        import time

        saved = read_state(self.state) if self.state is not None else None
        now_ns, wall_s = time.monotonic_ns(), int(time.time())
        core = Controller(self.settings, PORTS, now_ns=now_ns, wall_s=wall_s, saved=saved)
        server = ControllerServer(core, self.driver, self.state, lambda text: self.told.set())
        await server.start(self.host, self.port)
        return server

    def on_loop(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(WAIT_S)

    def stop(self) -> None:
        self.on_loop(self.server.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(WAIT_S)
        self.loop.close()

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def status(self) -> pb.StatusReply:
        with grpc.insecure_channel(self.address) as channel:
            return SessionStub(channel).Status(pb.StatusRequest(), timeout=WAIT_S)


class Rank:
    """Callbacks that write down what happened."""

    def __init__(self, service: Service, lowest: int = 0) -> None:
        self.lowest = lowest
        self.counters: dict[str, int] = {}
        self.resumed: list[tuple[int, int]] = []
        self.left: list[tuple[int, int]] = []
        self.units: list[tuple[int, tuple[Terms, ...]]] = []
        self.cause = ""
        self.descriptions: dict[int, str] = {}
        self.frozen, self.went_on, self.failed, self.saw_leave, self.saw_units = (threading.Event() for _ in range(5))
        self.client = SessionClient(service.address, self, transports=("shm",), host="here", reconnect_timeout_s=WAIT_S)

    def on_freeze(self, job: int) -> int:
        self.frozen.set()
        return self.lowest

    def on_resume(self, job: int, lease: Lease) -> None:
        self.resumed.append((lease.epoch, lease.base))
        self.went_on.set()

    def on_failed(self, job: int, failure: JobFailed) -> None:
        self.cause = str(failure)
        self.failed.set()

    def on_collect(self, job: int) -> dict[str, int]:
        return self.counters

    def on_describe(self, job: int, operation: int) -> str:
        return self.descriptions.get(operation, "")

    def on_proceed(self, job: int, units: list[tuple[int, tuple[Terms, ...]]]) -> None:
        self.units += units
        self.saw_units.set()

    def on_peer_left(self, job: int, rank: int, next_chunk: int) -> None:
        self.left.append((rank, next_chunk))
        self.saw_leave.set()


@pytest.fixture
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    made = Service(FakeDriver(), tmp_path / "state.json", getattr(request, "param", "127.0.0.1"))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def ranks(service: Service) -> Iterator[list[Rank]]:
    made = [Rank(service, lowest=10 + number) for number in range(3)]
    yield made
    for rank in made:
        rank.client.close()


def gather(ranks: list[Rank], group: str = "world") -> list[Lease]:
    """All ranks join and lease, each in its own thread."""

    def one(number: int) -> Lease:
        client = ranks[number].client
        return client.lease(client.join(group, number, len(ranks)), WAIT_S)

    with ThreadPoolExecutor(len(ranks)) as pool:
        return list(pool.map(one, range(len(ranks))))


def test_all_members_lease_the_same_job_with_a_port_each(service: Service, ranks: list[Rank]) -> None:
    leases = gather(ranks)
    assert {lease.job for lease in leases} == {leases[0].job}
    assert [lease.child for lease in leases] == [0, 1, 2]
    assert {lease.port for lease in leases} == {"shm:test-1", "shm:test-2", "shm:test-3"}
    assert {(lease.epoch, lease.base, lease.window, lease.lanes, lease.children) for lease in leases} == {
        (service.driver.entries_of[leases[0].job].epoch, 0, 512, 64, 3)
    }
    assert leases[0].heartbeat == ("127.0.0.1", service.port)
    assert all(lease.forwards_messages and not lease.message_checksum for lease in leases)
    assert {lease.aggregator for lease in leases} == {FakeDriver.name}


def test_the_lease_is_attached_before_it_is_returned(service: Service) -> None:
    rank = Rank(service)
    attached: list[Lease] = []
    lease = rank.client.lease(rank.client.join("solo", 0, 1), WAIT_S, attach=attached.append)
    assert attached == [lease]
    rank.client.close()


def test_a_rank_that_never_joins_is_named(ranks: list[Rank]) -> None:
    membership = ranks[0].client.join("world", 0, 3)
    ranks[2].client.join("world", 2, 3)
    with pytest.raises(MissingRanks, match=r"rank 1 of group 'world' did not join") as caught:
        ranks[0].client.lease(membership, 0.2)
    assert caught.value.ranks == (1,)


def test_a_rank_taken_twice_and_a_contradictory_size_are_refused(ranks: list[Rank]) -> None:
    ranks[0].client.join("world", 0, 3)
    with pytest.raises(SessionRefused, match="rank 0 is already taken by process"):
        ranks[1].client.join("world", 0, 3)
    with pytest.raises(SessionRefused, match="says the group has 2 ranks, others said 3"):
        ranks[1].client.join("world", 1, 2)


def test_a_restarted_aggregator_resumes_from_the_least_unfinished_chunk(service: Service, ranks: list[Rank]) -> None:
    lease = gather(ranks)[0]
    service.loop.call_soon_threadsafe(service.driver.restart)
    for rank in ranks:
        assert rank.went_on.wait(WAIT_S)
        assert rank.frozen.is_set()
    told = service.driver.entries_of[lease.job]
    assert told.epoch > lease.epoch
    assert {tuple(rank.resumed) for rank in ranks} == {((told.epoch, 10),)}


def test_a_broken_stream_without_goodbye_names_the_dead_rank(service: Service, ranks: list[Rank]) -> None:
    gather(ranks)
    ranks[1].client._link.stop(0.0)  # as a kill would: no goodbye
    for rank in (ranks[0], ranks[2]):
        assert rank.failed.wait(WAIT_S)
        assert "rank 1 of group 'world' (process" in rank.cause
        assert "has died" in rank.cause


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


without_ipv6 = pytest.mark.skipif(not _has_ipv6(), reason="no IPv6 here")


@pytest.mark.parametrize(
    "service", ["127.0.0.1", "localhost", pytest.param("[::1]", marks=without_ipv6)], indirect=True
)
def test_heartbeats_that_stop_name_the_rank(service: Service, ranks: list[Rank]) -> None:
    leases = gather(ranks)
    with heartbeat_socket(leases[1].heartbeat) as sender:
        sender.send(b"noise")
        sender.send(pack_heartbeat(leases[1].token, 1))
    assert ranks[0].failed.wait(WAIT_S)
    assert "rank 1" in ranks[0].cause
    assert "has not been heard of" in ranks[0].cause


def test_a_host_is_known_by_its_shared_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Containers of one machine may have its name, and not its memory."""
    here = host_identity()
    assert here == host_identity()
    monkeypatch.setenv("NETSUM_SHM", str(tmp_path))
    assert host_identity() != here
    assert host_identity().partition("/")[0] == here.partition("/")[0]
    monkeypatch.setenv("NETSUM_SHM", str(tmp_path / "absent"))
    assert host_identity()


def test_a_mismatch_is_told_with_both_descriptions_to_every_rank(ranks: list[Rank]) -> None:
    job = gather(ranks)[0].job
    ranks[0].descriptions[0xAA] = "allreduce of 1000 float32"
    ranks[2].descriptions[0xBB] = "broadcast of 7 int64 from rank 1"
    for rank in (ranks[1], ranks[0]):
        rank.client.fail(job, "mismatch", mismatch=Mismatch(0xAA, 0, 0xBB, 2))
    for rank in ranks:
        assert rank.failed.wait(WAIT_S)
        assert (
            "rank 0 called allreduce of 1000 float32, but rank 2 called broadcast of 7 int64 from rank 1" in rank.cause
        )


def test_a_failure_is_told_to_every_rank_and_to_later_requests(ranks: list[Rank]) -> None:
    leases = gather(ranks)
    ranks[0].client.fail(leases[0].job, "operation 4 timed out, waiting for ranks 1")
    for rank in ranks:
        assert rank.failed.wait(WAIT_S)
        assert "rank 0" in rank.cause
        assert "operation 4 timed out" in rank.cause
    membership = ranks[1].client._jobs[leases[0].job].membership
    with pytest.raises(JobFailed, match="operation 4 timed out"):
        ranks[1].client.lease(membership, WAIT_S)


def test_leaving_lingers_until_all_have_left_and_gives_everything_back(service: Service, ranks: list[Rank]) -> None:
    job = gather(ranks)[0].job
    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(lambda rank: rank.client.leave(job, 99, timeout_s=WAIT_S), ranks))
    reply = service.status()
    assert reply.slots_free == reply.slots
    assert reply.forwards_messages
    assert not reply.jobs
    assert service.driver.entries_of == {}


def test_a_rank_that_leaves_alone_is_released_and_the_others_know(ranks: list[Rank]) -> None:
    job = gather(ranks)[0].job
    assert ranks[0].client.leave(job, 42, timeout_s=WAIT_S)
    assert ranks[1].saw_leave.wait(WAIT_S)
    assert ranks[1].left == [(0, 42)]
    assert not ranks[1].failed.is_set()


def test_a_controller_killed_and_back_is_noticed_by_nobody(service: Service, ranks: list[Rank]) -> None:
    lease = gather(ranks)[0]
    service.stop()
    service.start()
    with ThreadPoolExecutor(3) as pool:
        again = list(pool.map(lambda r: r.client.lease(r.client._jobs[lease.job].membership, WAIT_S), ranks))
    assert {(a.job, a.epoch) for a in again} == {(lease.job, lease.epoch)}
    assert not any(rank.failed.is_set() or rank.frozen.is_set() for rank in ranks)
    status = service.status()
    assert [job.state for job in status.jobs] == ["running"]
    assert {member.state for member in status.jobs[0].members} == {"joined"}


def test_a_controller_without_state_file_learns_it_from_the_ranks(service: Service, ranks: list[Rank]) -> None:
    lease = gather(ranks)[0]
    service.stop()
    assert service.state is not None
    service.state.unlink()
    service.start()
    for rank in ranks:
        assert rank.went_on.wait(WAIT_S)
        assert rank.resumed[-1][1] == 10
        assert rank.resumed[-1][0] > lease.epoch
    assert [job.group for job in service.status().jobs] == ["world"]


def test_a_controller_that_stays_away_is_an_error_within_the_bound(service: Service) -> None:
    rank = Rank(service)
    rank.client._link._patience_s = 0.3
    job = rank.client.lease(rank.client.join("solo", 0, 1), WAIT_S).job
    service.stop()
    assert rank.failed.wait(WAIT_S)
    assert "has been unreachable for 0.3 s" in rank.cause
    with pytest.raises(ControllerLost, match="has been unreachable"):
        rank.client.join("other", 0, 1)
    assert rank.client.leave(job, 0) is False
    service.start()


def test_status_and_report(service: Service, ranks: list[Rank]) -> None:
    job = gather(ranks)[0].job
    ranks[0].client.report(job, {"frames_sent": 12})
    assert ranks[0].client.join("world", 0, 3).job == job  # answered after the report, on the same stream
    status = service.status()
    assert (status.aggregator, status.aggregator_ready, status.lanes) == ("fake://aggregator", True, 64)
    assert [(p.number, p.spec) for p in status.ports] == [(n, f"shm:test-{n}") for n in range(1, 5)]
    with grpc.insecure_channel(service.address) as channel:
        report = SessionStub(channel).Report(pb.ReportRequest(), timeout=WAIT_S)
    assert [(c.name, c.value) for c in report.jobs[0].verdicts] == [("accepted", 7)]
    assert [(c.name, c.value) for c in report.jobs[0].members[0].counters] == [("frames_sent", 12)]
    assert [(c.name, c.value) for c in report.drops] == [("length", 3)]


def test_a_report_has_what_ranks_count_now_and_says_how_old_it_is(service: Service, ranks: list[Rank]) -> None:
    gather(ranks)
    ranks[0].counters, ranks[1].counters = {"frames_sent": 12}, {"frames_sent": 13}
    with grpc.insecure_channel(service.address) as channel:
        stub = SessionStub(channel)
        first, ranks[0].counters = stub.Report(pb.ReportRequest(), timeout=WAIT_S), {"frames_sent": 20}
        second = stub.Report(pb.ReportRequest(), timeout=WAIT_S)
    counted = [[[c.value for c in member.counters] for member in report.jobs[0].members] for report in (first, second)]
    assert counted == [[[12], [13], []], [[20], [13], []]]
    ages_ns = [member.age_ns for member in second.jobs[0].members]
    assert all(0 < age_ns < COLLECT_NS + SECOND_NS for age_ns in ages_ns[:2])
    assert ages_ns[2] == 0, "it had nothing to say"
    assert [(each.name, each.statistics) for each in second.aggregators] == [(FakeDriver.name, '{"ports": {}}')]


def test_a_silent_aggregator_is_reported_and_is_the_cause_of_what_fails_meanwhile(
    service: Service, ranks: list[Rank], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "LOOK_S", 0.01)
    monkeypatch.setattr(silence, "SILENT_S", 0.0)
    service.stop()
    service.told = threading.Event()
    service.start()
    job = gather(ranks)[0].job
    service.driver.quiet = ["the aggregator fake (process 7)"]
    assert service.told.wait(WAIT_S)
    assert service.status().aggregator_problem.startswith("the aggregator fake (process 7): no answer for")
    with grpc.insecure_channel(service.address) as channel:
        report = SessionStub(channel).Report(pb.ReportRequest(), timeout=WAIT_S)
    assert report.problem.startswith("the aggregator fake (process 7)")
    assert len(report.jobs[0].members) == len(ranks), "the ranks are asked all the same"
    ranks[0].client.fail(job, "Timed out waiting")
    assert ranks[1].failed.wait(WAIT_S)
    assert re.match(r"the aggregator fake \(process 7\): no answer .*So rank 0 .*Timed out waiting", ranks[1].cause)


def test_a_request_to_proceed_reaches_the_other_ranks_as_it_was_made(ranks: list[Rank]) -> None:
    leases = gather(ranks)
    units = [
        (7, (Terms("contributions", "int32", 4, 1, False, False), Terms("all_reduce", "float32", 4, 9, True, True)))
    ]
    ranks[1].client.proceed(leases[1].job, units)
    for rank in (ranks[0], ranks[2]):
        assert rank.saw_units.wait(WAIT_S)
        assert rank.units == units
    assert ranks[1].units == []
