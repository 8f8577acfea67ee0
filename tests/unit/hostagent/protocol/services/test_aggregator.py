"""Terms of a job below a parent: their checks, and their way through `aggregator.proto`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hostagent.protocol.services.aggregator import AggregatorRefused, ChildTerms, JobTerms, ParentTerms, ServiceTerms
from hostagent.protocol.services.aggregator_messages import terms_from, terms_message

PARENT = ParentTerms(500, 0x020000000001, 0x0A000001, 0x020000000002, 0x0A000002, False, (2, 3))
CHILDREN = (ChildTerms(0, 0, 1, 0x10, 0x20), ChildTerms(1, 1, 2, 0x11, 0x21))
TERMS = JobTerms(1, 1, 0, 4, 0, 64, CHILDREN, 0x12, 0x22, parent=PARENT)


def test_terms_with_a_parent_come_back_from_their_message() -> None:
    assert terms_from(terms_message(TERMS)) == TERMS
    assert terms_from(terms_message(replace(TERMS, parent=None))).parent is None
    assert PARENT.elsewhere == 0b1100


@pytest.mark.parametrize(
    ("parent", "problem"),
    [
        (replace(PARENT, workers=()), "all workers are below this leaf"),
        (replace(PARENT, workers=(2, 2)), "use different numbers"),
        (replace(PARENT, workers=(2, 64)), "from 0 to 63"),
        (replace(PARENT, workers=(1, 2)), "one of these numbers or bits"),
        (replace(PARENT, port=2), "the parent's port 2 can't be, or is a child's"),
        (replace(PARENT, port=1 << 16), "the parent's port 65536 can't be"),
    ],
)
def test_what_cannot_be_a_parent(parent: ParentTerms, problem: str) -> None:
    with pytest.raises(AggregatorRefused, match=problem):
        replace(TERMS, parent=parent)


def test_a_leaf_keeps_no_weights() -> None:
    with pytest.raises(AggregatorRefused, match="neither a service nor other racks"):
        replace(TERMS, service=ServiceTerms("one"))
