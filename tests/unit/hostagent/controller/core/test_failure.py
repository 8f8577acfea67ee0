"""Jobs of a rack server's service, in virtual time: what the server is told, and how the server's loss ends them."""

from __future__ import annotations

from hostagent.controller.core.model import SECOND_NS
from hostagent.protocol.services import session_pb2 as pb
from tests.labs.controller import Laboratory, Rank

SERVICE = pb.Service(name="mine", nonce=b"secret", weight=2, quota_bytes=1 << 30, workers=4)


def running(lab: Laboratory) -> list[Rank]:
    ranks = [lab.rank(), lab.rank()]
    for number, rank in enumerate(ranks):
        rank.join("world", number, 2, SERVICE)
        rank.lease("world")
    lab.until(lambda: all(rank.places["world"].lease is not None for rank in ranks))
    return ranks


def causes(ranks: list[Rank]) -> list[str | None]:
    return [rank.places["world"].cause for rank in ranks]


def test_the_server_is_told_whose_job_it_is() -> None:
    lab = Laboratory()
    (rank, _) = running(lab)
    told = lab.aggregator[rank.places["world"].job].service
    assert told is not None
    assert (told.name, told.nonce, told.workers, told.weight, told.quota_bytes) == ("mine", b"secret", 4, 2, 1 << 30)


def test_ranks_must_name_the_same_service_and_the_refusal_keeps_the_secret() -> None:
    lab = Laboratory()
    lab.rank().join("world", 0, 2, SERVICE)
    lab.run(SECOND_NS)
    place = lab.rank().join("world", 1, 2, pb.Service(name="mine", nonce=b"guess"))
    lab.run(SECOND_NS)
    assert "rank 1 names another service" in place.refusals[0].text
    assert "secret" not in place.refusals[0].text


def test_a_restarted_server_ends_the_job_on_every_rank_at_once() -> None:
    """Nothing is resumed: the step in progress is undone, and the ranks begin a new job."""
    lab = Laboratory()
    ranks = running(lab)
    lab.break_aggregator()
    lab.run(SECOND_NS)
    lab.mend_aggregator()
    lab.until(lambda: None not in causes(ranks), SECOND_NS)
    assert len(set(causes(ranks))) == 1
    assert "the rack server, or what was known of it, was lost while service 'mine'" in str(causes(ranks)[0])
    for number, rank in enumerate(ranks):
        rank.leave("world")
        rank.join("again", number, 2, SERVICE)
        rank.lease("again")
    lab.until(lambda: all(rank.places["again"].lease is not None for rank in ranks))


def test_a_server_that_stays_away_is_named_within_six_seconds() -> None:
    lab = Laboratory()
    ranks = running(lab)
    lab.break_aggregator()
    lab.until(lambda: None not in causes(ranks), 6 * SECOND_NS)
    assert "the rack server has been away for 5 s: the stream broke" in str(causes(ranks)[0])


def test_a_job_of_a_service_outlives_its_controller() -> None:
    lab = Laboratory()
    ranks = running(lab)
    lab.kill_controller()
    lab.run(SECOND_NS)
    lab.start_controller()
    lab.run(5 * SECOND_NS)
    assert causes(ranks) == [None, None]
    held = lab.core.world.jobs[ranks[0].places["world"].job].service
    assert held is not None
    assert held.nonce == b"secret"


def test_ranks_of_an_older_job_learn_that_the_service_has_begun_another() -> None:
    lab = Laboratory()
    ranks = running(lab)
    others = [lab.rank(), lab.rank()]
    for number, rank in enumerate(others):
        rank.join("next", number, 2, SERVICE)
        rank.lease("next")
    lab.until(lambda: None not in causes(ranks), SECOND_NS)
    assert "service 'mine' has begun another job" in str(causes(ranks)[0])
    lab.run(SECOND_NS)
    assert [rank.places["next"].cause for rank in others] == [None, None]
