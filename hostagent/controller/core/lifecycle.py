"""The life of a job as a table. All transitions are here; what happens at each is in the modules that call `advance`.

A transition that isn't in the table is a bug of ours: it raises and changes nothing.
"""

from __future__ import annotations

from enum import Enum, auto


class JobState(Enum):
    """Where a job is; the names are shown by `netsum status`."""

    GATHERING = "gathering"
    """Members are joining; nothing is leased."""
    INSTALLING = "installing"
    """Slots are leased, and the job is being installed for the first time."""
    RUNNING = "running"
    FREEZING = "freezing"
    """The aggregator lost its state; ranks are asked to stop and to say how far they are."""
    REINSTALLING = "reinstalling"
    """All ranks are frozen; the new epoch and its base are being installed."""
    RESUMING = "resuming"
    """Ranks are being resumed; some already send under the new epoch."""
    FAILED = "failed"
    """Final state; the cause is kept for status requests. The job is removed when its members have gone."""


class JobEvent(Enum):
    """What moves a job."""

    COMPLETE = auto()
    """All members have joined, one has asked for the lease, and slots and ports are assigned."""
    INSTALLED = auto()
    """The aggregator knows the job under the current epoch."""
    RESTART = auto()
    """The aggregator lost its state, or ranks disagree about the epoch (a controller died between two resumes)."""
    ALL_FROZEN = auto()
    ALL_RESUMED = auto()
    FAIL = auto()


_S, _E = JobState, JobEvent
TRANSITIONS: dict[tuple[JobState, JobEvent], JobState] = {
    (_S.GATHERING, _E.COMPLETE): _S.INSTALLING,
    (_S.INSTALLING, _E.INSTALLED): _S.RUNNING,
    (_S.INSTALLING, _E.RESTART): _S.INSTALLING,  # no rank has sent yet: only the aggregator has to be installed again
    (_S.RUNNING, _E.RESTART): _S.FREEZING,
    (_S.FREEZING, _E.RESTART): _S.FREEZING,
    (_S.REINSTALLING, _E.RESTART): _S.FREEZING,
    (_S.RESUMING, _E.RESTART): _S.FREEZING,  # some have sent under the new epoch: collect again
    (_S.FREEZING, _E.ALL_FROZEN): _S.REINSTALLING,
    (_S.REINSTALLING, _E.INSTALLED): _S.RESUMING,
    (_S.RESUMING, _E.ALL_RESUMED): _S.RUNNING,
    **{(state, _E.FAIL): _S.FAILED for state in _S if state is not _S.FAILED},
}

HAS_LEASE = frozenset(_S) - {_S.GATHERING, _S.INSTALLING, _S.FAILED}
"""States in which members hold a lease and a restart concerns them."""

AWAITS_INSTALLATION = frozenset({_S.INSTALLING, _S.REINSTALLING})


class IllegalTransition(AssertionError):
    """The core asked for a move that the table doesn't have."""


def next_state(state: JobState, event: JobEvent) -> JobState:
    """The state after `event`; raises IllegalTransition."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise IllegalTransition(f"a job that is {state.value} can't take {event.name}") from None
