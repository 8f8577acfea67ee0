"""Where P4Runtime servers differ: the rules of the specification, or those of PI, which is bmv2's server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flavor:
    """A server's choices; given to the device at its start."""

    remembers_election_ids: bool
    """After the primary's stream has ended a new primary needs an election id at least as high, and until then there is
    none (P4Runtime, "Client Arbitration and Controller Replication"). Else the remaining stream with the highest
    election id becomes primary (PI, proto/server/pi_server.cpp)."""
    accepts_role_config: bool
    """``role.config`` is ignored; else INVALID_ARGUMENT."""
    sweeps_digest_acks: bool
    """Unacknowledged digest lists expire at the second of sweeps that are ``ack_timeout_ns`` apart, so after one to two
    time-outs (PI, proto/frontend/src/digest_mgr.cpp); else exactly after one."""


SPECIFICATION = Flavor(remembers_election_ids=True, accepts_role_config=False, sweeps_digest_acks=False)
PI = Flavor(remembers_election_ids=False, accepts_role_config=True, sweeps_digest_acks=True)
